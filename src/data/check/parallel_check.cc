#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <unordered_set>
#include <utility>

#include "base/hash.h"
#include "data/check/checks.h"
#include "data/check/surveyed_text.h"
#include "data/file_stamps.h"
#include "text/language.h"
#include "text/utf8.h"
#include "text/words.h"

namespace sixfold {
namespace {

/// A text and its statistics.
struct CheckedText {
  SurveyedText text;
  PairStatistics statistics;
  bool is_training;
};
using Texts = std::vector<CheckedText>;  ///< training texts first

SurveyedText survey(TextSurvey& all, const std::string& key, bool is_training,
                    const std::vector<CorpusFiles>& files, InvalidUtf8 invalid) {
  require_regular_files(files);
  PairReader reader(files, invalid);
  std::vector<std::string> empty;
  const auto next = [&](LinePair& pair) {
    for (std::string_view dropped; reader.next_of_all(pair.first, pair.second, dropped);) {
      if (dropped.empty()) return true;
      if (dropped == "empty-lines" && empty.size() < max_examples)
        empty.push_back(
            fmt::format("{}: {} | {}", reader.place(), as_example(pair.first), as_example(pair.second)));
    }
    return false;
  };
  SurveyedText text = all.read(key, is_training, next, [&] { return reader.place(); });
  text.empty = reader.report().empty;
  text.empty_examples = std::move(empty);
  return text;
}

constexpr size_t folds = 4;

/// The quarter of the pairs in which a pair is held out from learning, to be tested afterwards. A hash decides,
/// so that the order of the text does not matter.
size_t fold_of(const LinePair& pair) {
  const std::string text = comparison_form(pair.first);
  return hash_of(std::as_bytes(std::span(text)), 7) % folds;
}

/// Finds targets of other pairs. `all_margins`: how much more probable the targets are given their own sources
/// than given others. The parts of a text are tested one by one, since files of which one has lost a line still
/// match before that line. Returns whether the targets belong to their sources; false if that is unknown.
bool find_shuffled(const SurveyedText& text, size_t learned, const std::vector<double>& all_margins,
                   const std::vector<const LocatedPair*>& all_pairs, std::vector<Finding>& findings) {
  constexpr size_t max_parts = 20, min_pairs = 300, min_learned = 1000;
  // Translations that were learned from few pairs are less reliable. A share of 0.5 is chance; matching texts
  // have at least 0.87.
  const size_t lines_of_part = learned >= min_learned ? 50 : 100;
  constexpr double min_share = 0.7, min_share_of_all = 0.85;
  std::vector<double> margins;
  std::vector<const LocatedPair*> pairs;  // the pairs whose margin is not 0
  for (size_t i = 0; i < all_margins.size(); ++i)
    if (all_margins[i] != 0) margins.push_back(all_margins[i]), pairs.push_back(all_pairs[i]);
  const size_t parts = std::min(margins.size() / lines_of_part, max_parts);
  if (parts == 0) return false;
  const auto begin_of = [&](size_t part) { return part * margins.size() / parts; };
  const auto margins_of = [&](size_t part) {
    return std::span(margins).subspan(begin_of(part), begin_of(part + 1) - begin_of(part));
  };
  const auto share_that_fits = [](std::span<const double> some) {
    return share_of(std::ranges::count_if(some, [](double margin) { return margin > 0; }), std::ssize(some));
  };
  std::vector<size_t> shuffled;
  for (size_t part = 0; part < parts; ++part)
    if (share_that_fits(margins_of(part)) < min_share) shuffled.push_back(part);
  const double share = share_that_fits(margins);
  const bool some_of_all = learned >= min_learned && margins.size() >= min_pairs && share < min_share_of_all;
  if (shuffled.empty() && !some_of_all) return true;
  // The parts that were found may be one range, as after a line that was lost, or lie here and there in a text
  // whose other parts have such targets too.
  std::vector<double> others;
  for (size_t part = 0; part < parts; ++part)
    if (std::ranges::count(shuffled, part) == 0) others.push_back(share_that_fits(margins_of(part)));
  std::ranges::sort(others);
  const bool is_range = shuffled.size() > 1 && shuffled.back() - shuffled.front() <= shuffled.size();
  const bool throughout = shuffled.empty() || (!is_range && learned >= min_learned && others.size() >= 3 &&
                                               others[others.size() / 2] < min_share_of_all);
  const size_t first = throughout ? 0 : begin_of(shuffled[0]);
  std::vector<std::string> examples;
  for (size_t i = first; i < pairs.size() && examples.size() < max_examples; ++i)
    if (margins[i] < 0) examples.push_back(pairs[i]->example());
  std::string what;
  if (throughout)
    what = fmt::format("about {:.0f}% of the targets do not belong to their sources", 200 * (1 - share));
  else
    what = fmt::format(
        "the targets do not belong to their sources: in {} of {} parts of the text they fit them no "
        "better than those of other pairs",
        shuffled.size(), parts);
  const std::string where =
      throughout || shuffled[0] == 0 ? "" : fmt::format(" from about {} on", pairs[first]->place);
  findings.push_back(
      {"targets-shuffled", shuffled.empty() ? Severity::warning : Severity::error,
       fmt::format("{}{}: {}. Nothing can be learned from such pairs, if they are to be translations. One of "
                   "the files may have been sorted, or has lost a line; make both again from what they "
                   "were made of",
                   text.key, where, what),
       std::move(examples)});
  return false;
}

/// The pairs of a training text from which word translations are learned. Their number is limited so that
/// learning takes a second or two.
struct LearningSample {
  std::vector<const LocatedPair*> pairs;
  int64_t target_words = 0;  ///< distinct words of the targets
};

std::vector<LinePair> lines_of(const std::vector<const LocatedPair*>& pairs) {
  std::vector<LinePair> lines;
  for (const LocatedPair* pair : pairs) lines.push_back(pair->lines);
  return lines;
}

LearningSample pairs_to_learn(const SurveyedText& text) {
  constexpr int64_t max_learned = 8'000, max_products = 4'000'000;
  int64_t products = 0;
  for (const LocatedPair& pair : text.sample) {
    const auto words = [](const std::string& line) {
      return static_cast<int64_t>(std::min<size_t>(60, 1 + count_characters(line) / 4));
    };
    products += words(pair.lines.first) * words(pair.lines.second);
  }
  const int64_t step = std::max({int64_t{1}, (std::ssize(text.sample) + max_learned - 1) / max_learned,
                                 (products + max_products - 1) / max_products});
  LearningSample result;
  std::unordered_set<std::string> words;
  for (size_t i = 0; i < text.sample.size(); i += static_cast<size_t>(step)) {
    const LinePair& lines = text.sample[i].lines;
    if (comparison_form(lines.first) == comparison_form(lines.second)) continue;  // copies are another finding
    result.pairs.push_back(&text.sample[i]);
    for (const TextRange& word : word_ranges(lines.second))
      if (std::string one = lines.second.substr(word.begin, word.end - word.begin); has_letter(one))
        words.insert(std::move(one));
  }
  result.target_words = std::ssize(words);
  return result;
}

bool same_languages(const PairLanguages& a, const PairLanguages& b) {
  return !languages_differ(a.source, b.source) && !languages_differ(a.target, b.target);
}

/// Translations that were learned from the pairs of a sample but those of one fold.
struct Fold {
  Fold(const LearningSample& sample, size_t fold, const std::atomic<int>* stop)
      : translations(split(sample, fold), stop) {}

  std::vector<const LocatedPair*> held_out;
  size_t learned = 0;
  WordTranslations translations;

 private:
  std::vector<LinePair> split(const LearningSample& sample, size_t fold) {
    std::vector<LinePair> rest;
    for (const LocatedPair* pair : sample.pairs) {
      if (fold_of(pair->lines) == fold)
        held_out.push_back(pair);
      else
        rest.push_back(pair->lines);
    }
    learned = rest.size();
    return rest;
  }
};

/// Whether the targets of a training text belong to their sources. Translations are learned from three quarters
/// of the pairs and tested with the others: in a small text with each quarter, in a large one with the first.
bool find_shuffled_in_training(const SurveyedText& text, const LearningSample& sample, const Fold& first,
                               const std::atomic<int>* stop, std::vector<Finding>& findings) {
  constexpr size_t max_small = 2'000;
  std::vector<std::pair<const LocatedPair*, double>> tested;
  const auto test = [&](const Fold& fold) {
    const std::vector<double> margins = fold.translations.margins(lines_of(fold.held_out));
    for (size_t i = 0; i < margins.size(); ++i) tested.emplace_back(fold.held_out[i], margins[i]);
  };
  test(first);
  for (size_t fold = 1; fold < folds && sample.pairs.size() <= max_small; ++fold) test({sample, fold, stop});
  std::ranges::sort(tested);  // in the order of the text
  std::vector<const LocatedPair*> pairs;
  std::vector<double> margins;
  for (const auto& [pair, margin] : tested) pairs.push_back(pair), margins.push_back(margin);
  return find_shuffled(text, sample.pairs.size() * (folds - 1) / folds, margins, pairs, findings);
}

void find_shuffled(const Texts& texts, const std::atomic<int>* stop, std::vector<Finding>& findings) {
  constexpr size_t max_tested = 2'000;
  // Fewer words are classes or numbers, which tell little about their sources.
  constexpr int64_t min_words = 100;
  std::vector<bool> is_done(texts.size());
  for (size_t t = 0; t < texts.size() && texts[t].is_training; ++t) {
    const LearningSample sample = pairs_to_learn(texts[t].text);
    if (std::ssize(sample.pairs) < min_checked_lines || sample.target_words < min_words) continue;
    const Fold fold(sample, 0, stop);
    // What was learned from targets that may belong to other sources tells nothing about other texts.
    if (!find_shuffled_in_training(texts[t].text, sample, fold, stop, findings)) continue;
    for (size_t other = t + 1; other < texts.size(); ++other) {
      const SurveyedText& text = texts[other].text;
      if (is_done[other] || texts[other].is_training || text.is_swapped != texts[t].text.is_swapped ||
          !same_languages(texts[t].statistics.detected(), texts[other].statistics.detected()))
        continue;
      is_done[other] = true;
      std::vector<const LocatedPair*> tested;
      for (size_t i = 0; i < text.sample.size() && i < max_tested; ++i) tested.push_back(&text.sample[i]);
      find_shuffled(text, fold.learned, fold.translations.margins(lines_of(tested)), tested, findings);
    }
  }
}

/// The tokens of one side of a text.
struct Tokens {
  int64_t all = 0, unknown = 0;
  std::vector<std::string> examples;  ///< examples of lines with unknown tokens
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

/// Looks for unknown tokens. Returns the numbers of tokens of the longer sides of the sampled pairs.
std::vector<int64_t> find_tokens(const SurveyedText& text, const Tokenizers& tokenizers,
                                 std::vector<Finding>& findings) {
  std::vector<int64_t> lengths;
  Tokens sides[2];
  for (const LocatedPair& pair : text.sample) {
    int64_t longer = 0;
    for (const bool target : {false, true}) {
      const Tokenizer& tokenizer = target ? *tokenizers.target : *tokenizers.source;
      const std::vector<int32_t> ids = tokenizer.encode(target ? pair.lines.second : pair.lines.first);
      const int64_t unknown = tokenizer.count_unknown(ids);
      Tokens& side = sides[target];
      side.all += std::ssize(ids);
      side.unknown += unknown;
      if (unknown > 0 && side.examples.size() < max_examples) side.examples.push_back(pair.example());
      longer = std::max(longer, static_cast<int64_t>(std::ssize(ids)));
    }
    lengths.push_back(longer);
  }
  find_unknown(text, sides[0], "source", findings);
  find_unknown(text, sides[1], "target", findings);
  return lengths;
}

/// The numbers of words of the longer sides of the sampled pairs. Each word has at least one token.
std::vector<int64_t> word_lengths(const SurveyedText& text) {
  std::vector<int64_t> lengths;
  for (const LocatedPair& pair : text.sample)
    lengths.push_back(
        static_cast<int64_t>(std::max(count_words(pair.lines.first), count_words(pair.lines.second))));
  return lengths;
}

/// Looks for pairs that training leaves out. `lengths`: the numbers of tokens of the longer sides of the
/// sampled pairs, or less where no tokenizer is known.
void find_too_long(const SurveyedText& text, std::span<const int64_t> lengths, int max_length,
                   std::vector<Finding>& findings) {
  constexpr double tolerated = 0.01;
  int64_t too_long = 0;
  std::vector<std::string> examples;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] <= max_length) continue;
    ++too_long;
    if (examples.size() < max_examples) examples.push_back(text.sample[i].example());
  }
  const int64_t all = std::ssize(lengths);
  if (share_of(too_long, all) <= tolerated) return;
  findings.push_back(
      {"truncated", too_long == all ? Severity::error : Severity::warning,
       fmt::format("{}: {} have more than the {} tokens of data.max_length on a side, and are left out. The "
                   "model never sees long sentences. Raise data.max_length, or split them",
                   text.key, text.share(too_long, all), max_length),
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
    const PairStatistics statistics(text.sampled_lines(), texts.empty() ? declared : PairLanguages());
    texts.push_back({std::move(text), statistics, is_training});
  };
  const auto add_other = [&](const char* key, const std::vector<CorpusFiles>& files) {
    add(check.is_direction ? fmt::format("{} ({})", key, name_of(files[0])) : key, false, files);
  };
  const bool is_one = check.train.size() == 1 && !check.is_direction;
  for (const CorpusFiles& files : check.train)
    add(is_one ? "data.train" : fmt::format("data.train ({})", name_of(files)), true, {files});
  if (!check.valid.empty()) add_other("data.valid", check.valid);
  if (!check.test.empty()) read_test([&] { add_other("data.test", check.test); }, findings);

  for (CheckedText& one : texts)
    find_languages(one.text, one.statistics.detected(), texts[0].statistics.languages(),
                   check.is_direction ? "data.languages" : "data.source_language and data.target_language",
                   findings);
  find_shuffled(texts, check.stop, findings);
  for (const CheckedText& one : texts) {
    const SurveyedText& text = one.text;
    if (one.is_training && !check.drops_repeats)
      find_duplicates(text, "'data.repeats: drop' leaves them out", findings);
    if (!one.is_training) find_overlap(text, findings);
    if (!text.is_swapped) find_faults(text, one.statistics, FaultScope::pair, findings);
    find_repeated(text, findings);
    find_empty(text, findings);
    find_cut(text, findings);
    if (std::ssize(text.sample) < min_checked_lines / 2) continue;
    const std::vector<int64_t> lengths =
        check.tokenizers ? find_tokens(text, *check.tokenizers, findings) : word_lengths(text);
    if (check.max_length > 0) find_too_long(text, lengths, check.max_length, findings);
  }
  constexpr double like_fault = 3;  // such a ratio leaves out what `length-ratio` finds
  if (check.max_ratio > 0 && check.max_ratio <= like_fault)
    std::erase_if(findings, [](const Finding& one) { return one.id == "length-ratio"; });
  return findings;
}

}  // namespace sixfold
