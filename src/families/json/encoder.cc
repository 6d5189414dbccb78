#include "families/json/encoder.h"

#include <algorithm>
#include <utility>

#include "families/json/causal.h"
#include "families/model_card.h"
#include "model_folder/binding.h"
#include "tasks/classification/settings.h"
#include "tasks/embedding/settings.h"
#include "tasks/masked_language_model/settings.h"
#include "tasks/question_answering/settings.h"
#include "text/text_templates.h"
#include "text/tokenizer_json.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::pair<std::string_view, EncoderHead> heads_by_class[] = {
    {"ForMaskedLM", EncoderHead::masks},
    {"ForPreTraining", EncoderHead::masks},
    {"ForSequenceClassification", EncoderHead::labels},
    {"ForQuestionAnswering", EncoderHead::answers},
    {"Model", EncoderHead::embedding}};

EncoderHead head_of(const JsonKeys& keys, const fs::path& folder, const EncoderKind& kind) {
  if (fs::exists(folder / "modules.json")) return EncoderHead::embedding;
  const json classes = keys.has("architectures") ? keys.at("architectures") : json::array();
  const std::string name = classes.is_array() && !classes.empty() && classes[0].is_string() ? classes[0] : "";
  for (const auto& [end, head] : heads_by_class)
    if (name == std::string(kind.prefix) + std::string(end)) return head;
  std::vector<std::string> known;
  for (const auto& [end, head] : heads_by_class) known.push_back(std::string(kind.prefix) + std::string(end));
  throw_input_error("{}: architectures is '{}'; supported are {}", keys.path(), name, join(known));
}

Architecture encoder_architecture(const JsonKeys& keys, const EncoderKind& kind, int rows_before) {
  keys.require_is<std::string>("position_embedding_type", "absolute", "absolute");
  keys.require_is("is_decoder", false, false);
  keys.require_is("add_cross_attention", false, false);
  Architecture a;
  a.d_model = keys.size(kind.d_model);
  a.heads = keys.size(kind.heads);
  a.d_ff = keys.size(kind.d_ff);
  a.encoder_layers = keys.size(kind.layers);
  a.decoder_layers = 0;
  a.activation = causal_activation(keys, kind.activation, "gelu");
  a.postprocess_embedding = {ProcessStep::norm, ProcessStep::dropout};
  a.positions = Positions::learned;
  a.max_positions = keys.positive("max_position_embeddings", 512) - rows_before;
  require(a.max_positions > 2, "{}: max_position_embeddings is too small", keys.path());
  a.beyond_positions = BeyondPositions::error;
  a.norm_epsilon = kind.norm_epsilon > 0 ? kind.norm_epsilon : keys.get("layer_norm_eps", 1e-12f);
  a.embedding_scale = false;
  a.token_types = kind.default_token_types > 0 ? keys.positive("type_vocab_size", kind.default_token_types) : 0;
  require(kind.separators == 1 || a.token_types == 1,
          "{}: type_vocab_size is {}; only 1 is supported, since both texts of a pair have the type 0",
          keys.path(), a.token_types);
  a.dropout = keys.get(kind.dropout, 0.1f);
  a.attention_dropout = keys.get(kind.attention_dropout, 0.1f);
  return a;
}

/// The settings of a folder of sentence-transformers, with the defaults of sentence-transformers for other
/// folders.
struct SentenceSettings {
  Pooling pooling = Pooling::mean;
  bool normalize = false;
  int max_tokens = 0;  ///< including the tokens around a text; 0: as many as the model has positions
};

Pooling pooling_of(const fs::path& path) {
  const JsonKeys keys(path);
  const bool first = keys.get("pooling_mode_cls_token", false),
             mean = keys.get("pooling_mode_mean_tokens", !first);
  for (const auto& [key, value] : keys.all().items())
    require(!key.starts_with("pooling_mode_") || value == false || value.is_string() ||
                key == "pooling_mode_cls_token" || key == "pooling_mode_mean_tokens",
            "{}: {} is {}; only the first token or the mean of all is supported", keys.path(), key,
            value.dump());
  const std::string mode = keys.get<std::string>("pooling_mode", first ? "cls" : "mean");
  require((mode == "cls" || mode == "mean") && first != mean,
          "{}: pooling is neither of the first token nor the mean", keys.path());
  return mode == "cls" ? Pooling::first : Pooling::mean;
}

SentenceSettings sentence_settings(const fs::path& folder) {
  SentenceSettings settings;
  const fs::path modules = folder / "modules.json";
  for (const char* type : {"bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet"}) {
    const fs::path own = folder / fmt::format("sentence_{}_config.json", type);
    if (!fs::exists(own)) continue;
    const JsonKeys keys(own);
    settings.max_tokens = keys.count("max_seq_length", 0);
    keys.require_is("do_lower_case", false, false);
    break;
  }
  const fs::path tokenizer = folder / "tokenizer_config.json";
  if (const auto all = JsonKeys::of_optional(tokenizer).all(); settings.max_tokens == 0)
    if (const auto limit = all.find("model_max_length"); limit != all.end() && limit->is_number())
      settings.max_tokens = static_cast<int>(std::clamp(limit->get<double>(), 0.0, 1e9));
  if (fs::exists(folder / "config_sentence_transformers.json"))
    JsonKeys(folder / "config_sentence_transformers.json")
        .require_is<std::string>("default_prompt_name", "", "");
  if (!fs::exists(modules)) return settings;
  const json list = parse_json(read_regular_file(modules), modules);
  require(list.is_array() && !list.empty(), "{}: is not a list of modules", modules.string());
  bool pooled = false, read = false;
  for (const json& module : list) {
    const json type_of = module.is_object() ? module.value("type", json()) : json(),
               path_of = module.is_object() ? module.value("path", json()) : json();
    require(type_of.is_string() && path_of.is_string(), "{}: a module has no type or no path",
            modules.string());
    const std::string type = type_of, path = path_of, name = type.substr(type.rfind('.') + 1);
    const fs::path inside = fs::path(path).lexically_normal();
    require(!inside.is_absolute() && (inside.empty() || *inside.begin() != ".."),
            "{}: the path '{}' leaves the folder", modules.string(), path);
    if (name == "Pooling" && read && !pooled)
      settings.pooling = pooling_of(folder / path / "config.json"), pooled = true;
    else if (name == "Normalize" && pooled)
      settings.normalize = true;
    else
      require(
          name == "Transformer" && !std::exchange(read, true) && (path.empty() || path == "0_Transformer"),
          "{}: the module '{}' is not supported; only Transformer, Pooling and Normalize, in this order, are",
          modules.string(), name);
  }
  return settings;
}

/// The id of a token, or -1.
int id_of(const Tokenizer& tokenizer, std::string_view text) {
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id)
    if (tokenizer.token_text(id) == text) return id;
  return -1;
}

/// Reads the tokenizer of a folder, which must put one token before each text and one after it.
std::shared_ptr<const Tokenizer> read_tokenizer(const fs::path& folder, const EncoderKind& kind, int rows) {
  const fs::path path = folder / "tokenizer.json";
  const bool has_json = fs::exists(path);
  const std::string text = has_json ? read_regular_file(path) : kind.old_tokenizer_json(folder);
  const json all = parse_json(text, path);
  int bos = -1, eos = -1;
  if (has_json) {
    const TextTemplate around = read_text_templates(all, path).single;
    require(around.before.size() == 1 && around.after.size() == 1,
            "{}: post_processor must put one token before a text and one after it; it puts {} and {}",
            path.string(), around.before.size(), around.after.size());
    bos = around.before[0].id, eos = around.after[0].id;
  } else {
    const auto plain = load_hugging_face_tokenizer(text, {.bos = -1, .eos = 0, .size = rows}, path);
    bos = id_of(*plain, kind.start), eos = id_of(*plain, kind.end);
    require(bos >= 0 && eos >= 0, "{}: the vocabulary lacks {} or {}", folder.string(), kind.start, kind.end);
  }
  return load_tokenizer_json(add_settings(text, {.bos = bos, .eos = eos, .size = rows}, path), path);
}

/// The text of a token in tokenizer_config.json. The value of a token may be an object.
std::string token_text_of(const fs::path& folder, const char* key, std::string_view default_value) {
  const fs::path path = folder / "tokenizer_config.json";
  const JsonKeys keys = JsonKeys::of_optional(path);
  if (!keys.has(key)) return std::string(default_value);
  const json text = keys.at(key).is_object() ? keys.at(key).value("content", json()) : keys.at(key);
  require(text.is_string(), "{}: {} is not the text of a token", keys.path(), key);
  return text;
}

/// Sets the head of the model, and its task.
void set_head(ModelConfig& c, EncoderHead head, const JsonKeys& keys, const fs::path& folder,
              const EncoderKind& kind, const Tokenizer& tokenizer) {
  c.context_tokens = c.max_positions - 2;  // of a text, without the tokens around it
  switch (head) {
    case EncoderHead::masks: {
      c.head = {
          .dense = true, .activation = kind.masks_by_gelu ? Activation::gelu : c.activation, .norm = true};
      c.output_bias = true;
      c.task = MaskedLanguageModelSettings::task;
      const int mask = id_of(tokenizer, token_text_of(folder, "mask_token", kind.mask));
      require(mask >= 0, "{}: the vocabulary lacks the token of masks", folder.string());
      c.settings = write_options(MaskedLanguageModelSettings{mask});
      return;
    }
    case EncoderHead::labels: {
      const std::vector<std::string> labels = labels_of(keys);
      c.head = {.kind = ClassificationSettings::network.head,
                .classes = static_cast<int>(labels.size()),
                .pooling = Pooling::first,
                .dense = true,
                .activation = kind.classifier};
      c.task = ClassificationSettings::task;
      c.settings = write_options(ClassificationSettings{labels});
      return;
    }
    case EncoderHead::answers:
      c.head.kind = AnswerSettings::network.head;
      c.task = AnswerSettings::network.task;
      c.settings = write_options(AnswerSettings{.separators = kind.separators});
      c.context_tokens = c.max_positions;  // of a question and a text, including the tokens around them
      return;
    case EncoderHead::embedding: {
      const SentenceSettings settings = sentence_settings(folder);
      c.head = {.kind = EmbeddingSettings::network.head, .pooling = settings.pooling};
      c.task = EmbeddingSettings::task;
      c.settings = write_options(EmbeddingSettings{settings.normalize});
      if (settings.max_tokens > 2) c.context_tokens = std::min(c.context_tokens, settings.max_tokens - 2);
    }
  }
}

}  // namespace

std::vector<std::string> labels_of(const JsonKeys& keys) {
  const std::string problem = keys.get<std::string>("problem_type", "single_label_classification");
  require(problem == "single_label_classification",
          "{}: problem_type is '{}'; only single_label_classification is supported", keys.path(), problem);
  if (!keys.has("id2label")) return {"LABEL_0", "LABEL_1"};
  const json& names = keys.at("id2label");
  require(
      names.is_object() && names.size() >= 2,
      "{}: id2label is not a map of at least two labels; models of one number (regression) are not supported",
      keys.path());
  std::vector<std::string> labels;
  for (size_t i = 0; i < names.size(); ++i) {
    const auto found = names.find(std::to_string(i));
    require(found != names.end() && found->is_string(), "{}: id2label has no name of the label {}", keys.path(),
            i);
    labels.push_back(*found);
  }
  try {
    validate(ClassificationSettings{labels});
  } catch (const Error& error) {
    throw_input_error("{}: id2label: {}", keys.path(), error.what());
  }
  return labels;
}

std::string_view class_ending(EncoderHead head) {
  return std::ranges::find(heads_by_class, head, [](const auto& pair) { return pair.second; })->first;
}

/// Tensors of heads that are not needed may be present: that of the next sentence, and the pooler.
NameRules encoder_rules(const EncoderKind& kind, EncoderHead head, bool tied, const std::string& scope,
                        int64_t skipped) {
  NameRules rules = kind.layers_rules(scope);
  const std::string words = tied ? "shared.weight" : "encoder.embed_tokens.weight";
  rules.push_back({scope + "embeddings.word_embeddings.weight", {words}});
  rules.push_back({.theirs = scope + "embeddings.position_embeddings.weight",
                   .ours = {"embed_positions.weight"},
                   .steps = {Step::skip_rows},
                   .skipped_rows = skipped});
  rules.push_back({scope + "embeddings.token_type_embeddings.weight", {"encoder.embed_types.weight"}});
  rules.push_back({scope + "embeddings.LayerNorm.*", {"encoder.layernorm_embedding.*"}});
  rules.push_back({scope + "embeddings.position_ids", {}, {}, Holds::nothing});
  const auto name = [](std::string_view part, const char* end) { return std::string(part) + end; };
  if (head == EncoderHead::masks) {
    rules.push_back({name(kind.mask_dense, ".*"), {"head.dense.*"}});
    rules.push_back({name(kind.mask_norm, ".*"), {"head.layer_norm.*"}});
    const std::string bias = name(kind.mask_copy, ".bias");
    const bool one = kind.mask_bias == bias;  // whether there is only one bias, without a copy
    if (tied) {
      rules.push_back({name(kind.mask_bias, ""), {"output_projection.bias"}});
      rules.push_back({name(kind.mask_copy, ".weight"), {"shared.weight"}, {}, Holds::copy});
      if (!one) rules.push_back({bias, {"output_projection.bias"}, {}, Holds::copy});
    } else {
      rules.push_back({name(kind.mask_copy, ".*"), {"output_projection.*"}});
      if (!one) rules.push_back({name(kind.mask_bias, ""), {}, {}, Holds::nothing});
    }
    rules.push_back({"cls.seq_relationship.*", {}, {}, Holds::nothing});
  }
  if (head == EncoderHead::labels) {
    rules.push_back({name(kind.class_dense, ".*"), {"head.dense.*"}});
    rules.push_back({name(kind.class_output, ".*"), {"classifier.*"}});
  }
  rules.push_back({scope + "pooler.dense.*", {}, {}, Holds::nothing});
  if (head == EncoderHead::answers) {
    rules.push_back({"qa_outputs.weight", {"qa_outputs.weight"}});
    // The bias is the same for all tokens, so it changes no answer.
    rules.push_back({.theirs = "qa_outputs.bias", .holds = Holds::nothing, .computed = [] {
                       return Matrix{1, 2, {0, 0}, true};
                     }});
  }
  return rules;
}

Imported read_encoder(const ImportSource& source, const EncoderKind& kind) {
  const fs::path folder(source.path);
  const JsonKeys keys(folder / "config.json");
  const EncoderHead head = head_of(keys, folder, kind);
  const int rows_before = kind.positions_after_pad ? keys.count("pad_token_id", 1) + 1 : 0;
  ModelConfig config;
  static_cast<Architecture&>(config) = encoder_architecture(keys, kind, rows_before);
  const bool tied = head == EncoderHead::masks && keys.get("tie_word_embeddings", true);
  config.tied_embeddings = tied ? TiedEmbeddings::all : TiedEmbeddings::none;
  const NameRules rules = encoder_rules(kind, head, tied, std::string(kind.scope), rows_before);
  const TensorMap tensors = with_prefix(read_tensors(folder), rules, kind.scope);
  const int rows =
      rows_of(tensors, rules, tied ? "shared.weight" : "encoder.embed_tokens.weight", config.d_model);
  Imported imported{.step = hugging_face_step, .origin = source.path};
  const auto tokenizer = read_tokenizer(folder, kind, rows);
  imported.tokenizers = {tokenizer, tokenizer, true};
  bind_tokenizers(config, imported.tokenizers);
  set_head(config, head, keys, folder, kind, *tokenizer);
  config.decoder_start_token = Architecture().decoder_start_token;
  if (head == EncoderHead::embedding && !fs::exists(folder / "modules.json"))
    imported.notes.info(
        "{}: has no head and no modules.json; its embedding of a text is the mean of its states", source.path);
  validate_described(config, keys.path());
  imported.model = read_weights(tensors, rules, config);
  return imported;
}

}  // namespace sixfold
