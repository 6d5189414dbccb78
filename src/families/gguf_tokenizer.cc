#include "families/gguf_tokenizer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/join.h"
#include "base/protobuf.h"
#include "text/sentence_piece.h"
#include "text/tokenizer_json.h"
#include "text/utf8.h"

// The meaning of the keys is defined in llama.cpp's src/llama-vocab.cpp.

namespace sixfold {
namespace {

using nlohmann::json;

/// Types of tokens, with the same numbers as in SentencePiece.
enum GgufTokenType {
  token_normal = 1,
  token_unknown,
  token_control,
  token_user_defined,
  token_unused,
  token_byte
};

std::string tokenizer_key(std::string_view name) { return fmt::format("tokenizer.ggml.{}", name); }

json by_regex(std::string_view pattern) {
  const json split{
      {"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}},
      bytes{{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
  return {{"type", "Sequence"}, {"pretokenizers", {split, bytes}}};
}

json as_gpt2() {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
}

json as_llama3() {
  return by_regex(
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)");
}

json as_qwen2() {
  return by_regex(
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)");
}

/// Each digit is a word.
json as_smollm() {
  return {{"type", "Sequence"},
          {"pretokenizers", {{{"type", "Digits"}, {"individual_digits", true}}, as_gpt2()}}};
}

/// How text is split into words before bytes are merged, by the value of tokenizer.ggml.pre.
struct PreTokenizer {
  std::string_view name;
  json (*step)();
  bool composes = false;        ///< whether text is first normalized to NFC
  bool ignores_merges = false;  ///< whether a word that is a token is not merged from parts
  bool starts_texts = false;    ///< the default of tokenizer.ggml.add_bos_token
};
constexpr PreTokenizer pre_tokenizers[] = {
    {"gpt-2", as_gpt2},
    {.name = "llama-bpe", .step = as_llama3, .ignores_merges = true, .starts_texts = true},
    {.name = "qwen2", .step = as_qwen2, .composes = true},
    {"smollm", as_smollm},
};

const PreTokenizer& pre_tokenizer_of(const GgufFile& file) {
  const std::string key = tokenizer_key("pre");
  std::vector<std::string> names;
  for (const PreTokenizer& known : pre_tokenizers) names.emplace_back(known.name);
  require(file.has(key), "{}: has no {}, without which it is not known how text is split; it may be {}",
          file.path(), key, join_words(names, "or"));
  const std::string name = file.text(key);
  const auto found = std::ranges::find(pre_tokenizers, name, &PreTokenizer::name);
  require(found != std::end(pre_tokenizers), "{}: {} is '{}'; only {} are supported", file.path(), key, name,
          join_words(names, "and"));
  return *found;
}

/// The tokens with their kinds, one for each row of the model's embedding.
struct GgufTokens {
  std::vector<std::string> texts;
  std::vector<int64_t> types;
};

GgufTokens tokens_of(const GgufFile& file, int rows) {
  GgufTokens tokens{file.texts(tokenizer_key("tokens")), {}};
  require(std::ssize(tokens.texts) == rows, "{}: {} has {} tokens, but the model has {}", file.path(),
          tokenizer_key("tokens"), tokens.texts.size(), rows);
  for (const std::string& text : tokens.texts)
    require(!first_invalid_utf8(text), "{}: {} has a token that is not UTF-8", file.path(),
            tokenizer_key("tokens"));
  const std::string types = tokenizer_key("token_type");
  tokens.types =
      file.has(types) ? file.integers(types) : std::vector<int64_t>(tokens.texts.size(), token_normal);
  require(tokens.types.size() == tokens.texts.size() &&
              std::ranges::all_of(tokens.types,
                                  [](int64_t type) { return type >= token_normal && type <= token_byte; }),
          "{}: {} must have a number from 1 to 6 for each of {} tokens", file.path(), types,
          tokens.texts.size());
  return tokens;
}

/// The id of a special token, or -1.
int special_token(const GgufFile& file, std::string_view name, int rows) {
  const std::string key = tokenizer_key(name);
  return file.has(key) ? static_cast<int>(file.integer(key, 0, rows - 1)) : -1;
}

std::shared_ptr<const Tokenizer> byte_level_tokenizer(const GgufFile& file, const GgufTokens& tokens, int bos,
                                                      int eos) {
  const PreTokenizer& pre = pre_tokenizer_of(file);
  json vocabulary = json::object(), added = json::array();
  for (size_t id = 0; id < tokens.texts.size(); ++id) {
    const std::string& text = tokens.texts[id];
    const bool special = tokens.types[id] == token_control || tokens.types[id] == token_unknown;
    require(vocabulary.emplace(text, id).second, "{}: {} has '{}' twice", file.path(), tokenizer_key("tokens"),
            text);
    if (special || tokens.types[id] == token_user_defined)
      added.push_back({{"id", id},
                       {"content", text},
                       {"single_word", false},
                       {"lstrip", false},
                       {"rstrip", false},
                       {"normalized", false},
                       {"special", special}});
  }
  const json all{{"version", "1.0"},
                 {"truncation", nullptr},
                 {"padding", nullptr},
                 {"added_tokens", std::move(added)},
                 {"normalizer", pre.composes ? json{{"type", "NFC"}} : json()},
                 {"pre_tokenizer", pre.step()},
                 {"post_processor", nullptr},
                 {"decoder", as_gpt2()},
                 {"model",
                  {{"type", "BPE"},
                   {"dropout", nullptr},
                   {"unk_token", nullptr},
                   {"continuing_subword_prefix", nullptr},
                   {"end_of_word_suffix", nullptr},
                   {"fuse_unk", false},
                   {"byte_fallback", false},
                   {"ignore_merges", pre.ignores_merges},
                   {"vocab", std::move(vocabulary)},
                   {"merges", file.texts(tokenizer_key("merges"))}}}};
  const TokenizerJsonSettings settings{.bos = bos, .eos = eos, .size = static_cast<int>(tokens.texts.size())};
  return load_tokenizer_json(
      add_settings(all.dump(-1, ' ', false, json::error_handler_t::replace), settings, file.path()),
      file.path());
}

/// The value of a key, or the default of llama.cpp if the key is missing.
bool bool_or(const GgufFile& file, std::string_view name, bool default_value) {
  const std::string key = tokenizer_key(name);
  return file.has(key) ? file.truth(key) : default_value;
}

/// Makes a SentencePiece tokenizer with these tokens, by writing a model in the format of
/// sentencepiece_model.proto.
std::shared_ptr<const Tokenizer> sentence_piece_tokenizer(const GgufFile& file, const GgufTokens& tokens,
                                                          int bos, int eos, bool unigram) {
  using namespace protobuf;
  const std::vector<float> scores = file.floats(tokenizer_key("scores"));
  require(scores.size() == tokens.texts.size(), "{}: {} must have a score for each of {} tokens", file.path(),
          tokenizer_key("scores"), tokens.texts.size());
  const auto marked = std::ranges::find(tokens.types, token_unknown);
  const int64_t unknown = marked != tokens.types.end()
                              ? marked - tokens.types.begin()
                              : special_token(file, "unknown_token_id", static_cast<int>(tokens.texts.size()));
  require(unknown >= 0, "{}: has no unknown token among its tokens, and no {}", file.path(),
          tokenizer_key("unknown_token_id"));
  std::string model;
  for (size_t id = 0; id < tokens.texts.size(); ++id) {
    const int number = static_cast<int>(id);
    int64_t kind = number == eos || number == bos ? int64_t{token_control} : tokens.types[id];
    if (number == unknown) kind = token_unknown;
    const auto type = static_cast<uint64_t>(kind);
    model +=
        bytes_field(1, bytes_field(1, tokens.texts[id]) + float_field(2, scores[id]) + number_field(3, type));
  }
  const auto text_of = [&](int64_t id) { return tokens.texts[static_cast<size_t>(id)]; };
  std::string trainer = number_field(3, unigram ? 1 : 2);
  if (std::ranges::count(tokens.types, token_byte) > 0) trainer += number_field(35, 1);
  trainer += number_field(40, static_cast<uint64_t>(unknown)) + bytes_field(45, text_of(unknown));
  if (bos >= 0) trainer += number_field(41, static_cast<uint64_t>(bos)) + bytes_field(46, text_of(bos));
  trainer += number_field(42, static_cast<uint64_t>(eos)) + bytes_field(48, text_of(eos));
  model += bytes_field(2, trainer);
  std::string normalizer = bytes_field(1, "identity");
  const std::string charsmap = tokenizer_key("precompiled_charsmap");
  if (file.has(charsmap)) {
    std::string bytes;
    for (const int64_t byte : file.integers(charsmap)) bytes += static_cast<char>(byte);
    normalizer += bytes_field(2, bytes);
  }
  normalizer += number_field(3, bool_or(file, "add_space_prefix", true)) +
                number_field(4, bool_or(file, "remove_extra_whitespaces", false)) +
                number_field(5, bool_or(file, "escape_whitespaces", true));
  model += bytes_field(3, normalizer);
  return load_sentence_piece(mark_whole_texts(std::move(model), file.path()), file.path(), TextSide::exact);
}

}  // namespace

GgufTokenizer read_gguf_tokenizer(const GgufFile& file, int rows) {
  const std::string kind_key = tokenizer_key("model"), kind = file.text(kind_key);
  require(kind == "gpt2" || kind == "llama" || kind == "t5",
          "{}: {} is '{}'; only gpt2, llama and t5 are supported", file.path(), kind_key, kind);
  const GgufTokens tokens = tokens_of(file, rows);
  GgufTokenizer result{.tokenizer = nullptr,
                       .bos = special_token(file, "bos_token_id", rows),
                       .eos = special_token(file, "eos_token_id", rows)};
  require(result.eos >= 0, "{}: has no {}; a model without an end token can't be imported", file.path(),
          tokenizer_key("eos_token_id"));
  for (const char* key : {"eot_token_id", "eom_token_id"})  // tokens that end a message also end a text
    if (const int id = special_token(file, key, rows); id >= 0 && id != result.eos)
      result.more_ends.push_back(id);
  const bool starts = kind == "gpt2" ? pre_tokenizer_of(file).starts_texts : kind == "llama";
  result.starts_texts = bool_or(file, "add_bos_token", starts);
  require(!bool_or(file, "add_eos_token", false),
          "{}: {} is true; texts that end before they go on are not supported", file.path(),
          tokenizer_key("add_eos_token"));
  require(!result.starts_texts || result.bos >= 0, "{}: texts begin with a start token, but there is no {}",
          file.path(), tokenizer_key("bos_token_id"));
  result.tokenizer = kind == "gpt2"
                         ? byte_level_tokenizer(file, tokens, result.bos, result.eos)
                         : sentence_piece_tokenizer(file, tokens, result.bos, result.eos, kind == "t5");
  return result;
}

}  // namespace sixfold
