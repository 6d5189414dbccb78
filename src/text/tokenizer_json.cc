#include "text/tokenizer_json.h"

#include <unicode/regex.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/error.h"
#include "base/json.h"
#include "text/merges.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

using nlohmann::json;

constexpr std::string_view file_mark = "sixfold byte pairs";

/// The patterns by which known tokenizers split text into words before they merge bytes.
constexpr std::string_view known_patterns[] = {
    // GPT-2; a ByteLevel pre-tokenizer with use_regex
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
    // Llama 3
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    // Qwen 2
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
};

/// ICU's \s lacks two characters of Unicode's White_Space, which the patterns mean.
std::string for_icu(std::string_view pattern) {
  std::string result;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern.substr(i, 2) == "\\s")
      result += "\\p{White_Space}", ++i;
    else if (pattern.substr(i, 2) == "\\S")
      result += "\\P{White_Space}", ++i;
    else
      result += pattern[i];
  }
  return result;
}

/// The bytes that each character of a token stands for: printable ones stand for themselves, the others have
/// the characters from U+0100 on, in the order of the bytes.
std::unordered_map<std::string, char> byte_of_character() {
  std::unordered_map<std::string, char> bytes;
  int moved = 0;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    std::string character;
    icu::UnicodeString(static_cast<UChar32>(printable ? byte : 256 + moved++)).toUTF8String(character);
    bytes[character] = static_cast<char>(byte);
  }
  return bytes;
}

/// Whether the first character is \p{L}.
bool begins_with_letter(std::string_view text) {
  int32_t end = 0;
  UChar32 character = 0;
  U8_NEXT(text.data(), end, static_cast<int32_t>(text.size()), character);
  return (U_GET_GC_MASK(character) & U_GC_L_MASK) != 0;
}

class BytePairTokenizer : public Tokenizer {
 public:
  BytePairTokenizer(std::string_view file, const std::string& origin) : serialized_(file), origin_(origin) {
    read_settings(file);
    const json all = parse_json(std::string(tokenizer_json_of(file)), origin);
    require(all.is_object(), "{}: expected a JSON object", origin);
    read_model(part(all, "model"));
    read_added_tokens(all);
    check_rest(all);
    read_pattern(all);
    finish();
  }

  std::vector<int32_t> encode(std::string_view text) const override {
    const std::string valid = first_invalid_utf8(text) ? replace_invalid_utf8(text) : std::string(text);
    const icu::UnicodeString line = icu::UnicodeString::fromUTF8(valid);
    UErrorCode status = U_ZERO_ERROR;
    const std::unique_ptr<icu::RegexMatcher> matcher(pattern_->matcher(line, status));
    std::vector<int32_t> ids;
    while (U_SUCCESS(status) && matcher->find(status)) {
      std::string word;
      line.tempSubStringBetween(matcher->start(status), matcher->end(status)).toUTF8String(word);
      append_word(word, ids);
    }
    require(U_SUCCESS(status), "a text can't be split into words: {}", u_errorName(status));
    return ids;
  }
  /// Lines are not encoded on their own: words may begin with line feeds.
  std::vector<int32_t> encode_text(std::string_view text) const override { return encode(text); }
  std::string decode_text(std::span<const int32_t> ids) const override { return decode_tokens(ids); }
  bool encodes_whole_texts() const override { return true; }
  /// Before what follows a letter and is none. By all known patterns a word ends there: it has letters only at
  /// its end, no pattern looks back, and none looks beyond a letter.
  size_t last_cut(std::string_view text, size_t most) const override {
    if (text.empty()) return 0;
    size_t after = text.size();
    bool letter_after = true;  // the text may go on with one
    for (size_t place = std::min(most, text.size() - 1) + 1; place-- > 0;) {
      if ((static_cast<unsigned char>(text[place]) & 0xC0) == 0x80) continue;
      const bool letter = begins_with_letter(text.substr(place, 4));
      if (letter && !letter_after) return after;
      letter_after = letter;
      after = place;
    }
    return 0;
  }

  int vocab_size() const override { return static_cast<int>(tokens_.size()); }
  std::string token_text(int32_t id) const override { return at(id).text; }
  TokenizerKind kind() const override { return TokenizerKind::tokenizer_json; }
  const std::string& serialized() const override { return serialized_; }

 private:
  struct Token {
    std::string text;   ///< as the file writes it
    std::string bytes;  ///< what it stands for; empty for control tokens
    bool known = false, control = false;
  };

  const Token& at(int32_t id) const {
    require(id >= 0 && id < vocab_size(), "the token id {} is not in the vocabulary of {} tokens", id,
            vocab_size());
    return tokens_[static_cast<size_t>(id)];
  }
  const json& part(const json& object, const char* key) const {
    require(object.contains(key), "{}: has no key '{}'; expected a tokenizer.json of Hugging Face's tokenizers",
            origin_, key);
    return object[key];
  }
  [[noreturn]] void refuse(const std::string& what) const {
    throw_input_error("{}: {}; only byte-level BPE, as GPT-2 and Llama 3 have it, is supported", origin_, what);
  }
  /// Throws an input error unless the value of a key, if there is one, is null, false or empty.
  void require_absent(const json& object, const std::string& where, const char* key) const {
    if (!object.contains(key)) return;
    const json& value = object[key];
    if (value.is_null() || value == false || value == "" || value == 0.0 || (value.is_array() && value.empty()))
      return;
    refuse(fmt::format("{}.{} is {}", where, key, value.dump().substr(0, 60)));
  }
  std::string type_of(const json& object) const {
    return object.is_object() && object.contains("type") && object["type"].is_string()
               ? object["type"].get<std::string>()
               : "";
  }

  void read_settings(std::string_view file) {
    TokenizerJsonSettings s;
    const std::string line(file.substr(0, file.find('\n')));
    const std::string expected = fmt::format("{} ", file_mark);
    require(line.starts_with(expected), "{}: is not a tokenizer of byte pairs", origin_);
    const char *at = line.data() + expected.size(), *end = line.data() + line.size();
    for (int* number : {&s.bos, &s.eos, &s.size}) {
      const auto [rest, fault] = std::from_chars(at, end, *number);
      require(fault == std::errc(), "{}: its first line is damaged", origin_);
      at = rest < end ? rest + 1 : rest;
    }
    // Each token takes some bytes of the file, and only a few rows of an embedding have none.
    const auto most = static_cast<int64_t>(std::min<size_t>(file.size(), size_t{1} << 30));
    require(s.size > 0 && s.size <= most && s.bos >= -1 && s.bos < s.size && s.eos >= 0 && s.eos < s.size,
            "{}: its special tokens (bos {}, eos {}) are not in its vocabulary of {} tokens", origin_, s.bos,
            s.eos, s.size);
    bos_ = s.bos, eos_ = unk_ = s.eos;  // nothing is unknown
    tokens_.resize(static_cast<size_t>(s.size));
  }

  /// Adds a token. Those beyond the model's embedding are left out.
  void add_token(const std::string& text, const json& id, bool control) {
    require(id.is_number_integer() && id.get<int64_t>() >= 0 &&
                id.get<int64_t>() <= std::numeric_limits<int32_t>::max(),
            "{}: the id of '{}' is not a whole number at least 0", origin_, text);
    const auto number = id.get<int64_t>();
    if (number >= vocab_size()) return;
    Token& token = tokens_[static_cast<size_t>(number)];
    require(!token.known || token.text == text, "{}: the id {} has two tokens, '{}' and '{}'", origin_, number,
            token.text, text);
    token.text = text;
    token.known = true;
    token.control = token.control || control;
    ids_[text] = static_cast<int32_t>(number);
  }

  void read_model(const json& model) {
    require(model.is_object(), "{}: model is not an object", origin_);
    const std::string type = type_of(model);
    if (!type.empty() && type != "BPE") refuse(fmt::format("model.type is '{}'", type));
    for (const char* key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback"})
      require_absent(model, "model", key);
    ignores_merges_ = model.value("ignore_merges", json(false)) == true;
    const json& vocabulary = part(model, "vocab");
    require(vocabulary.is_object(), "{}: model.vocab is not an object", origin_);
    for (const auto& [text, id] : vocabulary.items()) add_token(text, id, false);
    read_merges(part(model, "merges"));
  }

  void read_merges(const json& merges) {
    require(merges.is_array(), "{}: model.merges is not a list", origin_);
    for (const json& merge : merges) {
      const auto [left, right] = pair_of(merge);
      const auto a = ids_.find(left), b = ids_.find(right), both = ids_.find(left + right);
      require(a != ids_.end() && b != ids_.end() && both != ids_.end(),
              "{}: model.merges: '{}' and '{}' or what they merge to is not in the vocabulary", origin_, left,
              right);
      merges_.add(a->second, b->second, both->second);
    }
  }

  /// Written as "a b" or as ["a", "b"].
  std::pair<std::string, std::string> pair_of(const json& merge) const {
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string())
      return {merge[0], merge[1]};
    const std::string text = merge.is_string() ? merge.get<std::string>() : "";
    const size_t space = text.find(' ');
    require(space != text.npos && text.find(' ', space + 1) == text.npos,
            "{}: model.merges: expected two tokens, found {}", origin_, merge.dump().substr(0, 60));
    return {text.substr(0, space), text.substr(space + 1)};
  }

  void read_added_tokens(const json& all) {
    if (!all.contains("added_tokens") || all["added_tokens"].is_null()) return;
    require(all["added_tokens"].is_array(), "{}: added_tokens is not a list", origin_);
    for (const json& token : all["added_tokens"]) {
      require(token.is_object() && token.contains("id") && token.contains("content") &&
                  token["content"].is_string(),
              "{}: added_tokens: expected objects with id and content", origin_);
      const std::string text = token["content"];
      if (token.value("special", json(false)) != true)
        refuse(fmt::format("the added token '{}' is not special", text));
      add_token(text, token["id"], true);
    }
  }

  void check_rest(const json& all) const {
    if (all.contains("normalizer") && !all["normalizer"].is_null())
      refuse(fmt::format("it has a normalizer ({})", type_of(all["normalizer"])));
    if (all.contains("decoder") && !all["decoder"].is_null() && type_of(all["decoder"]) != "ByteLevel")
      refuse(fmt::format("its decoder is '{}'", type_of(all["decoder"])));
  }

  void check_byte_level(const json& step, bool splits) const {
    require_absent(step, "pre_tokenizer", "add_prefix_space");
    const bool regex = step.value("use_regex", json(true)) == true;
    if (regex != splits) refuse("its pre_tokenizer splits text twice, or not at all");
  }

  /// A ByteLevel step that splits by GPT-2's pattern, or a Split by a pattern and a ByteLevel that does not.
  void read_pattern(const json& all) {
    const json& steps = part(all, "pre_tokenizer");
    std::string pattern(known_patterns[0]);
    if (type_of(steps) == "ByteLevel") {
      check_byte_level(steps, true);
    } else {
      const json list =
          type_of(steps) == "Sequence" && steps.contains("pretokenizers") ? steps["pretokenizers"] : json();
      if (!list.is_array() || list.size() != 2 || type_of(list[0]) != "Split" ||
          type_of(list[1]) != "ByteLevel")
        refuse(fmt::format("its pre_tokenizer is '{}'", type_of(steps)));
      check_byte_level(list[1], false);
      require_absent(list[0], "pre_tokenizer.Split", "invert");
      const json given = list[0].value("pattern", json());
      pattern = given.is_object() && given.contains("Regex") && given["Regex"].is_string()
                    ? given["Regex"].get<std::string>()
                    : "";
      if (const json behavior = list[0].value("behavior", json()); behavior != "Isolated")
        refuse(fmt::format("its pre_tokenizer.Split has the behavior {}, not \"Isolated\"", behavior.dump()));
      if (std::ranges::find(known_patterns, pattern) == std::end(known_patterns))
        refuse(fmt::format("its pre_tokenizer splits by the unknown pattern '{}'", pattern.substr(0, 200)));
    }
    UErrorCode status = U_ZERO_ERROR;
    pattern_.reset(icu::RegexPattern::compile(icu::UnicodeString::fromUTF8(for_icu(pattern)), 0, status));
    require(U_SUCCESS(status), "{}: its pattern can't be compiled: {}", origin_, u_errorName(status));
  }

  /// Finds what the tokens stand for, and the tokens of single bytes, which every text needs.
  void finish() {
    const auto bytes = byte_of_character();
    std::array<bool, 256> found{};
    for (size_t id = 0; id < tokens_.size(); ++id) {
      Token& token = tokens_[id];
      if (!token.known) token = {fmt::format("<unused {}>", id), "", true, true};
      if (token.control) continue;
      token.bytes = bytes_of(token.text, bytes);
      if (token.bytes.size() != 1) continue;
      const auto byte = static_cast<unsigned char>(token.bytes[0]);
      byte_tokens_[byte] = static_cast<int32_t>(id);
      found[byte] = true;
    }
    for (size_t byte = 0; byte < found.size(); ++byte)
      require(found[byte], "{}: the vocabulary has no token for the byte {}", origin_, byte);
    if (ignores_merges_)
      for (size_t id = 0; id < tokens_.size(); ++id)
        if (!tokens_[id].control) words_[tokens_[id].bytes] = static_cast<int32_t>(id);
    ids_.clear();
  }

  std::string bytes_of(const std::string& text, const std::unordered_map<std::string, char>& bytes) const {
    std::string result;
    for (size_t begin = 0; begin < text.size();) {
      size_t end = begin + 1;
      while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
      const auto byte = bytes.find(text.substr(begin, end - begin));
      require(byte != bytes.end(), "{}: the token '{}' has a character that stands for no byte", origin_, text);
      result += byte->second;
      begin = end;
    }
    require(!result.empty(), "{}: the vocabulary has an empty token", origin_);
    return result;
  }

  void append_word(const std::string& word, std::vector<int32_t>& ids) const {
    if (ignores_merges_)
      if (const auto found = words_.find(word); found != words_.end()) return ids.push_back(found->second);
    std::vector<int32_t> tokens;
    for (const char byte : word) tokens.push_back(byte_tokens_[static_cast<unsigned char>(byte)]);
    tokens = merges_.apply(std::move(tokens));
    ids.insert(ids.end(), tokens.begin(), tokens.end());
  }

  /// The words are the whole text, and a token stands for its bytes.
  std::vector<LocatedToken> locate_tokens(std::string_view text) const override {
    std::vector<LocatedToken> tokens;
    size_t end = 0;
    for (const int32_t id : encode(text)) {
      const size_t begin = end;
      end += at(id).bytes.size();
      tokens.push_back({id, begin, end});
    }
    return tokens;
  }

  std::string decode_tokens(std::span<const int32_t> ids) const override {
    std::string text;
    for (const int32_t id : ids) text += at(id).bytes;
    return text;
  }

  std::string serialized_, origin_;
  std::vector<Token> tokens_;
  std::array<int32_t, 256> byte_tokens_{};
  std::unordered_map<std::string, int32_t> ids_;    // while the file is read
  std::unordered_map<std::string, int32_t> words_;  // whole words, if the file says so
  Merges merges_;
  bool ignores_merges_ = false;
  std::unique_ptr<icu::RegexPattern> pattern_;
};

}  // namespace

std::string add_settings(std::string_view tokenizer_json, const TokenizerJsonSettings& s,
                         const std::string& origin) {
  const std::string file = fmt::format("{} {} {} {}\n{}", file_mark, s.bos, s.eos, s.size, tokenizer_json);
  load_tokenizer_json(file, origin);
  return file;
}

std::shared_ptr<const Tokenizer> load_hugging_face_tokenizer(std::string_view tokenizer_json,
                                                             const TokenizerJsonSettings& settings,
                                                             const std::string& origin) {
  return load_tokenizer_json(add_settings(tokenizer_json, settings, origin), origin);
}

bool has_settings(std::string_view file) { return file.starts_with(file_mark); }

std::string_view tokenizer_json_of(std::string_view file) {
  const size_t line = file.find('\n');
  return line == file.npos ? std::string_view() : file.substr(line + 1);
}

std::shared_ptr<const Tokenizer> load_tokenizer_json(std::string_view file, const std::string& origin) {
  return std::make_shared<BytePairTokenizer>(file, origin);
}

}  // namespace sixfold
