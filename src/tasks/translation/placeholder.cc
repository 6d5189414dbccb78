#include "tasks/translation/placeholder.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "base/random.h"
#include "tasks/translation/alignment_layer.h"
#include "text/words.h"

namespace sixfold {
namespace {

constexpr size_t lines = 6, words_of_line = 5, enough = 3, fewest_words = 20, most_candidates = 128,
                 most_tried_again = 32;

/// The first words that both vocabularies have as a single token and that look like a name or a number.
std::vector<std::string> words_of_both(const Tokenizer& source, const Tokenizer& target) {
  std::vector<std::string> words;
  for (int32_t id = 0; id < source.vocab_size() && words.size() < most_candidates; ++id) {
    if (source.is_language_token(id)) continue;
    const std::string text = source.decode({&id, 1});
    const auto is_plain = [](char c) { return is_ascii_letter(c) || is_ascii_digit(c); };
    if (text.size() < 2 || !std::ranges::all_of(text, is_plain) || ascii_lower(text[0]) == text[0]) continue;
    const std::vector<int32_t> there = target.encode(text);
    if (source.encode(text) == std::vector{id} && there.size() == 1 && there[0] != target.unk())
      words.push_back(text);
  }
  return words;
}

/// Tries words in lines of random words.
class Trial {
 public:
  using Translate = std::function<std::vector<std::string>(const std::vector<std::string>& lines)>;

  Trial(const Tokenizer& source, const std::vector<int32_t>& words, const Translate& translate)
      : translate_(translate) {
    RandomStream random(1, 0);
    for (auto& line : lines_)
      for (size_t i = 0; i < words_of_line; ++i) {
        const int32_t id = words[random.below(static_cast<uint32_t>(words.size()))];
        line.push_back(source.decode({&id, 1}));
      }
  }

  /// The words that the translations of at least `least` of the first `count` lines have once, those of most
  /// lines first. A word that comes in the translation of another's line is none of them: it is not repeated,
  /// but written again and again.
  std::vector<std::string> repeated(const std::vector<std::string>& words, size_t count, size_t least) const {
    std::vector<std::string> sources;
    for (const std::string& word : words)
      for (size_t i = 0; i < count; ++i) sources.push_back(line_with(word, i));
    const std::vector<std::string> targets = translate_(sources);
    std::vector<std::pair<size_t, std::string>> found;
    for (size_t i = 0; i < words.size(); ++i) {
      size_t times = 0, elsewhere = 0;
      for (size_t line = 0; line < targets.size(); ++line) {
        const bool own = line / count == i;
        times += own && places_of_word(targets[line], words[i]).size() == 1 ? 1 : 0;
        elsewhere += !own && targets[line].find(words[i]) != std::string::npos ? 1 : 0;
      }
      if (times >= least && elsewhere == 0) found.emplace_back(times, words[i]);
    }
    std::ranges::stable_sort(found, std::ranges::greater(), &std::pair<size_t, std::string>::first);
    std::vector<std::string> best;
    for (auto& [times, word] : found) best.push_back(std::move(word));
    return best;
  }

 private:
  std::string line_with(const std::string& word, size_t number) const {
    std::string line;
    for (size_t i = 0; i <= words_of_line; ++i) {
      if (i == number) line += word + ' ';
      if (i < words_of_line) line += lines_[number][i] + ' ';
    }
    line.pop_back();
    return line;
  }

  const Translate& translate_;
  std::vector<std::string> lines_[lines];
};

}  // namespace

std::string find_placeholder(const Tokenizer& source, const Tokenizer& target,
                             const Trial::Translate& translate) {
  const std::vector<int32_t> words = whole_words(source);
  if (words.size() < fewest_words) return {};
  const Trial trial(source, words, translate);
  std::vector<std::string> best = trial.repeated({"XX", "XYZ", "ABC", "X1", "Q7", "Z5"}, lines, enough);
  if (best.empty()) {
    std::vector<std::string> candidates = trial.repeated(words_of_both(source, target), 1, 1);
    candidates.resize(std::min(candidates.size(), most_tried_again));
    best = trial.repeated(candidates, lines, enough);
  }
  return best.empty() ? "" : best.front();
}

}  // namespace sixfold
