#include <algorithm>
#include <sstream>
#include <string_view>

#include "families/families.h"
#include "families/json/causal.h"
#include "families/json/seq2seq.h"
#include "families/vocabulary.h"
#include "text/sentence_piece.h"

// M2M100 and NLLB of Hugging Face. The meaning of keys and tensors is defined in transformers'
// configuration_m2m_100.py and modeling_m2m_100.py.

namespace sixfold {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view m2m_class = "M2M100ForConditionalGeneration";
constexpr int m2m_pad = 1;

/// The languages of tokenization_m2m_100.py in the order of their tokens, which follow those of vocab.json.
constexpr std::string_view m2m_languages =
    "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr "
    "ht hu "
    "hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl ps "
    "pt "
    "ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu";
constexpr std::string_view wmt21_languages = "en ha is ja cs ru zh de";

NameRules m2m_rules(const Architecture& a) {
  NameRules rules = seq2seq_embedding_rules(a);
  const NameRule own[] = {
      {"model.*", {"*"}},
      {"model.encoder.embed_positions.weights", {}, {}, Holds::nothing},  // sines and cosines
      {"model.decoder.embed_positions.weights", {}, {}, Holds::nothing},
  };
  rules.insert(rules.end(), std::begin(own), std::end(own));
  return rules;
}

/// Positions are counted from after the id of the padding token, as in fairseq.
Architecture m2m_architecture(const JsonKeys& keys) {
  Architecture a = seq2seq_architecture(keys, /*pre_norm=*/true);
  if (!keys.has("activation_function")) a.activation = Activation::relu;
  a.embedding_scale = keys.get("scale_embedding", true);
  a.attention_dropout = keys.get("attention_dropout", 0.1f);
  a.positions = Positions::sinusoidal_marian;
  a.position_offset = keys.count("pad_token_id", m2m_pad) + 1;
  require(a.d_model % 2 == 0, "{}: d_model {} is odd", keys.path(), a.d_model);
  return a;
}

/// Reads a SentencePiece model whose pieces have the ids of vocab.json. The tokens of languages follow them.
Seq2SeqTokenizer read_m2m_tokenizer(const fs::path& folder, int rows, int /*eos*/) {
  const fs::path model = folder / "sentencepiece.bpe.model", vocabulary = folder / "vocab.json",
                 config = folder / "tokenizer_config.json";
  require(fs::exists(model) && fs::exists(vocabulary),
          "{}: has no tokenizer; expected tokenizer.json, or sentencepiece.bpe.model and vocab.json",
          folder.string());
  std::vector<std::string> pieces = parse_vocabulary(read_regular_file(vocabulary), vocabulary);
  const JsonKeys keys = JsonKeys::of_optional(config);
  const std::string codes = keys.get<std::string>("language_codes", "m2m100");
  require(codes == "m2m100" || codes == "wmt21", "{}: language_codes is '{}'; only m2m100 and wmt21 are known",
          keys.path(), codes);
  std::vector<std::string> controls;
  std::istringstream languages{std::string(codes == "wmt21" ? wmt21_languages : m2m_languages)};
  for (std::string code; languages >> code;) {
    controls.push_back(fmt::format("__{}__", code));
    if (std::ranges::find(pieces, controls.back()) == pieces.end()) pieces.push_back(controls.back());
  }
  require(std::cmp_less_equal(pieces.size(), rows),
          "{}: with the tokens of languages the vocabulary has {} tokens, but the model has {}",
          vocabulary.string(), pieces.size(), rows);
  for (auto id = std::ssize(pieces); id < rows; ++id) {
    pieces.push_back(fmt::format("madeupword{:04}", id));
    controls.push_back(pieces.back());
  }
  const std::string bytes = add_vocabulary(read_regular_file(model), pieces, model, controls);
  return {.tokenizer = load_sentence_piece(bytes, model, TextSide::exact), .settings = {}};
}

Imported read_m2m(const ImportSource& source) {
  const JsonKeys keys(fs::path(source.path) / "config.json");
  Seq2SeqModel theirs{.language_tokens = {"__*__", "*"}, .read_old_tokenizer = read_m2m_tokenizer};
  static_cast<Architecture&>(theirs.config) = m2m_architecture(keys);
  theirs.rules = m2m_rules(theirs.config);
  return read_seq2seq(source, keys, with_prefix(read_tensors(source.path), theirs.rules, "model."), theirs);
}

bool is_language(const std::string& piece) {
  return piece.size() > 4 && piece.starts_with("__") && piece.ends_with("__");
}

/// Writes the files that `read_m2m_tokenizer` reads.
void write_m2m_tokenizer(const fs::path& folder, const Tokenizer& tokenizer) {
  std::vector<std::string> pieces = pieces_of(tokenizer);
  pieces.erase(std::ranges::find_if(pieces, is_language), pieces.end());
  write_file_atomically(folder / "vocab.json", vocabulary_json(pieces));
  write_file_atomically(folder / "sentencepiece.bpe.model",
                        plain_model(tokenizer.serialized(), TextSide::exact));
}

Exported write_m2m(const ExportSource& source, const std::string& folder) {
  const auto need = [&](bool supported, const std::string& difference) {
    source.need(supported, m2m_class, difference);
  };
  need_usual_network(source, m2m_class, {"position_offset", "decoder_heads", "decoder_d_ff"});
  const bool old = source.tokenizers.target->kind() == TokenizerKind::sentencepiece;
  ModelConfig c = exported_seq2seq_config(source, m2m_class, old);
  need(c.norm == Norm::layer && c.preprocess == std::vector{ProcessStep::norm} &&
           c.postprocess_top == std::vector{ProcessStep::norm} && !has_step(c.postprocess, ProcessStep::norm) &&
           has_step(c.postprocess, ProcessStep::add) && !has_step(c.postprocess_embedding, ProcessStep::norm),
       "its norms are not those before the sub-layers, with one at the top of each stack");
  need(!c.feed_forward_gate && c.feed_forward_bias, "its feed-forward layers have a gate or no biases");
  need(c.tied_embeddings == TiedEmbeddings::all || c.tied_embeddings == TiedEmbeddings::none,
       "some of its embeddings are tied, and others are not");
  need(!c.output_bias, "its output has a bias");
  need_even_heads(source, m2m_class);
  need(c.attention_score == AttentionScore::scaled_dot, "its attention_score is not scaled");
  need(c.position_offset > 0 && c.position_offset <= c.target_vocab,
       "its positions do not begin after a token");
  c.postprocess = {ProcessStep::dropout, ProcessStep::add};
  c.postprocess_embedding = Architecture().postprocess_embedding;
  nlohmann::ordered_json own = seq2seq_keys(c);
  own["model_type"] = "m2m_100";
  const auto count = std::ranges::count_if(pieces_of(*source.tokenizers.target), is_language);
  const int padding = c.position_offset - 1;
  const bool nllb = settings_of<TranslationSettings>(c).language_token == "*";
  return write_seq2seq(source, folder,
                       {.class_name = m2m_class,
                        .tokenizer_class = nllb ? "NllbTokenizer" : "M2M100Tokenizer",
                        .config = c,
                        .rules = m2m_rules(c),
                        .pad = padding,
                        .own = own,
                        .own_of_tokenizer = {{"language_codes", count > 8 ? "m2m100" : "wmt21"}},
                        .write_old_tokenizer = write_m2m_tokenizer});
}

}  // namespace

Family m2m100_family() {
  return {.program = &hugging_face,
          .name = "m2m_100",
          .class_name = m2m_class,
          .title = "M2M100, NLLB",
          .recognizes = has_model_type,
          .read = read_m2m,
          .exports = "translation models whose positions have an offset",
          .takes =
              [](const ModelConfig& c) {
                return c.task == TranslationSettings::task && c.positions == Positions::sinusoidal_marian &&
                       c.position_offset > 0;
              },
          .write = write_m2m};
}

}  // namespace sixfold
