#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/hash.h"
#include "data/check/checks.h"
#include "data/check/surveyed_text.h"
#include "data/file_stamps.h"
#include "text/language.h"
#include "text/utf8.h"
#include "text/words.h"

namespace sixfold {
namespace {

/// A text with what is usual in it.
struct CheckedText {
  SurveyedText text;
  UsualPairs usual;
  bool is_training;
};
using Texts = std::vector<CheckedText>;  ///< training texts first

SurveyedText survey(TextSurvey& all, const std::string& key, bool is_training,
                    const std::vector<CorpusFiles>& files, InvalidUtf8 invalid) {
  require_regular_files(files);
  PairReader reader(files, invalid);
  SurveyedText text = all.read(
      key, is_training, [&](LinePair& pair) { return reader.next(pair.first, pair.second); },
      [&] { return reader.place(); });
  text.empty = reader.report().empty;
  return text;
}

/// The pairs of a text that are judged, about a quarter of them, or those that are learned from. A hash
/// decides, so that no order of the text matters.
bool is_judged(const LinePair& pair) {
  const std::string text = as_compared(pair.first);
  return hash_of(std::as_bytes(std::span(text)), 7) % 4 == 0;
}

/// Judges targets by how much likelier they are beside their own sources than beside others (`margins`). Parts
/// of a text are looked at one by one, since files that lose a line belong together up to there.
void find_shuffled(const SurveyedText& text, size_t learned, const std::vector<double>& all_margins,
                   const std::vector<const PlacedPair*>& all_pairs, std::vector<Finding>& findings) {
  constexpr size_t most_parts = 20, enough = 300, enough_learned = 1000;
  const size_t lines_of_part = learned >= enough_learned ? 50 : 100;  // what few pairs teach errs more often
  constexpr double least = 0.7,
                   least_of_all = 0.85;  // half is chance; texts that belong together have 0.87 and more
  std::vector<double> margins;
  std::vector<const PlacedPair*> pairs;  // of which something is known
  for (size_t i = 0; i < all_margins.size(); ++i)
    if (all_margins[i] != 0) margins.push_back(all_margins[i]), pairs.push_back(all_pairs[i]);
  const size_t parts = std::min(margins.size() / lines_of_part, most_parts);
  if (parts == 0) return;
  const auto begin_of = [&](size_t part) { return part * margins.size() / parts; };
  const auto share_between = [&](size_t begin, size_t end) {
    const std::span<const double> some = std::span(margins).subspan(begin, end - begin);
    return share_of(std::ranges::count_if(some, [](double margin) { return margin > 0; }), std::ssize(some));
  };
  std::vector<size_t> shuffled;
  for (size_t part = 0; part < parts; ++part)
    if (share_between(begin_of(part), begin_of(part + 1)) < least) shuffled.push_back(part);
  const double share = share_between(0, margins.size());
  const bool some_of_all = learned >= enough_learned && margins.size() >= enough && share < least_of_all;
  if (shuffled.empty() && !some_of_all) return;
  const size_t first = shuffled.empty() ? 0 : begin_of(shuffled[0]);
  std::vector<std::string> examples;
  for (size_t i = first; i < pairs.size() && examples.size() < most_examples; ++i)
    if (margins[i] < 0) examples.push_back(pairs[i]->example());
  std::string what;
  if (shuffled.empty())
    what = fmt::format("about {:.0f}% of the targets do not belong to their sources", 200 * (1 - share));
  else
    what = fmt::format(
        "the targets do not belong to their sources: in {} of {} parts of the text they fit them no "
        "better than those of other pairs",
        shuffled.size(), parts);
  const std::string where =
      shuffled.empty() || shuffled[0] == 0 ? "" : fmt::format(" from about {} on", pairs[first]->place);
  findings.push_back(
      {"targets-shuffled", shuffled.empty() ? Severity::warning : Severity::error,
       fmt::format("{}{}: {}. Nothing can be learned from such pairs, if they are to be translations. One of "
                   "the files may have been sorted, or has lost a line; make both again from what they "
                   "were made of",
                   text.key, where, what),
       std::move(examples)});
}

/// What words mean is learned from a training text, as many of its pairs as take a second or two.
struct Learned {
  std::vector<LinePair> pairs;
  std::vector<const PlacedPair*> judged;
  int64_t target_words = 0;  ///< distinct words of the targets
};

Learned pairs_to_learn(const SurveyedText& text) {
  constexpr int64_t most_learned = 8'000, most_products = 4'000'000;
  int64_t products = 0;
  for (const PlacedPair& pair : text.sample) {
    const auto words = [](const std::string& line) {
      return static_cast<int64_t>(std::min<size_t>(60, 1 + count_characters(line) / 4));
    };
    products += words(pair.lines.first) * words(pair.lines.second);
  }
  const int64_t step = std::max({int64_t{1}, (std::ssize(text.sample) + most_learned - 1) / most_learned,
                                 (products + most_products - 1) / most_products});
  Learned result;
  std::unordered_set<std::string> words;
  for (size_t i = 0; i < text.sample.size(); i += static_cast<size_t>(step)) {
    const LinePair& lines = text.sample[i].lines;
    if (as_compared(lines.first) == as_compared(lines.second)) continue;  // a copy is found as such
    if (is_judged(lines)) {
      result.judged.push_back(&text.sample[i]);
      continue;
    }
    result.pairs.push_back(lines);
    for (const TextRange& word : word_ranges(lines.second))
      if (std::string one = lines.second.substr(word.begin, word.end - word.begin); has_letter(one))
        words.insert(std::move(one));
  }
  result.target_words = std::ssize(words);
  return result;
}

bool same_languages(const PairLanguages& a, const PairLanguages& b) {
  return !differ_languages(a.source, b.source) && !differ_languages(a.target, b.target);
}

void find_shuffled(const Texts& texts, const std::atomic<int>* stop, std::vector<Finding>& findings) {
  constexpr size_t most_judged = 2'000;
  constexpr int64_t fewest_words = 100;  // fewer are classes or numbers, which say little of their sources
  std::vector<bool> is_done(texts.size());
  for (size_t t = 0; t < texts.size() && texts[t].is_training; ++t) {
    const Learned learned = pairs_to_learn(texts[t].text);
    if (std::ssize(learned.pairs) < fewest_checked || learned.target_words < fewest_words) continue;
    const WordTranslations translations(learned.pairs, stop);
    for (size_t other = t; other < texts.size(); ++other) {
      const SurveyedText& text = texts[other].text;
      const bool is_itself = other == t;
      if (is_done[other] || (!is_itself && texts[other].is_training)) continue;
      if (!is_itself && (text.is_swapped != texts[t].text.is_swapped ||
                         !same_languages(texts[t].usual.found(), texts[other].usual.found())))
        continue;
      is_done[other] = true;
      std::vector<const PlacedPair*> judged = learned.judged;
      if (!is_itself) {
        judged.clear();
        for (size_t i = 0; i < text.sample.size() && i < most_judged; ++i) judged.push_back(&text.sample[i]);
      }
      std::vector<LinePair> lines;
      for (const PlacedPair* pair : judged) lines.push_back(pair->lines);
      find_shuffled(text, learned.pairs.size(), translations.margins(lines), judged, findings);
    }
  }
}

/// What one side of a text is to a tokenizer.
struct Tokens {
  int64_t all = 0, unknown = 0;
  std::vector<std::string> examples;  ///< of lines with unknown tokens
};

void find_unknown(const SurveyedText& text, const Tokens& tokens, const char* side,
                  std::vector<Finding>& findings) {
  constexpr double tolerated = 0.01;
  const double share = share_of(tokens.unknown, tokens.all);
  if (share <= tolerated) return;
  findings.push_back(
      {"unknown-tokens", share > max_unknown_share ? Severity::error : Severity::warning,
       fmt::format("{}: {:.2g}% of the {} tokens are not in the vocabulary. The model can't read or write "
                   "them. Use a tokenizer that was made for this text",
                   text.key, 100 * share, side),
       tokens.examples});
}

void find_tokens(const SurveyedText& text, const Tokenizers& tokenizers, int max_length,
                 std::vector<Finding>& findings) {
  constexpr double tolerated = 0.01;
  if (std::ssize(text.sample) < fewest_checked / 2) return;
  Tokens sides[2];
  int64_t too_long = 0;
  std::vector<std::string> examples;
  for (const PlacedPair& pair : text.sample) {
    int64_t longer = 0;
    for (const bool target : {false, true}) {
      const Tokenizer& tokenizer = target ? *tokenizers.target : *tokenizers.source;
      const std::vector<int32_t> ids = tokenizer.encode(target ? pair.lines.second : pair.lines.first);
      const int64_t unknown = tokenizer.count_unknown(ids);
      Tokens& side = sides[target];
      side.all += std::ssize(ids);
      side.unknown += unknown;
      if (unknown > 0 && side.examples.size() < most_examples) side.examples.push_back(pair.example());
      longer = std::max(longer, static_cast<int64_t>(std::ssize(ids)));
    }
    if (max_length == 0 || longer <= max_length) continue;
    ++too_long;
    if (examples.size() < most_examples) examples.push_back(pair.example());
  }
  find_unknown(text, sides[0], "source", findings);
  find_unknown(text, sides[1], "target", findings);
  if (share_of(too_long, std::ssize(text.sample)) <= tolerated) return;
  findings.push_back(
      {"truncated", Severity::warning,
       fmt::format("{}: {} have more than the {} tokens of data.max_length on a side, and are left out. The "
                   "model never sees long sentences. Raise data.max_length, or split them",
                   text.key, text.share(too_long, std::ssize(text.sample)), max_length),
       std::move(examples)});
}

}  // namespace

std::vector<Finding> check_parallel(const ParallelCheck& check) {
  TextSurvey all({.stop = check.stop});
  Texts texts;
  std::vector<Finding> findings;
  const PairLanguages declared = declared_languages(check.languages, check.train[0]);
  const auto add = [&](const std::string& key, bool is_training, const std::vector<CorpusFiles>& files) {
    SurveyedText text = survey(all, key, is_training, files, check.invalid);
    const UsualPairs usual(text.sampled_lines(), texts.empty() ? declared : PairLanguages());
    texts.push_back({std::move(text), usual, is_training});
  };
  for (const CorpusFiles& files : check.train)
    add(check.train.size() == 1 ? "data.train" : fmt::format("data.train ({})", name_of(files)), true, {files});
  if (!check.valid.empty()) add("data.valid", false, check.valid);
  if (!check.test.empty()) read_test([&] { add("data.test", false, check.test); }, findings);

  for (CheckedText& one : texts)
    find_languages(one.text, one.usual.found(), texts[0].usual.languages(), findings);
  find_shuffled(texts, check.stop, findings);
  for (const CheckedText& one : texts) {
    const SurveyedText& text = one.text;
    if (one.is_training && !check.drops_repeats)
      find_duplicates(text, "'data.repeats: drop' leaves them out", findings);
    if (!one.is_training) find_overlap(text, findings);
    if (!text.is_swapped) find_faults(text, one.usual, FaultScope::pair, findings);
    find_empty(text, findings);
    find_cut(text, findings);
    if (check.tokenizers) find_tokens(text, *check.tokenizers, check.max_length, findings);
  }
  if (check.max_ratio > 0) std::erase_if(findings, [](const Finding& one) { return one.id == "length-ratio"; });
  return findings;
}

}  // namespace sixfold
