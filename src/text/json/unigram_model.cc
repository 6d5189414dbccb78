#include <algorithm>
#include <array>
#include <limits>

#include "text/json/prefix_tree.h"
#include "text/json/subword_models.h"
#include "text/json/unicode_rules.h"

namespace sixfold {
namespace {

/// The tokens "<0x00>" to "<0xFF>".
std::string byte_token(int byte) { return fmt::format("<0x{:02X}>", byte); }

/// The unigram language model (Kudo 2018). It chooses the segmentation with the largest sum of scores.
class UnigramModel : public SubwordModel {
 public:
  UnigramModel(const JsonStage& json, const SubwordSettings& settings) {
    if (settings.byte_level) json.refuse("Unigram of bytes is not supported");
    const std::vector<VocabularyEntry> entries = read_vocabulary_entries(json);
    if (json.has("unk_id"))
      unk_ = static_cast<int32_t>(
          json.number("unk_id", 0, std::min<int64_t>(settings.size, std::ssize(entries)) - 1));
    std::vector<std::pair<std::string_view, int32_t>> strings;
    double min_score = std::numeric_limits<double>::infinity();
    for (const VocabularyEntry& entry : entries) {
      scores_.push_back(json.at("vocab")[static_cast<size_t>(entry.id)][1].get<double>());
      min_score = std::min(min_score, scores_.back());
      if (entry.text.size() > max_token_bytes)
        json.refuse(fmt::format("the token {} has {} bytes; it may have {}", entry.id, entry.text.size(),
                                max_token_bytes));
      if (entry.id < settings.size && !entry.text.empty() && !settings.control[static_cast<size_t>(entry.id)])
        strings.emplace_back(entry.text, entry.id);
    }
    unk_score_ = min_score - 10;
    tree_ = PrefixTree(std::move(strings));
    if (json.flag("byte_fallback", false)) read_bytes();
    if (unk_ < 0) json.refuse("'unk_id' is missing; text that is not in the vocabulary would be an error");
  }

  /// Takes O(n m) time for tokens of at most m bytes.
  void encode(std::string_view word, std::vector<LocatedToken>& tokens) const override {
    std::vector<Best> best(word.size() + 1);
    for (size_t begin = 0, next = 0; begin < word.size(); begin = next) {
      next_character(word, next);
      extend(word, begin, next, best);
    }
    const size_t first = tokens.size();
    for (size_t end = word.size(); end > 0; end = best[end].begin) {
      // Unknown characters beside each other are one token.
      if (best[end].id == unk_ && tokens.size() > first && tokens.back().id == unk_)
        tokens.back().begin = best[end].begin;
      else
        tokens.push_back({best[end].id, best[end].begin, end});
    }
    std::reverse(tokens.begin() + static_cast<std::ptrdiff_t>(first), tokens.end());
    if (has_bytes_) replace_unknown(word, first, tokens);
  }
  int32_t unk() const override { return unk_; }

 private:
  static constexpr size_t max_token_bytes = 4096;
  /// The best segmentation of the text before a position: its score and its last token.
  struct Best {
    double score = 0;
    size_t begin = none;
    int32_t id = -1;
  };
  static constexpr size_t none = static_cast<size_t>(-1);

  static void offer(Best& best, double score, size_t begin, int32_t id) {
    if (best.begin == none || score > best.score) best = {score, begin, id};
  }

  /// Extends the best segmentation that ends at `begin` by all tokens that begin there. A character without a
  /// token is unknown.
  void extend(std::string_view word, size_t begin, size_t next, std::vector<Best>& best) const {
    const double score = best[begin].score;
    bool has_character = false;
    int32_t node = PrefixTree::root;
    for (size_t end = begin; end < word.size();) {
      node = tree_.next(node, static_cast<unsigned char>(word[end++]));
      if (node == PrefixTree::none) break;
      const int32_t id = tree_.number(node);
      if (id == PrefixTree::none) continue;
      offer(best[end], scores_[static_cast<size_t>(id)] + score, begin, id);
      has_character = has_character || end == next;
    }
    if (!has_character) offer(best[next], unk_score_ + score, begin, unk_);
  }

  void read_bytes() {
    has_bytes_ = true;
    for (int byte = 0; byte < 256; ++byte) {
      const int32_t node = tree_.find(byte_token(byte));
      bytes_[static_cast<size_t>(byte)] = node == PrefixTree::none ? -1 : tree_.number(node);
    }
  }

  /// Replaces unknown text by byte tokens if there are tokens for all of its bytes.
  void replace_unknown(std::string_view word, size_t first, std::vector<LocatedToken>& tokens) const {
    const std::vector<LocatedToken> before(tokens.begin() + static_cast<std::ptrdiff_t>(first), tokens.end());
    tokens.resize(first);
    for (const LocatedToken& token : before) {
      const std::string_view text = word.substr(token.begin, token.end - token.begin);
      const auto id = [&](char byte) { return bytes_[static_cast<unsigned char>(byte)]; };
      if (token.id != unk_ || !std::ranges::all_of(text, [&](char byte) { return id(byte) >= 0; })) {
        tokens.push_back(token);
        continue;
      }
      for (size_t at = token.begin, end = at; at < token.end;
           at = end) {  // the bytes of a character have all of it
        next_character(word, end);
        for (size_t i = at; i < end; ++i) tokens.push_back({id(word[i]), at, end});
      }
    }
  }

  PrefixTree tree_;
  std::vector<double> scores_;
  double unk_score_ = 0;
  int32_t unk_ = -1;
  bool has_bytes_ = false;
  std::array<int32_t, 256> bytes_{};
};

}  // namespace

std::unique_ptr<const SubwordModel> make_unigram_model(const JsonStage& json, const SubwordSettings& settings) {
  return std::make_unique<const UnigramModel>(json, settings);
}

}  // namespace sixfold
