#include "model_folder/config_file.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/file.h"

namespace sixfold {
namespace {

using Children = std::vector<std::pair<std::string, OptionNode>>;

Children::iterator find_child(OptionNode& node, std::string_view key) {
  return std::find_if(node.children.begin(), node.children.end(),
                      [&](const auto& child) { return child.first == key; });
}

/// Throws an input error if the node has a present name, which a file of version 0.1.0 can't have.
void refuse_child(OptionNode& node, std::string_view name) {
  if (const auto found = find_child(node, name); found != node.children.end())
    throw_input_error(
        "{}: '{}' is mixed with names of version 0.1.0; use only the present names, which `sixfold train "
        "--options` lists",
        found->second.where, name);
}

void rename_child(OptionNode& node, std::string_view from, std::string_view to) {
  refuse_child(node, to);
  if (const auto found = find_child(node, from); found != node.children.end()) found->first = to;
}

/// Removes a child from `node` and returns it, or nothing if there is none.
std::optional<OptionNode> take_child(OptionNode& node, std::string_view key) {
  const auto found = find_child(node, key);
  if (found == node.children.end()) return std::nullopt;
  OptionNode child = std::move(found->second);
  node.children.erase(found);
  return child;
}

OptionNode& child_of(OptionNode& node, std::string_view key, OptionNode::Kind kind) {
  if (OptionNode* found = node.find(key)) return *found;
  return node.children.emplace_back(key, OptionNode{.kind = kind, .where = node.where}).second;
}

std::string text_of(OptionNode& root, std::string_view path, std::string_view missing) {
  const OptionNode* const found = root.find_path(path);
  return found ? found->text : std::string(missing);
}

/// The task of a model of formats 1 and 2, which do not name it.
std::string task_of_format_2(OptionNode& root) {
  const auto number = [&](std::string_view path) { return std::atoll(text_of(root, path, "0").c_str()); };
  const bool images = number("image.height") > 0, encoder = number("encoder_layers") > 0,
             decoder = number("decoder_layers") > 0;
  const std::string head = text_of(root, "head", "vocabulary");
  if (images && decoder) return "image_captioning";
  if (head == "classes") return images ? "image_classification" : "classification";
  if (head == "span") return "question_answering";
  if (!decoder) return "masked_language_model";
  return encoder ? "translation" : "language_model";
}

/// The text of a model with text_unit "stream" had no end. In format 2 the task knew that; now the generation
/// settings suppress the end token.
void suppress_end_token(OptionNode& root) {
  OptionNode& generation = child_of(root, "generation", OptionNode::Kind::map);
  OptionNode& suppressed = child_of(generation, "suppress_tokens", OptionNode::Kind::list);
  if (suppressed.kind != OptionNode::Kind::list) {  // a single value is a list of one
    OptionNode one = std::exchange(suppressed, {.kind = OptionNode::Kind::list, .where = root.where});
    suppressed.children.emplace_back("", std::move(one));
  }
  suppressed.children.emplace_back(
      "", OptionNode{.kind = OptionNode::Kind::plain, .text = text_of(root, "eos", "2"), .where = root.where});
}

/// In format 2 the config had the settings of all tasks, and did not name its task.
void upgrade_format_2(OptionNode& root) {
  const std::string task = task_of_format_2(root);
  OptionNode settings{.kind = OptionNode::Kind::map, .where = root.where},
      head{.kind = OptionNode::Kind::map, .where = root.where};
  const auto move_to = [&](OptionNode& to, const char* from, const char* name) {
    if (auto child = take_child(root, from)) to.children.emplace_back(name, std::move(*child));
  };
  const auto drop = [&](std::initializer_list<const char*> keys) {
    for (const char* key : keys) take_child(root, key);
  };
  move_to(head, "head", "kind");
  move_to(head, "pooling", "pooling");
  if (const OptionNode* labels = root.find("labels"))
    head.children.emplace_back("classes", OptionNode{.kind = OptionNode::Kind::plain,
                                                     .text = std::to_string(labels->children.size())});
  if (task == "translation")
    for (const char* key : {"source_language", "target_language"}) move_to(settings, key, key);
  if (task.ends_with("classification")) move_to(settings, "labels", "labels");
  if (task == "language_model") {
    if (text_of(root, "text_unit", "stream") == "stream") suppress_end_token(root);
    move_to(settings, "text_unit", "text_unit");
  }
  if (task == "question_answering")
    if (auto answers = take_child(root, "answers")) {
      require(answers->kind == OptionNode::Kind::map, "{}: answers: expected a group of keys with values",
              answers->where);
      settings.children = std::move(answers->children);
    }
  drop({"source_language", "target_language", "labels", "text_unit", "answers"});
  root.children.emplace_back("head", std::move(head));
  root.children.emplace_back("task", OptionNode{.kind = OptionNode::Kind::quoted, .text = task});
  root.children.emplace_back(task, std::move(settings));
}

[[noreturn]] void throw_newer_format(const std::string& path, const std::string& found) {
  throw_input_error(
      "{}: format_version: this program reads formats up to {}, found {}; the model was written by a later "
      "version of Sixfold: use that",
      path, config_format_version, found);
}

/// Removes the version from the tree, and converts the tree to the present format.
void upgrade(OptionNode& root, const std::string& path) {
  const std::optional<OptionNode> version = take_child(root, "format_version");
  require(version.has_value(), "{}: format_version: is missing", path);
  int number = 0;
  read_value(OptionSource{*version, "format_version", at_least(1)}, number);
  if (number > config_format_version) throw_newer_format(path, version->text);
  if (number == 1) upgrade_architecture(root, root);
  if (number < 3) upgrade_format_2(root);
}

}  // namespace

void upgrade_architecture(OptionNode& architecture, OptionNode& root) {
  rename_child(architecture, "embedding_steps", "postprocess_embedding");
  rename_child(architecture, "top_steps", "postprocess_top");
  refuse_child(root, "generation");
  refuse_child(architecture, "decoder_start_token");
  std::optional<OptionNode> generation = take_child(architecture, "search");
  if (!generation) return;
  rename_child(*generation, "alpha", "length_penalty");
  rename_child(*generation, "end", "stopping_criterion");
  rename_child(*generation, "banned_symbols", "suppress_tokens");
  if (OptionNode* kind = generation->find("normalization"); kind && kind->text == "google") kind->text = "gnmt";
  if (auto start = take_child(*generation, "decoder_start"))
    architecture.children.emplace_back("decoder_start_token", std::move(*start));
  root.children.emplace_back("generation", std::move(*generation));
}

ModelConfig load_config(const std::string& path) {
  ModelConfig config;
  // The sizes of weights have no default in a file: if a key is missing, its value is out of range.
  config.d_model = config.heads = config.d_ff = 0;
  config.encoder_layers = config.decoder_layers = -1;
  OptionNode root = parse_json_options(read_regular_file(path), path);
  upgrade(root, path);
  const std::string task = text_of(root, "task", "");
  const bool is_name =
      task.size() <= 64 && task.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == task.npos;
  require(is_name && !write_options(ModelConfig()).find(task),
          "{}: task: expected the name of a task, such as translation", path);
  if (auto settings = take_child(root, task)) config.settings = std::move(*settings);
  read_options(root, config);
  try {
    validate(config);
  } catch (const Error& error) {
    throw_input_error("{}: {}", path, error.what());
  }
  return config;
}

OptionNode config_tree(const ModelConfig& config) {
  OptionNode root = write_options(config);
  root.children.emplace(root.children.begin(), "format_version", node_of(config_format_version));
  if (config.adapters.rank == 0) take_child(root, "adapters");
  if (config.settings.kind == OptionNode::Kind::map && !config.settings.children.empty())
    root.children.emplace(root.children.begin() + 2, config.task, config.settings);
  return root;
}

void save_config(const std::string& path, const ModelConfig& config) {
  write_file_atomically(path, to_json(config_tree(config)));
}

}  // namespace sixfold
