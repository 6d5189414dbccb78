#include "families/marian_shortlist.h"

#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>
#include <unordered_map>

#include "base/error.h"
#include "base/file.h"
#include "formats/byte_reader.h"

// The formats and their meaning are defined in src/data/shortlist.cpp of Marian 1.12.

namespace sixfold {
namespace {

constexpr uint64_t shortlist_magic = 0xF11A48D5013417F5;
// The number of tokens is a multiple of this, as the integer matrix products of Marian need.
constexpr int count_multiple = 8;

/// The translations of each source token, and the numbers of the option: of frequent target tokens and of
/// translations of a token, and the threshold of probabilities.
struct MarianLexicon {
  int64_t frequent = 100, translations = 100;
  float threshold = 0;
  std::vector<std::vector<int32_t>> by_source = {};
};

/// The checksum of a binary shortlist. It covers the complete 64-bit words that follow it.
uint64_t checksum_of(std::span<const std::byte> bytes) {
  uint64_t hash = 0;
  for (size_t at = 0; at + sizeof(uint64_t) <= bytes.size(); at += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    hash ^= word + 0x9e3779b9 + (hash << 6) + (hash >> 2);
  }
  return hash;
}

MarianLexicon read_binary(const std::string& path, const Tokenizers& tokenizers) {
  const MappedFile file(path);
  ByteReader reader(file.bytes(), path);
  reader.number<uint64_t>("the beginning");
  const auto checksum = reader.number<uint64_t>("the checksum");
  const uint64_t computed = checksum_of(file.bytes().subspan(reader.place()));
  require(checksum == computed, "{}: is damaged: its checksum is {:#x}, but that of its contents {:#x}", path,
          checksum, computed);
  const auto frequent = reader.number<uint64_t>("the number of frequent tokens"),
             translations = reader.number<uint64_t>("the number of translations"),
             ends = reader.number<uint64_t>("the number of source tokens"),
             entries = reader.number<uint64_t>("the number of entries");
  const auto sources = static_cast<uint64_t>(tokenizers.source->vocab_size());
  require(
      ends >= 1 && ends <= sources + 1,
      "{}: has translations of {} source tokens, but the vocabulary has {}; give the shortlist of this model",
      path, ends - 1, sources);
  std::vector<uint64_t> offsets;
  for (uint64_t i = 0; i < ends; ++i) offsets.push_back(reader.number<uint64_t>("the place of a list"));
  require(std::ranges::is_sorted(offsets) && offsets.front() == 0 && offsets.back() == entries &&
              entries == reader.left() / sizeof(uint32_t),
          "{}: is damaged: its lists do not end with its {} entries", path, entries);
  MarianLexicon lexicon{.frequent = static_cast<int64_t>(std::min<uint64_t>(frequent, 1 << 30)),
                        .translations = static_cast<int64_t>(std::min<uint64_t>(translations, 1 << 30))};
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    auto& targets = lexicon.by_source.emplace_back();
    for (uint64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      const auto id = reader.number<uint32_t>("an entry");
      require(id < static_cast<uint64_t>(tokenizers.target->vocab_size()),
              "{}: source token {} has the target token {}, but the vocabulary has {}", path, i, id,
              tokenizers.target->vocab_size());
      targets.push_back(static_cast<int32_t>(id));
    }
  }
  return lexicon;
}

/// The ids of the tokens of a vocabulary. All other tokens have the id of the unknown token.
class TokenIds {
 public:
  explicit TokenIds(const Tokenizer& tokenizer) : unk_(tokenizer.unk()) {
    for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) ids_.emplace(tokenizer.token_text(id), id);
  }
  int32_t of(std::string_view token) const {
    const auto found = ids_.find(std::string(token));
    return found == ids_.end() ? unk_ : found->second;
  }

 private:
  int32_t unk_;
  std::unordered_map<std::string, int32_t> ids_;
};

/// Removes the next word from the beginning of a line and returns it.
std::string_view take_word(std::string_view& line) {
  constexpr std::string_view spaces = " \t\r\n";
  line.remove_prefix(std::min(line.find_first_not_of(spaces), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(spaces));
  line.remove_prefix(word.size());
  return word;
}

/// The most probable translations of a token. Among equally probable ones, those with higher ids are preferred.
std::vector<int32_t> likeliest(const std::unordered_map<int32_t, float>& probabilities, int64_t count,
                               float threshold) {
  std::vector<std::pair<float, int32_t>> ranked;
  for (const auto& [id, probability] : probabilities)
    if (probability > threshold) ranked.emplace_back(probability, id);
  std::ranges::sort(ranked, std::greater());
  std::vector<int32_t> ids;
  for (const auto& [probability, id] : ranked)
    if (std::ssize(ids) < count) ids.push_back(id);
  std::ranges::sort(ids);
  return ids;
}

void read_text_lexicon(const std::string& path, const Tokenizers& tokenizers, MarianLexicon& lexicon) {
  constexpr int max_line_bytes = 1 << 16;
  const TokenIds sources(*tokenizers.source), targets(*tokenizers.target);
  std::vector<std::unordered_map<int32_t, float>> probabilities(
      static_cast<size_t>(tokenizers.source->vocab_size()));
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(::gzopen(path.c_str(), "rb"), ::gzclose);
  require(file != nullptr, "{}: can't be opened", path);
  std::string buffer(max_line_bytes, '\0');
  for (int64_t number = 1; ::gzgets(file.get(), buffer.data(), max_line_bytes); ++number) {
    std::string_view line(buffer.data());
    const std::string_view target = take_word(line), source = take_word(line), text = take_word(line);
    if (target.empty()) continue;
    float probability = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), probability);
    require(error == std::errc() && end == text.data() + text.size() && std::isfinite(probability) &&
                take_word(line).empty(),
            "{}:{}: expected a target token, a source token and a probability", path, number);
    if (target == "NULL" || source == "NULL") continue;
    probabilities[static_cast<size_t>(sources.of(source))][targets.of(target)] = probability;
  }
  require(std::ranges::any_of(probabilities, [](const auto& of_source) { return !of_source.empty(); }),
          "{}: has no translation of any token", path);
  int failure = Z_OK;
  ::gzerror(file.get(), &failure);
  require(failure == Z_OK || failure == Z_STREAM_END, "{}: can't be read to its end; it is damaged", path);
  for (const auto& of_source : probabilities)
    lexicon.by_source.push_back(likeliest(of_source, lexicon.translations, lexicon.threshold));
}

/// A number of Marian's option.
template <class Number>
void read_number(const std::vector<std::string>& option, size_t place, Number& number) {
  if (place >= option.size()) return;
  const std::string& text = option[place];
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  require(
      error == std::errc() && end == text.data() + text.size() && number >= 0 && number < (1 << 30),
      "shortlist {}: '{}' is not a number; after the file of a text come the number of frequent tokens, that "
      "of translations and a probability",
      option[0], text);
}

bool is_binary_shortlist(const std::string& path) {
  const MappedFile file(path);
  uint64_t magic = 0;
  if (file.size() >= sizeof magic) std::memcpy(&magic, file.data(), sizeof magic);
  return magic == shortlist_magic;
}

}  // namespace

Shortlist read_marian_shortlist(const std::vector<std::string>& option, const Tokenizers& tokenizers) {
  require(!option.empty() && option.size() <= 4,
          "shortlist: expected a file, and for a text perhaps three numbers; there are {} values",
          option.size());
  const std::string& path = option[0];
  MarianLexicon lexicon;
  if (is_binary_shortlist(path)) {
    lexicon = read_binary(path, tokenizers);
  } else {
    read_number(option, 1, lexicon.frequent);
    read_number(option, 2, lexicon.translations);
    read_number(option, 3, lexicon.threshold);
    read_text_lexicon(path, tokenizers, lexicon);
  }
  const int32_t tokens = tokenizers.target->vocab_size(),
                frequent = static_cast<int32_t>(std::min<int64_t>(lexicon.frequent, tokens));
  std::vector<int32_t> common(static_cast<size_t>(frequent));
  for (int32_t id = 0; id < frequent; ++id) common[static_cast<size_t>(id)] = id;
  lexicon.by_source.resize(static_cast<size_t>(tokenizers.source->vocab_size()));
  if (tokenizers.joint)
    for (size_t id = 0; id < lexicon.by_source.size(); ++id)
      lexicon.by_source[id].push_back(static_cast<int32_t>(id));
  return {std::move(common), std::move(lexicon.by_source), {frequent, count_multiple, tokens}};
}

}  // namespace sixfold
