#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <sstream>

#include "base/join.h"
#include "base/options.h"

namespace sixfold {

using Kind = OptionNode::Kind;

namespace {

/// Builds the tree from the events of the parser, so that no alias is expanded.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(OptionNode& root, const std::string& file_name) : root_(root), file_name_(file_name) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    require(!started_, "{}: a second YAML document begins here; the file must hold only one", place(mark));
    started_ = true;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(mark, anchor, Kind::null, ""); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    add(mark, anchor, tag == "!" ? Kind::quoted : Kind::plain,
        value);  // yaml-cpp marks quoted text with the tag "!"
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    begin_container(mark, add(mark, anchor, Kind::list, ""));
  }
  void OnSequenceEnd() override { open_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    begin_container(mark, add(mark, anchor, Kind::map, ""));
  }
  void OnMapEnd() override { open_.pop_back(); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw_input_error("{}: YAML aliases are not supported; repeat the value", place(mark));
  }

 private:
  /// A list or map whose end has not been read yet.
  struct OpenContainer {
    OptionNode* node;
    bool has_key = false;  ///< the key of the next value of a map has been read
  };

  std::string place(const YAML::Mark& mark) const { return fmt::format("{}:{}", file_name_, mark.line + 1); }

  void begin_container(const YAML::Mark& mark, OptionNode& node) {
    constexpr size_t max_depth = 32;
    require(open_.size() < max_depth, "{}: nested deeper than {} levels", place(mark), max_depth);
    open_.push_back({&node});
  }

  /// Returns the new node, or, for the value of a map, the node that was created with its key.
  OptionNode& add(const YAML::Mark& mark, YAML::anchor_t anchor, Kind kind, const std::string& text) {
    require(anchor == YAML::NullAnchor, "{}: YAML anchors are not supported; remove the anchor", place(mark));
    if (open_.empty()) return root_ = {.kind = kind, .text = text, .where = place(mark)};
    OpenContainer& parent = open_.back();
    auto& siblings = parent.node->children;
    if (parent.node->kind == Kind::list)
      return siblings.emplace_back("", OptionNode{.kind = kind, .text = text, .where = place(mark)}).second;
    parent.has_key = !parent.has_key;
    if (parent.has_key) return add_key(mark, kind, text);
    OptionNode& node = siblings.back().second;
    node.kind = kind;
    node.text = text;
    return node;
  }

  OptionNode& add_key(const YAML::Mark& mark, Kind kind, const std::string& key) {
    OptionNode& map = *open_.back().node;
    constexpr size_t max_keys = 1000;  // the search for repeated keys is quadratic
    require(kind == Kind::plain || kind == Kind::quoted, "{}: a key must be plain text, not a list or a group",
            place(mark));
    require(map.children.size() < max_keys, "{}: more than {} keys in one group", place(mark), max_keys);
    require(!map.find(key), "{}: the key '{}' is given twice; remove one", place(mark), key);
    return map.children.emplace_back(key, OptionNode{.where = place(mark)}).second;
  }

  OptionNode& root_;
  const std::string& file_name_;
  std::vector<OpenContainer> open_;
  bool started_ = false;
};

/// Text as YAML: in quotes unless it can't be mistaken for anything but a plain word.
std::string yaml_text(const OptionNode& node) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  constexpr std::string_view letters_and_digits =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  const std::string& text = node.text;
  const bool word = text.find_first_of(letters) == 0 &&
                    text.find_first_not_of(letters_and_digits) == std::string::npos && text != "true" &&
                    text != "false" && text != "null";
  if (node.kind == Kind::plain || word) return text;
  YAML::Emitter emitter;
  emitter << YAML::DoubleQuoted << text;
  return emitter.c_str();
}

std::string yaml_value(const OptionNode& node) {
  if (node.kind == Kind::map) return "";
  if (node.kind == Kind::null) return "null";
  if (node.kind != Kind::list) return yaml_text(node);
  std::vector<std::string> elements;
  for (const auto& [unused, element] : node.children) elements.push_back(yaml_text(element));
  return fmt::format("[{}]", join(elements));
}

void list_options(const OptionNode& map, const std::string& prefix, int depth, std::vector<ListedOption>& out) {
  for (const auto& [key, node] : map.children) {
    out.push_back(
        {.key = prefix + key, .name = key, .value = yaml_value(node), .help = node.help, .depth = depth});
    if (node.kind == Kind::map) list_options(node, prefix + key + ".", depth + 1, out);
  }
}

bool is_indented_with_tab(std::string_view text, int line) {
  for (; line > 0 && !text.empty(); --line) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return text.substr(0, text.find_first_not_of(" \t")).find('\t') != text.npos;
}

}  // namespace

OptionNode parse_yaml_options(std::string_view text, const std::string& file_name) {
  require(text.size() <= max_options_size, "{}: is larger than {} bytes, the limit for a file of options",
          file_name, max_options_size);
  require(text.find_first_not_of(" \t\r\n") != text.npos, "{}: is empty", file_name);
  OptionNode root{.where = file_name};
  TreeBuilder builder(root, file_name);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) continue;
  } catch (const YAML::Exception& error) {
    const std::string place = fmt::format("{}:{}", file_name, error.mark.line + 1);
    require(!is_indented_with_tab(text, error.mark.line), "{}: the line is indented with a tab; use spaces",
            place);
    throw_input_error("{}: not valid YAML: {}", place, error.msg);
  }
  return root;
}

std::vector<ListedOption> listed_options(const OptionNode& node) {
  std::vector<ListedOption> out;
  list_options(node, "", 0, out);
  return out;
}

std::string to_documented_yaml(const OptionNode& node) {
  std::string out;
  for (const ListedOption& option : listed_options(node)) {
    const std::string line = fmt::format("{:{}}{}:{}{}", "", 2 * option.depth, option.name,
                                         option.value.empty() ? "" : " ", option.value);
    out += option.help.empty() ? line + "\n" : fmt::format("{:<36}  # {}\n", line, option.help);
  }
  return out;
}

}  // namespace sixfold
