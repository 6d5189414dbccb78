#include "text/vocabulary_files.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "text/utf8.h"

// The files are defined by transformers' tokenization_bert.py and tokenization_gpt2.py.

namespace sixfold {
namespace {

using nlohmann::json;

/// Takes the next line off a text, without its end.
std::string_view take_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

/// The entries of those special tokens that a vocabulary has.
json special_token_entries(const json& vocabulary, std::initializer_list<const char*> names) {
  json added = json::array();
  for (const char* name : names)
    if (vocabulary.contains(name))
      added.push_back({{"id", vocabulary[name]},
                       {"content", name},
                       {"single_word", false},
                       {"lstrip", std::string_view(name) == "<mask>"},
                       {"rstrip", false},
                       {"normalized", false},
                       {"special", true}});
  return added;
}

json file_of(json added, json normalizer, json pre_tokenizer, json decoder, json model) {
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", std::move(added)},
          {"normalizer", std::move(normalizer)},
          {"pre_tokenizer", std::move(pre_tokenizer)},
          {"post_processor", nullptr},
          {"decoder", std::move(decoder)},
          {"model", std::move(model)}};
}

}  // namespace

std::string bert_tokenizer_json(std::string_view vocab_txt, const BertVocabularySettings& settings,
                                const std::string& origin) {
  json vocabulary = json::object();
  int64_t id = 0;
  for (; !vocab_txt.empty(); ++id) {
    const std::string_view token = take_line(vocab_txt);
    require(!first_invalid_utf8(token), "{}:{}: the token is not valid UTF-8", origin, id + 1);
    vocabulary[std::string(token)] = id;
  }
  require(vocabulary.contains("[UNK]"), "{}: lacks [UNK]; expected a vocab.txt of BERT", origin);
  json normalizer{{"type", "BertNormalizer"},
                  {"clean_text", true},
                  {"handle_chinese_chars", settings.tokenize_chinese_chars},
                  {"strip_accents", nullptr},
                  {"lowercase", settings.do_lower_case}};
  if (settings.strip_accents) normalizer["strip_accents"] = *settings.strip_accents;
  json added = special_token_entries(vocabulary, {"[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"});
  return file_of(std::move(added), std::move(normalizer), {{"type", "BertPreTokenizer"}},
                 {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}},
                 {{"type", "WordPiece"},
                  {"unk_token", "[UNK]"},
                  {"continuing_subword_prefix", "##"},
                  {"max_input_chars_per_word", 100},
                  {"vocab", std::move(vocabulary)}})
      .dump();
}

std::string byte_level_tokenizer_json(std::string_view vocab_json, std::string_view merges_txt,
                                      bool add_prefix_space, const std::string& origin) {
  json vocabulary = parse_json(vocab_json, origin);
  require(vocabulary.is_object(), "{}: expected an object with the ids of tokens", origin);
  require(!first_invalid_utf8(merges_txt), "{}: its merges.txt is not valid UTF-8", origin);
  json merges = json::array();
  for (bool first = true; !merges_txt.empty(); first = false) {
    const std::string_view line = take_line(merges_txt);
    if (line.empty() || (first && line.starts_with("#version"))) continue;
    const size_t space = line.find(' ');
    require(space != line.npos && line.find(' ', space + 1) == line.npos,
            "{}: a line of its merges.txt is not two tokens: '{}'", origin, line.substr(0, 60));
    merges.push_back(json::array({line.substr(0, space), line.substr(space + 1)}));
  }
  const json byte_level{{"type", "ByteLevel"},
                        {"add_prefix_space", add_prefix_space},
                        {"trim_offsets", true},
                        {"use_regex", true}};
  json added = special_token_entries(vocabulary, {"<s>", "<pad>", "</s>", "<unk>", "<mask>", "<|endoftext|>"});
  return file_of(std::move(added), nullptr, byte_level, byte_level,
                 {{"type", "BPE"}, {"vocab", std::move(vocabulary)}, {"merges", std::move(merges)}})
      .dump();
}

}  // namespace sixfold
