#include "tasks/translation/placeholder.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "base/random.h"
#include "tasks/translation/alignment_layer.h"
#include "text/words.h"

namespace sixfold {
namespace {

constexpr size_t trial_lines = 6, words_per_trial_line = 5, min_lines_with_copy = 3, min_trial_words = 20,
                 max_candidates = 128, max_second_trial = 32;

/// The first words that both vocabularies have as a single token and that look like a name or a number.
std::vector<std::string> words_in_both(const Tokenizer& source, const Tokenizer& target) {
  std::vector<std::string> words;
  for (int32_t id = 0; id < source.vocab_size() && words.size() < max_candidates; ++id) {
    if (source.is_language_token(id)) continue;
    const std::string text = source.decode({&id, 1});
    const auto is_plain = [](char c) { return is_ascii_letter(c) || is_ascii_digit(c); };
    if (text.size() < 2 || !std::ranges::all_of(text, is_plain) || ascii_lower(text[0]) == text[0]) continue;
    const std::vector<int32_t> target_ids = target.encode(text);
    if (source.encode(text) == std::vector{id} && target_ids.size() == 1 && target_ids[0] != target.unk())
      words.push_back(text);
  }
  return words;
}

/// Translates lines of random words with candidate words inserted.
class PlaceholderTrial {
 public:
  using Translate = std::function<std::vector<std::string>(const std::vector<std::string>& lines)>;

  PlaceholderTrial(const Tokenizer& source, const std::vector<int32_t>& words, const Translate& translate)
      : translate_(translate) {
    RandomStream random(1, 0);
    for (auto& line : lines_)
      for (size_t i = 0; i < words_per_trial_line; ++i) {
        const int32_t id = words[random.below(static_cast<uint32_t>(words.size()))];
        line.push_back(source.decode({&id, 1}));
      }
  }

  /// The words that the model copies, sorted by how many lines it copies them in, most first. A word must occur
  /// exactly once in the translations of at least `min_lines` of the first `count` lines with it. It must
  /// not occur in the translation of a line without it: the model would write it whatever the source.
  std::vector<std::string> copied(const std::vector<std::string>& words, size_t count, size_t min_lines) const {
    std::vector<std::string> sources;
    for (const std::string& word : words)
      for (size_t i = 0; i < count; ++i) sources.push_back(line_with(word, i));
    const std::vector<std::string> targets = translate_(sources);
    std::vector<std::pair<size_t, std::string>> found;
    for (size_t i = 0; i < words.size(); ++i) {
      size_t times = 0, elsewhere = 0;
      for (size_t line = 0; line < targets.size(); ++line) {
        const bool is_own_line = line / count == i;
        times += is_own_line && places_of_word(targets[line], words[i]).size() == 1 ? 1 : 0;
        elsewhere += !is_own_line && targets[line].find(words[i]) != std::string::npos ? 1 : 0;
      }
      if (times >= min_lines && elsewhere == 0) found.emplace_back(times, words[i]);
    }
    std::ranges::stable_sort(found, std::ranges::greater(), &std::pair<size_t, std::string>::first);
    std::vector<std::string> best;
    for (auto& [times, word] : found) best.push_back(std::move(word));
    return best;
  }

 private:
  std::string line_with(const std::string& word, size_t number) const {
    std::string line;
    for (size_t i = 0; i <= words_per_trial_line; ++i) {
      if (i == number) line += word + ' ';
      if (i < words_per_trial_line) line += lines_[number][i] + ' ';
    }
    line.pop_back();
    return line;
  }

  const Translate& translate_;
  std::vector<std::string> lines_[trial_lines];
};

}  // namespace

std::string find_placeholder(const Tokenizer& source, const Tokenizer& target,
                             const PlaceholderTrial::Translate& translate) {
  const std::vector<int32_t> words = whole_words(source);
  if (words.size() < min_trial_words) return {};
  const PlaceholderTrial trial(source, words, translate);
  std::vector<std::string> best =
      trial.copied({"XX", "XYZ", "ABC", "X1", "Q7", "Z5"}, trial_lines, min_lines_with_copy);
  if (best.empty()) {
    std::vector<std::string> candidates = trial.copied(words_in_both(source, target), 1, 1);
    candidates.resize(std::min(candidates.size(), max_second_trial));
    best = trial.copied(candidates, trial_lines, min_lines_with_copy);
  }
  return best.empty() ? "" : best.front();
}

}  // namespace sixfold
