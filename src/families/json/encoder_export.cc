#include <algorithm>
#include <filesystem>

#include "families/json/causal.h"
#include "families/json/encoder.h"
#include "families/model_card.h"
#include "model/position_encodings.h"
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

constexpr int default_positions = 512;
constexpr int tokens_around = 2;  ///< the tokens before and after a text

/// The tasks of encoders of text, with the heads of their models.
constexpr std::pair<const TaskNetwork*, EncoderHead> networks[] = {
    {&MaskedLanguageModelSettings::network, EncoderHead::masks},
    {&ClassificationSettings::network, EncoderHead::labels},
    {&AnswerSettings::network, EncoderHead::answers},
    {&EmbeddingSettings::network, EncoderHead::embedding}};

/// The id of the first of these tokens that a vocabulary has, or -1.
int id_of(const Tokenizer& tokenizer, std::initializer_list<std::string_view> texts) {
  for (const std::string_view text : texts)
    for (int32_t id = 0; id < tokenizer.vocab_size(); ++id)
      if (tokenizer.token_text(id) == text) return id;
  return -1;
}

void check_norms(const ExportSource& source, const std::string& class_name) {
  const ModelConfig& c = source.model.config();
  source.need(has_step(c.postprocess_embedding, ProcessStep::norm), class_name,
              "no norm follows its embeddings (postprocess_embedding)");
  source.need(!has_step(c.preprocess, ProcessStep::norm) && !has_step(c.postprocess_top, ProcessStep::norm) &&
                  has_step(c.postprocess, ProcessStep::add) && c.postprocess.back() == ProcessStep::norm,
              class_name,
              "its norms do not follow the residual connections of its sub-layers (preprocess, postprocess, "
              "postprocess_top)");
  source.need(!c.embedding_scale, class_name, "it multiplies embeddings by sqrt(d_model) (embedding_scale)");
}

void check_head(const ExportSource& source, const EncoderKind& kind, EncoderHead head,
                const std::string& class_name) {
  const ModelConfig& c = source.model.config();
  const auto need = [&](bool supported, const std::string& difference) {
    source.need(supported, class_name, difference);
  };
  const bool masks = head == EncoderHead::masks, labels = head == EncoderHead::labels;
  const Activation expected = labels ? kind.classifier : kind.masks_by_gelu ? Activation::gelu : c.activation;
  need(c.head.dense == (masks || labels), fmt::format("its head.dense is {}", c.head.dense));
  need(c.head.norm == masks, fmt::format("its head.norm is {}", c.head.norm));
  need(!c.head.dense || c.head.activation == expected,
       fmt::format("its head.activation is '{}' instead of '{}'", name_of_enum(c.head.activation),
                   name_of_enum(expected)));
  need(!labels || c.head.pooling == Pooling::first,
       fmt::format("its head.pooling is '{}'", name_of_enum(c.head.pooling)));
  need(head != EncoderHead::embedding || c.head.pooling != Pooling::attention,
       "its head.pooling is 'attention'");
  need(head != EncoderHead::answers || settings_of<AnswerSettings>(c).separators == kind.separators,
       fmt::format("its separators are not {}", kind.separators));
}

/// The config of the exported model, which importing it gives.
ModelConfig exported_config(const ExportSource& source, const EncoderKind& kind, EncoderHead head) {
  const ModelConfig& own = source.model.config();
  ModelConfig c = own;
  const bool embedding = head == EncoderHead::embedding;
  const int around = head == EncoderHead::answers ? 0 : tokens_around,
            longest = own.context_tokens > 0 && !embedding ? own.context_tokens + around : 0;
  c.max_positions =
      own.positions == Positions::learned ? own.max_positions : std::max(default_positions, longest);
  if (longest > 0) c.max_positions = std::min(c.max_positions, longest);
  const int max_tokens = c.max_positions - around;
  c.context_tokens =
      embedding && own.context_tokens > 0 ? std::min(max_tokens, own.context_tokens) : max_tokens;
  c.positions = Positions::learned;
  c.beyond_positions = BeyondPositions::error;
  c.postprocess_embedding = {ProcessStep::norm, ProcessStep::dropout};
  c.preprocess = c.postprocess_top = {};
  c.postprocess = Architecture().postprocess;
  c.token_types = kind.default_token_types > 0 ? std::max(own.token_types, 1) : 0;
  c.attention_bias = c.feed_forward_bias = true;  // biases that the model does not have are written as zeros
  c.output_bias = head == EncoderHead::masks;
  const bool tied = head == EncoderHead::masks && own.shares_output();
  c.tied_embeddings = tied ? TiedEmbeddings::all : TiedEmbeddings::none;
  c.activation_dropout = 0;
  c.decoder_mixer = Architecture().decoder_mixer;
  c.decoder_start_token = Architecture().decoder_start_token;
  c.generation = {};
  if (head == EncoderHead::masks)
    c.settings =
        write_options(MaskedLanguageModelSettings{settings_of<MaskedLanguageModelSettings>(own).mask(own.unk)});
  if (head == EncoderHead::answers) c.settings = write_options(AnswerSettings{.separators = kind.separators});
  return c;
}

ordered_json config_json(const ModelConfig& c, const EncoderKind& kind, EncoderHead head, int pad,
                         int rows_before) {
  ordered_json keys{{"architectures", {std::string(kind.prefix) + std::string(class_ending(head))}},
                    {"model_type", kind.type},
                    {"vocab_size", c.source_vocab},
                    {kind.d_model, c.d_model},
                    {kind.heads, c.heads},
                    {kind.d_ff, c.d_ff},
                    {kind.layers, c.encoder_layers},
                    {kind.activation, causal_activation_name(c.activation)},
                    {kind.dropout, shortest_decimal(c.dropout)},
                    {kind.attention_dropout, shortest_decimal(c.attention_dropout)},
                    {"max_position_embeddings", c.max_positions + rows_before},
                    {"tie_word_embeddings", head != EncoderHead::masks || c.shares_output()},
                    {"dtype", "float32"}};
  keys["pad_token_id"] = pad >= 0 ? ordered_json(pad) : ordered_json();
  if (kind.norm_epsilon == 0) keys["layer_norm_eps"] = shortest_decimal(c.norm_epsilon);
  if (kind.default_token_types > 0) keys["type_vocab_size"] = c.token_types;
  if (kind.head_dropouts)
    for (const char* key : kind.head_dropouts()) keys[key] = shortest_decimal(c.dropout);
  if (kind.positions_after_pad) keys["bos_token_id"] = c.bos, keys["eos_token_id"] = c.eos;
  if (head == EncoderHead::labels) write_labels(labels_of(c), keys);
  return keys;
}

/// A post_processor that puts a token before a text and one after it, and `separators` between two texts.
json post_processor_around(const Tokenizer& tokenizer, const EncoderKind& kind) {
  json tokens = json::object();
  const auto token = [&](int32_t id, int type) {
    const std::string text = tokenizer.token_text(id);
    tokens[text] = {{"id", text}, {"ids", json::array({id})}, {"tokens", json::array({text})}};
    return json{{"SpecialToken", {{"id", text}, {"type_id", type}}}};
  };
  const auto sequence = [](const char* name, int type) {
    return json{{"Sequence", {{"id", name}, {"type_id", type}}}};
  };
  const int second = kind.separators == 1 ? 1 : 0;
  json single = json::array({token(tokenizer.bos(), 0), sequence("A", 0), token(tokenizer.eos(), 0)}),
       pair = single;
  for (int i = 1; i < kind.separators; ++i) pair.push_back(token(tokenizer.eos(), 0));
  pair.push_back(sequence("B", second));
  pair.push_back(token(tokenizer.eos(), second));
  return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", tokens}};
}

/// Whether a tokenizer.json puts the tokens around texts that the model expects.
bool puts_tokens_around(const json& all, const Tokenizer& tokenizer, const EncoderKind& kind,
                        const std::string& origin) {
  const auto is = [](const std::vector<TemplateToken>& tokens, int64_t count, int32_t id) {
    return std::ssize(tokens) == count && std::ranges::count(tokens, id, &TemplateToken::id) == count;
  };
  const TextTemplates around = read_text_templates(all, origin);
  return is(around.single.before, 1, tokenizer.bos()) && is(around.single.after, 1, tokenizer.eos()) &&
         is(around.pair.before, 1, tokenizer.bos()) &&
         is(around.pair.between, kind.separators, tokenizer.eos()) && is(around.pair.after, 1, tokenizer.eos());
}

void write_tokenizer(const fs::path& folder, const ExportSource& source, const EncoderKind& kind,
                     const ModelConfig& c, int pad) {
  const Tokenizer& tokenizer = *source.tokenizers.source;
  std::string text(tokenizer_json_of(tokenizer.serialized()));
  json all = json::parse(text);
  if (!puts_tokens_around(all, tokenizer, kind, source.folder)) {
    all["post_processor"] = post_processor_around(tokenizer, kind);
    text = all.dump(2) + "\n";
  }
  write_file_atomically(folder / "tokenizer.json", text);
  const std::string start = tokenizer.token_text(tokenizer.bos()), end = tokenizer.token_text(tokenizer.eos());
  ordered_json settings{{"tokenizer_class", "PreTrainedTokenizerFast"},
                        {"cls_token", start},
                        {"sep_token", end},
                        {"unk_token", tokenizer.token_text(tokenizer.unk())},
                        {"model_max_length", c.max_positions}};
  if (kind.positions_after_pad) settings["bos_token"] = start, settings["eos_token"] = end;
  if (pad >= 0) settings["pad_token"] = tokenizer.token_text(pad);
  if (c.task == MaskedLanguageModelSettings::task)
    settings["mask_token"] = tokenizer.token_text(settings_of<MaskedLanguageModelSettings>(c).mask_token);
  settings["model_input_names"] = {"input_ids", "attention_mask"};
  if (c.token_types > 1) settings["model_input_names"].push_back("token_type_ids");
  write_json(folder / "tokenizer_config.json", settings);
}

/// Writes the files of a folder of sentence-transformers, which are described in its documentation of modules.
void write_sentence_transformers(const fs::path& folder, const ModelConfig& c) {
  const bool first = c.head.pooling == Pooling::first;
  ordered_json modules = ordered_json::array();
  const auto add = [&](const std::string& path, const std::string& type) {
    const size_t number = modules.size();
    modules.push_back({{"idx", number},
                       {"name", std::to_string(number)},
                       {"path", path},
                       {"type", "sentence_transformers.models." + type}});
  };
  add("", "Transformer");
  add("1_Pooling", "Pooling");
  if (settings_of<EmbeddingSettings>(c).normalize) add("2_Normalize", "Normalize");
  write_json(folder / "modules.json", modules);
  fs::create_directory(folder / "1_Pooling");
  write_json(folder / "1_Pooling" / "config.json", {{"word_embedding_dimension", c.d_model},
                                                    {"pooling_mode_cls_token", first},
                                                    {"pooling_mode_mean_tokens", !first},
                                                    {"pooling_mode_max_tokens", false},
                                                    {"pooling_mode_mean_sqrt_len_tokens", false}});
  write_json(folder / "sentence_bert_config.json",
             {{"max_seq_length", c.context_tokens + tokens_around}, {"do_lower_case", false}});
}

}  // namespace

void check_encoder_layers(const ExportSource& source, const std::string& class_name,
                          std::initializer_list<std::string_view> supported) {
  need_usual_network(source, class_name, supported);
  const ModelConfig& c = source.model.config();
  const auto need = [&](bool condition, const std::string& difference) {
    source.need(condition, class_name, difference);
  };
  need(c.positions == Positions::learned || effect_of(c.positions) == PositionEffect::sinusoids,
       fmt::format("its positions are '{}'", name_of_enum(c.positions)));
  need(c.encoder_mixer == MixerKind::attention,
       fmt::format("its encoder_mixer is '{}'", name_of_enum(c.encoder_mixer)));
  need(c.attention_score == AttentionScore::scaled_dot,
       fmt::format("its attention_score is '{}'", name_of_enum(c.attention_score)));
  need_even_heads(source, class_name);
  need(c.norm == Norm::layer, fmt::format("its norm is '{}'", name_of_enum(c.norm)));
  need(!c.feed_forward_gate, "its feed-forward layers have a gate (feed_forward_gate)");
  need(!causal_activation_name(c.activation).empty(),
       fmt::format("its activation is '{}'", name_of_enum(c.activation)));
}

WeightValues encoder_values(const Transformer& model) {
  return [&model](const Parameter& weight) {
    const ModelConfig& own = model.config();
    const auto size = static_cast<size_t>(weight.tensor.size());
    std::string name = weight.name;
    if (name == "embed_positions.weight") return position_encodings(model, weight.tensor.rows());
    if (name == "shared.weight" || name == "encoder.embed_tokens.weight")
      name = own.shares_embedding() ? "shared.weight" : "encoder.embed_tokens.weight";
    const bool has = std::ranges::count(model.parameters(), name, &Parameter::name) > 0;
    if (!has && (name.ends_with(".bias") || name == "encoder.embed_types.weight"))
      return std::vector<float>(size);
    return values_of(model, name);
  };
}

void write_labels(const std::vector<std::string>& labels, ordered_json& keys) {
  ordered_json names = ordered_json::object(), ids = ordered_json::object();
  for (size_t i = 0; i < labels.size(); ++i) names[std::to_string(i)] = labels[i], ids[labels[i]] = i;
  keys["id2label"] = names, keys["label2id"] = ids;
}

std::optional<EncoderHead> encoder_head(const ModelConfig& c) {
  const auto found =
      std::ranges::find(networks, c.task, [](const auto& pair) { return std::string_view(pair.first->task); });
  return found == std::end(networks) ? std::nullopt : std::optional(found->second);
}

Exported write_encoder(const ExportSource& source, const std::string& output, const EncoderKind& kind) {
  const fs::path folder(output);
  const Tokenizer& tokenizer = *source.tokenizers.source;
  const EncoderHead head = encoder_head(source.model.config()).value();
  const std::string class_name = std::string(kind.prefix) + std::string(class_ending(head));
  for (const auto& [network, predicts] : networks)
    if (predicts == head) require_task(source.model.config(), *network, source.folder);
  check_encoder_layers(source, class_name, {"attention_bias", "token_types"});
  check_norms(source, class_name);
  check_head(source, kind, head, class_name);
  source.need(tokenizer.kind() == TokenizerKind::tokenizer_json, class_name,
              fmt::format("its tokenizer is of the kind '{}'; only tokenizer_json has a form there",
                          name_of_enum(tokenizer.kind())));
  source.need(tokenizer.bos() >= 0 && tokenizer.eos() >= 0, class_name,
              "its tokenizer has no start token or no end token, which stand around texts there");
  const int pad = id_of(tokenizer, {"[PAD]", "<pad>"});
  source.need(pad >= 0 || !kind.positions_after_pad, class_name,
              "its vocabulary has no token [PAD] or <pad>, after whose id positions are numbered there");
  const int rows_before = kind.positions_after_pad ? pad + 1 : 0;
  Exported exported;
  const ModelConfig c = exported.config = exported_config(source, kind, head);
  write_json(folder / "config.json", config_json(c, kind, head, pad, rows_before));
  exported.values = encoder_values(source.model);
  const std::string scope = head == EncoderHead::embedding ? "" : std::string(kind.scope);
  write_weights(folder / "model.safetensors", encoder_rules(kind, head, c.shares_output(), scope, rows_before),
                c, exported.values);
  write_tokenizer(folder, source, kind, c, pad);
  if (head == EncoderHead::embedding) write_sentence_transformers(folder, c);
  write_file_atomically(folder / "README.md",
                        encoder_card(source.model.config(), class_name, "AutoTokenizer", source.folder));
  exported.source_pieces = exported.target_pieces = pieces_of(tokenizer);
  return exported;
}

}  // namespace sixfold
