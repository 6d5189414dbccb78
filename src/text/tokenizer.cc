#include "text/tokenizer.h"

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"
#include "text/utf8.h"

namespace sixfold {

TextReader text_reader(std::span<const std::string> sentences) {
  return [sentences](const auto& use) {
    for (const std::string& sentence : sentences) use(sentence);
  };
}

std::vector<int32_t> Tokenizer::encode_with_special_tokens(std::string_view, std::span<const TextRange>) const {
  throw_input_error(
      "a tokenizer of the kind {} can't find special tokens in a text; only one of a tokenizer.json can",
      name_of_enum(kind()));
}

std::vector<LocatedToken> Tokenizer::locate(std::string_view text) const {
  require(!first_invalid_utf8(text), "a text whose tokens are to be located is not valid UTF-8");
  return locate_tokens(text);
}

std::string Tokenizer::decode(std::span<const int32_t> ids) const {
  return one_line(decode_tokens(ids, nullptr));
}

std::string Tokenizer::decode(std::span<const int32_t> ids, const std::string& unknown) const {
  return one_line(decode_tokens(ids, &unknown));
}

std::vector<int32_t> Tokenizer::encode_text(std::string_view text) const {
  std::vector<int32_t> ids;
  while (true) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::vector<int32_t> line = encode(text.substr(0, end));
    ids.insert(ids.end(), line.begin(), line.end());
    if (end == text.size()) return ids;
    require(
        line_end_.has_value(),
        "the text has several lines, but the vocabulary has no token for the end of a line; use a tokenizer of "
        "characters or bytes, or one of sentencepiece with byte_fallback");
    ids.push_back(*line_end_);
    text.remove_prefix(end + 1);
  }
}

std::string Tokenizer::decode_text(std::span<const int32_t> ids) const {
  if (!line_end_) return decode_tokens(ids, nullptr);
  std::string text;
  while (true) {
    const auto end = std::ranges::find(ids, *line_end_);
    const auto line = static_cast<size_t>(end - ids.begin());
    text += decode_tokens(ids.first(line), nullptr);
    if (line == ids.size()) return text;
    text += '\n';
    ids = ids.subspan(line + 1);
  }
}

void Tokenizer::find_line_end() {
  for (int32_t id = 0; id < vocab_size(); ++id)
    if (token_text(id) == "<0x0A>") line_end_ = id;
}

std::vector<std::string> Tokenizer::language_tokens() const {
  std::vector<std::string> tokens;
  for (int32_t id = 0; id < vocab_size(); ++id)
    if (is_language_token(id)) tokens.push_back(token_text(id));
  return tokens;
}

bool Tokenizer::is_language_token(int32_t id) const {
  const std::string token = token_text(id);
  return token.size() > 4 && token.starts_with(">>") && token.ends_with("<<");
}

int64_t Tokenizer::count_unknown(std::span<const int32_t> ids) const {
  return unk_ == eos_ ? 0 : std::ranges::count(ids, unk_);
}

std::string Tokenizer::hash() const { return hash_hex(serialized()); }

}  // namespace sixfold
