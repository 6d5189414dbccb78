#include "text/json/prefix_tree.h"
#include "text/json/subword_models.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

/// WordPiece (Schuster and Nakajima 2012) as in BERT: the longest token at each position, from left to right.
/// Tokens within a word begin with a prefix.
class WordPieceModel : public SubwordModel {
 public:
  WordPieceModel(const JsonStage& json, const SubwordSettings& settings)
      : max_characters_(json.has("max_input_chars_per_word")
                            ? json.number("max_input_chars_per_word", 0, INT32_MAX)
                            : 100) {
    if (settings.byte_level) json.refuse("WordPiece of bytes is not supported");
    const std::string unknown = json.text_or("unk_token", "[UNK]");
    const std::string prefix = json.text_or("continuing_subword_prefix", "##");
    const std::vector<VocabularyEntry> entries = read_vocabulary_entries(json);
    std::vector<std::pair<std::string_view, int32_t>> strings;
    for (const VocabularyEntry& entry : entries) {
      if (entry.text == unknown) unk_ = entry.id;
      if (entry.id < settings.size && !settings.control[static_cast<size_t>(entry.id)])
        strings.emplace_back(entry.text, entry.id);
    }
    if (unk_ < 0 || unk_ >= settings.size)
      json.refuse(fmt::format("'vocab' lacks the unknown token '{}'", unknown));
    tree_ = PrefixTree(std::move(strings));
    within_ = tree_.find(prefix);
  }

  /// Takes O(n) time for words of bounded length, and O(n m) for tokens of at most m bytes.
  void encode(std::string_view word, std::vector<LocatedToken>& tokens) const override {
    const size_t before = tokens.size();
    bool known = count_characters(word) <= max_characters_;
    for (size_t begin = 0; known && begin < word.size();) {
      const LocatedToken longest = longest_token(word, begin);
      known = longest.end > begin;
      tokens.push_back(longest);
      begin = longest.end;
    }
    if (known) return;
    tokens.resize(before);
    tokens.push_back({unk_, 0, word.size()});
  }
  int32_t unk() const override { return unk_; }

 private:
  /// The longest token at `begin`; its range is empty if there is none.
  LocatedToken longest_token(std::string_view word, size_t begin) const {
    LocatedToken longest{unk_, begin, begin};
    int32_t node = begin == 0 ? PrefixTree::root : within_;
    for (size_t end = begin; end < word.size() && node != PrefixTree::none;) {
      node = tree_.next(node, static_cast<unsigned char>(word[end++]));
      if (node != PrefixTree::none && tree_.number(node) != PrefixTree::none)
        longest = {tree_.number(node), begin, end};
    }
    return longest;
  }

  int64_t max_characters_;
  int32_t unk_ = -1;
  PrefixTree tree_;
  int32_t within_ = PrefixTree::none;  // the node of the prefix
};

}  // namespace

std::unique_ptr<const SubwordModel> make_word_piece_model(const JsonStage& json,
                                                          const SubwordSettings& settings) {
  return std::make_unique<const WordPieceModel>(json, settings);
}

}  // namespace sixfold
