#include "model/config.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>

#include "base/file.h"
#include "base/language_code.h"

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

}  // namespace

static void require_encoder_alone(const ModelConfig& c) {
  require(c.has_encoder() && !c.has_decoder(),
          "head: '{}' needs an encoder and no decoder (encoder_layers is {}, decoder_layers is {})",
          name_of_enum(c.head), c.encoder_layers, c.decoder_layers);
}

static void validate_span(const ModelConfig& c) {
  require_encoder_alone(c);
  require(!c.reads_images(), "head: 'span' finds answers in texts, but the model reads images");
  constexpr int fewest = 8;
  require(c.context_tokens >= fewest,
          "context_tokens: is {}; a model that answers questions must read at least {} at once",
          c.context_tokens, fewest);
  require(!c.limits_length() || c.context_tokens <= c.max_positions,
          "context_tokens: is {}, but max_positions is {}; each token needs a position", c.context_tokens,
          c.max_positions);
}

static void validate_classes(const ModelConfig& c) {
  require_encoder_alone(c);
  require(c.labels.size() >= 2, "labels: there are {}, but a classifier needs at least 2", c.labels.size());
  for (const std::string& label : c.labels)
    require(!label.empty() && label.find_first_of(std::string_view("\t\n\r\0", 4)) == label.npos,
            "labels: '{}' is empty or has a tab, a line end or a NUL", label);
  require(
      c.reads_images() || !c.limits_length() ||
          (c.context_tokens > 0 && c.context_tokens + 2 <= c.max_positions),
      "context_tokens: is {}, but max_positions is {}; a text needs a position for each token, its start and "
      "its end",
      c.context_tokens, c.max_positions);
  const std::set<std::string> different(c.labels.begin(), c.labels.end());
  require(different.size() == c.labels.size(), "labels: a name occurs twice");
}

static void validate_images(const ModelConfig& c) {
  validate(c.image);
  require(c.has_encoder(), "image: images are read by an encoder, but encoder_layers is 0");
  require(c.head != HeadKind::vocabulary || c.has_decoder(),
          "image: a model that reads images must have head 'classes' or a decoder (decoder_layers is 0)");
  require(c.head != HeadKind::classes || c.pooling != Pooling::first,
          "pooling: is 'first', but images have no first token; choose mean or attention");
  require(!c.has_decoder() || !c.shares_embedding(),
          "tied_embeddings: '{}' ties the embedding of the source, but images have no tokens; choose 'decoder' "
          "or 'none'",
          name_of_enum(c.tied_embeddings));
  require(c.positions != Positions::learned || c.max_positions >= c.image.patches(),
          "max_positions: is {}, but an image has {} patches", c.max_positions, c.image.patches());
}

void validate(const ModelConfig& c) {
  check_ranges(c);
  validate(static_cast<const Architecture&>(c));
  if (c.reads_images()) validate_images(c);
  if (c.head == HeadKind::classes) validate_classes(c);
  if (c.head == HeadKind::span) validate_span(c);
  const bool joint =
      !c.reads_images() && c.has_encoder() && (c.has_decoder() ? c.shares_embedding() : c.shares_output());
  require(!joint || c.source_vocab == c.target_vocab,
          "tied_embeddings: '{}' needs a joint vocabulary, but the source has {} tokens and the target {}; "
          "choose 'decoder' or 'none'",
          name_of_enum(c.tied_embeddings), c.source_vocab, c.target_vocab);
  for (const std::string& language : {c.source_language, c.target_language})
    require(language.empty() || is_language_code(language),
            "'{}' is not the code of a language, such as de or pt-BR", language);
  const auto require_token = [&](std::string_view key, int id) {
    require(id < c.target_vocab, "{}: the id {} is not in the vocabulary of {} tokens", key, id,
            c.target_vocab);
  };
  require_token("unk", c.unk);
  require_token("bos", c.bos);
  require_token("eos", c.eos);
  require_token("decoder_start_token", c.decoder_start_token);
  require(!c.has_decoder() || (c.generation.alignment_layer >= -std::max(2, c.decoder_layers) &&
                               c.generation.alignment_layer < c.decoder_layers),
          "generation.alignment_layer: is {}, but the decoder has layers 0 to {}", c.generation.alignment_layer,
          c.decoder_layers - 1);
  for (const int id : c.generation.suppress_tokens) require_token("generation.suppress_tokens", id);
}

[[noreturn]] static void throw_newer_format(const std::string& path, const std::string& found) {
  throw_input_error(
      "{}: format_version: this program reads formats up to {}, found {}; the model was written by a later "
      "version of Sixfold: use that",
      path, ModelConfig::current_format_version, found);
}

std::vector<int32_t> tokens_never_generated(const ModelConfig& c, const GenerationConfig& rules) {
  std::vector<int32_t> tokens(rules.suppress_tokens.begin(), rules.suppress_tokens.end());
  for (const int id : {rules.allow_unk ? -1 : c.unk, c.bos})
    if (id >= 0 && id != c.eos) tokens.push_back(id);
  if (!c.has_encoder() && c.text_unit == TextUnit::stream) tokens.push_back(c.eos);
  return tokens;
}

std::string purpose_of(const ModelConfig& config) {
  if (config.captions_images()) return "captions images, for 'sixfold caption'";
  if (config.head == HeadKind::classes)
    return config.reads_images() ? "classifies images, for 'sixfold classify'"
                                 : "classifies text, for 'sixfold classify'";
  if (config.head == HeadKind::span) return "answers questions about texts, for 'sixfold answer'";
  if (!config.has_decoder()) return "predicts masked tokens, for 'sixfold fill', and other tasks start from it";
  return config.has_encoder() ? "translates text, for 'sixfold translate'"
                              : "is a language model, for 'sixfold generate' and 'sixfold score --input'";
}

void require_reads_text(const ModelConfig& config, const std::string& where) {
  require(!config.reads_images(), "{}: reads images, not text; it {}", where, purpose_of(config));
}

void require_translation_model(const ModelConfig& config, const std::string& where) {
  require(config.has_encoder() && config.has_decoder() && !config.reads_images(),
          "{}: is not a translation model, which has an encoder and a decoder of text; it {}", where,
          purpose_of(config));
}

void require_captioner(const ModelConfig& config, const std::string& where) {
  require(config.captions_images(),
          "{}: does not caption images, as a model of a run with task: image_captioning does; it {}", where,
          purpose_of(config));
}

void require_classifier(const ModelConfig& config, const std::string& where) {
  require(config.head == HeadKind::classes,
          "{}: is not a classifier, as made by a run with task: classification; it {}", where,
          purpose_of(config));
}

void require_answers_questions(const ModelConfig& config, const std::string& where) {
  require(config.head == HeadKind::span,
          "{}: does not answer questions, as a model of a run with task: question_answering does; it {}", where,
          purpose_of(config));
}

void require_masked_language_model(const ModelConfig& config, const std::string& where) {
  require(config.head == HeadKind::vocabulary && !config.has_decoder() && !config.reads_images(),
          "{}: is not a masked language model, as made by a run with task: masked_language_model; it {}", where,
          purpose_of(config));
}

void require_language_model(const ModelConfig& config, const std::string& where) {
  require(config.has_decoder() && !config.has_encoder(),
          "{}: is not a language model, which has a decoder and no encoder (encoder_layers is {}, "
          "decoder_layers is {}); it {}",
          where, config.encoder_layers, config.decoder_layers, purpose_of(config));
}

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
  config.format_version = config.d_model = config.heads = config.d_ff = 0;
  config.encoder_layers = config.decoder_layers = -1;
  OptionNode root = parse_json_options(read_regular_file(path), path);
  if (const OptionNode* version = root.find("format_version");
      version && version->kind == OptionNode::Kind::plain) {
    if (version->text == "1") {
      upgrade_architecture(root, root);
      root.find("format_version")->text = std::to_string(ModelConfig::current_format_version);
    } else if (std::atoll(version->text.c_str()) > ModelConfig::current_format_version) {
      throw_newer_format(path, version->text);
    }
  }
  read_options(root, config);
  try {
    validate(config);
  } catch (const Error& error) {
    throw_input_error("{}: {}", path, error.what());
  }
  return config;
}

void save_config(const std::string& path, const ModelConfig& config) {
  write_file_atomically(path, to_json(write_options(config)));
}

}  // namespace sixfold
