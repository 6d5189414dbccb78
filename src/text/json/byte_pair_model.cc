#include <array>
#include <atomic>
#include <unordered_map>

#include "base/log.h"
#include "text/json/subword_models.h"
#include "text/json/unicode_rules.h"
#include "text/merges.h"

namespace sixfold {
namespace {

/// Byte-pair encoding (Sennrich et al. 2016), of characters, of bytes (Radford et al. 2019), or of characters
/// where those that are unknown become bytes.
class BytePairModel : public SubwordModel {
 public:
  BytePairModel(const JsonStage& json, const SubwordSettings& settings)
      : byte_level_(settings.byte_level),
        ignores_merges_(json.flag("ignore_merges", false)),
        fuses_unknown_(json.flag("fuse_unk", false)),
        byte_fallback_(json.flag("byte_fallback", false)),
        reached_states_(static_cast<size_t>(settings.size)) {
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (!json.text_or(key, "").empty()) json.refuse(fmt::format("'{}' is not supported", key));
    if (json.has("dropout") && json.at("dropout") != 0.0) json.refuse("'dropout' is not supported");
    std::unordered_map<std::string, int32_t> ids;  // of all tokens, as the file has them
    for (VocabularyEntry& entry : read_vocabulary_entries(json)) add(entry, settings, ids);
    if (!json.text_or("unk_token", "").empty()) {
      const auto found = ids.find(json.text("unk_token"));
      if (found == ids.end() || found->second >= settings.size)
        json.refuse(fmt::format("'vocab' lacks the unknown token '{}'", json.text("unk_token")));
      unk_ = found->second;
    }
    read_merges(json, ids);
    find_bytes(json);
  }

  void encode(std::string_view word, std::vector<LocatedToken>& tokens) const override {
    const auto found = words_.find(word);
    if (found != words_.end() && is_reached(found->first, found->second))
      return tokens.push_back({found->second, 0, word.size()});
    segment(word, tokens);
  }
  int32_t unk() const override { return unk_; }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  void add(VocabularyEntry& entry, const SubwordSettings& settings,
           std::unordered_map<std::string, int32_t>& ids) {
    ids[entry.text] = entry.id;
    if (entry.id >= settings.size || settings.control[static_cast<size_t>(entry.id)]) return;
    if (!byte_level_) {
      words_.insert_or_assign(entry.text, entry.id);
    } else if (const auto bytes = bytes_of_characters(entry.text)) {  // texts can't contain others
      words_.insert_or_assign(*bytes, entry.id);
    }
  }

  void read_merges(const JsonStage& json, const std::unordered_map<std::string, int32_t>& ids) {
    if (!json.at("merges").is_array()) json.refuse("'merges' is not a list");
    for (const nlohmann::json& merge : json.at("merges")) {
      const auto [left, right] = pair_of(json, merge);
      const auto a = ids.find(left), b = ids.find(right), both = ids.find(left + right);
      if (a == ids.end() || b == ids.end() || both == ids.end())
        json.refuse(
            fmt::format("'merges': '{}' and '{}' or what they merge to is not in the vocabulary", left, right));
      if (std::max({a->second, b->second, both->second}) < std::ssize(reached_states_))
        merges_.add(a->second, b->second, both->second);
    }
  }

  /// Written as "a b" or as ["a", "b"].
  static std::pair<std::string, std::string> pair_of(const JsonStage& json, const nlohmann::json& merge) {
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string())
      return {merge[0].get<std::string>(), merge[1].get<std::string>()};
    const std::string text = merge.is_string() ? merge.get<std::string>() : "";
    const size_t space = text.find(' ');
    if (space == text.npos || text.find(' ', space + 1) != text.npos)
      json.refuse("'merges' has an entry that is not two tokens");
    return {text.substr(0, space), text.substr(space + 1)};
  }

  /// Finds the tokens of single bytes.
  void find_bytes(const JsonStage& json) {
    int missing = 0, first = -1;
    for (int byte = 255; byte >= 0; --byte) {
      const auto found =
          words_.find(byte_level_ ? std::string(1, static_cast<char>(byte)) : fmt::format("<0x{:02X}>", byte));
      bytes_[static_cast<size_t>(byte)] = found == words_.end() ? -1 : found->second;
      if (found == words_.end()) ++missing, first = byte;
    }
    if (byte_level_ && unk_ < 0 && missing > 0)
      log_warning("{}: the vocabulary has no token for {} of 256 bytes, such as {}; they are left out of texts",
                  json.where(), missing, first);
  }

  /// Whether merging the characters of a token's text gives this token. The result of the first call is kept.
  bool is_reached(std::string_view word, int32_t id) const {
    if (ignores_merges_) return true;
    std::atomic<uint8_t>& state = reached_states_[static_cast<size_t>(id)];
    if (const uint8_t known = state.load(std::memory_order_relaxed)) return known == 1;
    std::vector<LocatedToken> tokens;
    segment(word, tokens);
    const bool reached = tokens.size() == 1 && tokens[0].id == id;
    state.store(reached ? 1 : 2, std::memory_order_relaxed);
    return reached;
  }

  void segment(std::string_view word, std::vector<LocatedToken>& tokens) const {
    const size_t first = tokens.size();
    LocatedToken unknown{-1, 0, 0};
    for (size_t begin = 0, end = 0; begin < word.size(); begin = end) {
      if (byte_level_)
        ++end;
      else
        next_character(word, end);
      const std::string_view character = word.substr(begin, end - begin);
      const int32_t id = id_of(character);
      if (id < 0 && byte_fallback_ && !byte_level_ && has_bytes(character)) {
        for (const char byte : character)
          tokens.push_back({bytes_[static_cast<unsigned char>(byte)], begin, end});
        continue;
      }
      if (id < 0 && unk_ < 0) continue;
      if (unknown.id >= 0 && id < 0 && fuses_unknown_) {
        unknown.end = end;
        continue;
      }
      if (unknown.id >= 0) tokens.push_back(unknown);
      unknown = id < 0 ? LocatedToken{unk_, begin, end} : LocatedToken{-1, 0, 0};
      if (id >= 0) tokens.push_back({id, begin, end});
    }
    if (unknown.id >= 0) tokens.push_back(unknown);
    merges_.apply(tokens, first);
  }

  int32_t id_of(std::string_view character) const {
    if (byte_level_) return bytes_[static_cast<unsigned char>(character[0])];
    const auto found = words_.find(character);
    return found == words_.end() ? -1 : found->second;
  }
  bool has_bytes(std::string_view character) const {
    return std::ranges::all_of(character,
                               [this](char byte) { return bytes_[static_cast<unsigned char>(byte)] >= 0; });
  }

  bool byte_level_, ignores_merges_, fuses_unknown_, byte_fallback_;
  int32_t unk_ = -1;
  std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> words_;  // what tokens stand for
  Merges merges_;
  std::array<int32_t, 256> bytes_{};
  mutable std::vector<std::atomic<uint8_t>>
      reached_states_;  // of each token: 1 if `is_reached`, 2 if not, 0 if not yet computed
};

}  // namespace

std::unique_ptr<const SubwordModel> make_byte_pair_model(const JsonStage& json,
                                                         const SubwordSettings& settings) {
  return std::make_unique<const BytePairModel>(json, settings);
}

}  // namespace sixfold
