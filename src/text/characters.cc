#include "text/characters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "base/error.h"
#include "base/log.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

constexpr std::array<std::string_view, 3> special_tokens = {"<unk>", "<s>", "</s>"};
constexpr int32_t first_id = 3;

/// The number of bytes of the character that begins with this byte, in well-formed UTF-8.
size_t character_length(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/// Calls a function for each character of well-formed UTF-8.
template <class Function>
void for_each_character(std::string_view text, Function function) {
  while (!text.empty()) {
    const size_t length = std::min(character_length(text.front()), text.size());
    function(text.substr(0, length));
    text.remove_prefix(length);
  }
}

/// The text of a token as it is shown: a space as in SentencePiece, and an invisible character as a byte.
std::string visible(const std::string& unit) {
  if (unit == " ") return "\u2581";
  const auto byte = static_cast<unsigned char>(unit.front());
  const bool shown = unit.size() > 1 || (byte > 0x20 && byte < 0x7F);
  return shown ? unit : fmt::format("<0x{:02X}>", byte);
}

/// The common part of both tokenizers: the special tokens, which stand for no text.
class UnitTokenizer : public Tokenizer {
 public:
  explicit UnitTokenizer(std::string file) : file_(std::move(file)) { unk_ = 0, bos_ = 1, eos_ = 2; }

  std::string token_text(int32_t id) const override {
    require_known(id);
    return id < first_id ? std::string(special_tokens[static_cast<size_t>(id)]) : visible(unit(id));
  }
  const std::string& serialized() const override { return file_; }

 protected:
  void require_known(int32_t id) const {
    require(id >= 0 && id < vocab_size(), "id {} is outside the vocabulary, which has {} tokens", id,
            vocab_size());
  }

 private:
  /// The text of an id from `first_id` on.
  virtual std::string unit(int32_t id) const = 0;

  std::string file_;
};

class CharacterTokenizer final : public UnitTokenizer {
 public:
  CharacterTokenizer(std::string_view characters, const std::string& origin)
      : UnitTokenizer(std::string(characters)) {
    require(!characters.empty(), "{}: has no characters", origin);
    require(!first_invalid_utf8(characters), "{}: is not valid UTF-8", origin);
    for_each_character(characters, [&](std::string_view character) {
      require(ids_.emplace(character, first_id + static_cast<int32_t>(characters_.size())).second,
              "{}: has the character '{}' twice", origin, character);
      characters_.emplace_back(character);
    });
    find_line_end();
  }

  std::vector<int32_t> encode(std::string_view text) const override {
    std::vector<int32_t> ids;
    const auto add = [&](std::string_view character) { ids.push_back(id_of(character)); };
    if (first_invalid_utf8(text))
      for_each_character(replace_invalid_utf8(text), add);
    else
      for_each_character(text, add);
    return ids;
  }

  int vocab_size() const override { return first_id + static_cast<int>(characters_.size()); }
  TokenizerKind kind() const override { return TokenizerKind::characters; }

 private:
  /// An unknown character is shown as the replacement character.
  std::string decode_tokens(std::span<const int32_t> ids, const std::string* unknown) const override {
    std::string text;
    for (const int32_t id : ids) {
      require_known(id);
      if (id == unk_) text += unknown ? *unknown : "\uFFFD";
      if (id >= first_id) text += unit(id);
    }
    return text;
  }
  std::vector<LocatedToken> locate_tokens(std::string_view text) const override {
    std::vector<LocatedToken> tokens;
    size_t begin = 0;
    for_each_character(text, [&](std::string_view character) {
      tokens.push_back({id_of(character), begin, begin + character.size()});
      begin += character.size();
    });
    return tokens;
  }
  int32_t id_of(std::string_view character) const {
    const auto found = ids_.find(std::string(character));
    return found == ids_.end() ? unk_ : found->second;
  }
  std::string unit(int32_t id) const override { return characters_[static_cast<size_t>(id - first_id)]; }

  std::vector<std::string> characters_;
  std::unordered_map<std::string, int32_t> ids_;
};

class ByteTokenizer final : public UnitTokenizer {
 public:
  ByteTokenizer() : UnitTokenizer(std::string(byte_tokenizer_file)) { find_line_end(); }

  std::vector<int32_t> encode(std::string_view text) const override {
    std::vector<int32_t> ids;
    for (const char byte : text) ids.push_back(first_id + static_cast<unsigned char>(byte));
    return ids;
  }

  int vocab_size() const override { return first_id + 256; }
  TokenizerKind kind() const override { return TokenizerKind::bytes; }

 private:
  std::string decode_tokens(std::span<const int32_t> ids, const std::string* /*unknown*/) const override {
    std::string text;
    for (const int32_t id : ids) {
      require_known(id);
      if (id >= first_id) text += unit(id);
    }
    return text;
  }
  std::vector<LocatedToken> locate_tokens(std::string_view text) const override {
    std::vector<LocatedToken> tokens;
    for (const int32_t id : encode(text)) tokens.push_back({id, tokens.size(), tokens.size() + 1});
    return tokens;
  }
  std::string unit(int32_t id) const override { return {static_cast<char>(id - first_id)}; }
};

}  // namespace

std::shared_ptr<const Tokenizer> load_characters(std::string_view characters, const std::string& origin) {
  return std::make_shared<CharacterTokenizer>(characters, origin);
}

std::string collect_characters(const TokenizerOptions& options, const std::vector<TextReader>& texts) {
  std::map<std::string, int64_t, std::less<>> counts;
  for (const TextReader& text : texts)
    text([&](const std::string& line) {
      for_each_character(replace_invalid_utf8(line), [&](std::string_view character) {
        const auto known = counts.find(character);
        if (known != counts.end())
          ++known->second;
        else
          counts.emplace(character, 1);
      });
    });
  require(!counts.empty(),
          "data.train: there is no text to collect characters from; tokenizer.kind is characters");
  counts.erase("\n");
  std::vector<std::pair<int64_t, std::string>> ranked;
  for (const auto& [character, count] : counts)
    if (count >= options.minimum_count) ranked.emplace_back(-count, character);
  std::ranges::sort(ranked);
  constexpr size_t fixed_tokens = special_tokens.size() + 1;
  const auto max_vocabulary = static_cast<size_t>(options.vocab_size);
  if (max_vocabulary > 0 && ranked.size() > max_vocabulary - fixed_tokens) {
    log_warning(
        "the text has {} characters, but tokenizer.vocab_size {} keeps only {}; the others become <unk>",
        ranked.size() + 1, max_vocabulary, max_vocabulary - special_tokens.size());
    ranked.resize(max_vocabulary - fixed_tokens);
  }
  std::vector<std::string> kept{"\n"};
  for (const auto& [rank, character] : ranked) kept.push_back(character);
  std::ranges::sort(kept);  // the order of UTF-8 is that of code points
  std::string all;
  for (const std::string& character : kept) all += character;
  return all;
}

std::shared_ptr<const Tokenizer> load_bytes(std::string_view file, const std::string& origin) {
  require(file == byte_tokenizer_file, "{}: is not the file of a tokenizer of bytes", origin);
  return std::make_shared<ByteTokenizer>();
}

}  // namespace sixfold
