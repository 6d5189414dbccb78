#include "data/check/parallel_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/check/surveyed_text.h"
#include "text/language.h"

namespace sixfold {
namespace {

using Texts = std::vector<SurveyedText>;  ///< the training text first

SurveyedText survey(TextSurvey& all, const char* key, const std::vector<CorpusFiles>& files,
                    InvalidUtf8 invalid) {
  PairReader reader(files, invalid);
  SurveyedText text = all.read(
      key, [&](LinePair& pair) { return reader.next(pair.first, pair.second); },
      [&] { return reader.place(); });
  text.empty = reader.report().empty;
  return text;
}

/// The language that the end of a file's name says; empty if it says none.
std::string language_of_name(std::string name) {
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  const std::string end = name.substr(name.rfind('.') + 1);
  return is_known_language(end) ? end : "";
}

/// The languages that the config says, or the names of both files.
PairLanguages declared_languages(const ParallelCheck& check) {
  PairLanguages result = check.languages;
  for (std::string* language : {&result.source, &result.target})
    if (!is_known_language(*language)) language->clear();
  const std::string source = language_of_name(check.train[0].source),
                    target = language_of_name(check.train[0].target);
  if (source.empty() || target.empty()) return result;
  if (result.source.empty()) result.source = source;
  if (result.target.empty()) result.target = target;
  return result;
}

bool differ(const std::string& found, const std::string& expected) {
  return !found.empty() && !expected.empty() && !is_same_language(found, expected);
}

void find_languages(SurveyedText& text, const PairLanguages& found, const PairLanguages& expected,
                    std::vector<Finding>& findings) {
  const bool other_source = differ(found.source, expected.source),
             other_target = differ(found.target, expected.target);
  if (std::ssize(text.sample) < fewest_checked / 2 || (!other_source && !other_target)) return;
  text.is_swapped = other_source && other_target && !differ(found.source, expected.target) &&
                    !differ(found.target, expected.source);
  std::string message;
  if (text.is_swapped)
    message = fmt::format(
        "{}: the sources are in '{}' and the targets in '{}', but '{}' and '{}' are expected. It is the other "
        "direction. Give the files in the other order, or correct the languages of the config",
        text.key, found.source, found.target, expected.source, expected.target);
  else
    message = fmt::format(
        "{}: the {} are in '{}', but '{}' is expected. See whether this is the right file; if it is, set "
        "data.source_language and data.target_language",
        text.key, other_source ? "sources" : "targets", other_source ? found.source : found.target,
        other_source ? expected.source : expected.target);
  findings.push_back({text.is_swapped ? "languages-swapped" : "languages",
                      text.is_swapped ? Severity::error : Severity::warning, message, text.examples()});
}

/// Judges targets by how much likelier they are beside their own sources than beside others (`margins`). Parts
/// of a text are looked at one by one, since files that lose a line belong together up to there.
void find_shuffled(const SurveyedText& text, const std::vector<double>& margins,
                   const std::vector<const PlacedPair*>& pairs, std::vector<Finding>& findings) {
  constexpr size_t lines_of_part = 50, most_parts = 20;
  constexpr double least = 0.7;  // half is chance; texts that belong together have 0.87 and more
  const size_t parts = std::min(margins.size() / lines_of_part, most_parts);
  const auto begin_of = [&](size_t part) { return part * margins.size() / parts; };
  std::vector<size_t> shuffled;
  for (size_t part = 0; part < parts; ++part) {
    const std::span<const double> some =
        std::span(margins).subspan(begin_of(part), begin_of(part + 1) - begin_of(part));
    const auto likelier = std::ranges::count_if(some, [](double margin) { return margin > 0; });
    if (share_of(likelier, std::ssize(some)) < least) shuffled.push_back(part);
  }
  if (shuffled.empty()) return;
  const size_t first = begin_of(shuffled[0]);
  std::vector<std::string> examples;
  for (size_t i = first; i < pairs.size() && examples.size() < most_examples; ++i)
    if (margins[i] <= 0) examples.push_back(pairs[i]->example());
  const std::string where = shuffled[0] == 0 ? "" : fmt::format(" from about {} on", pairs[first]->place);
  findings.push_back(
      {"targets-shuffled", Severity::error,
       fmt::format("{}{}: the targets do not belong to their sources: in {} of {} parts of the text they fit "
                   "them no better than those of other pairs. Nothing can be learned from such pairs. One of "
                   "the files may have been sorted, or has lost a line; make both again from what they were "
                   "made of",
                   text.key, where, shuffled.size(), parts),
       std::move(examples)});
}

void find_shuffled(const Texts& texts, std::vector<Finding>& findings) {
  constexpr size_t most_learned = 8'000, most_judged = 2'000;
  const auto& sample = texts[0].sample;
  const size_t step = std::max<size_t>(1, sample.size() / most_learned);
  std::vector<LinePair> learned, judged;
  std::vector<const PlacedPair*> places;
  for (size_t i = 0, count = 0; i < sample.size(); i += step) {
    const LinePair& lines = sample[i].lines;
    if (as_compared(lines.first) == as_compared(lines.second)) continue;  // a copy is found as such
    if (count++ % 4 != 0) {
      learned.push_back(lines);
      continue;
    }
    judged.push_back(lines);
    places.push_back(&sample[i]);
  }
  if (std::ssize(learned) < fewest_checked) return;
  const WordTranslations translations(learned);
  find_shuffled(texts[0], translations.margins(judged), places, findings);
  for (const SurveyedText& text : std::span(texts).subspan(1)) {
    if (text.is_swapped != texts[0].is_swapped) continue;
    judged.clear(), places.clear();
    for (size_t i = 0; i < text.sample.size() && i < most_judged; ++i)
      judged.push_back(text.sample[i].lines), places.push_back(&text.sample[i]);
    find_shuffled(text, translations.margins(judged), places, findings);
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
      {"unknown-tokens", share > most_unknown_share ? Severity::error : Severity::warning,
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
  TextSurvey all("pair", check.stop);
  Texts texts{survey(all, "data.train", check.train, check.invalid)};
  if (!check.valid.empty()) texts.push_back(survey(all, "data.valid", check.valid, check.invalid));
  if (!check.test.empty()) texts.push_back(survey(all, "data.test", check.test, check.invalid));

  const UsualPairs usual(texts[0].sampled_lines(), declared_languages(check));
  std::vector<Finding> findings;
  for (SurveyedText& text : texts) {
    const bool is_training = &text == &texts[0];
    find_languages(text, is_training ? usual.found() : UsualPairs(text.sampled_lines(), {}).found(),
                   usual.languages(), findings);
  }
  find_shuffled(texts, findings);
  find_duplicates(texts[0], "'data.repeats: drop' leaves them out", findings);
  for (const SurveyedText& text : texts) {
    if (&text != &texts[0]) find_overlap(text, findings);
    if (!text.is_swapped) find_faults(text, usual, FaultScope::pair, findings);
    find_empty(text, findings);
    find_cut(text, findings);
    if (check.tokenizers) find_tokens(text, *check.tokenizers, check.max_length, findings);
  }
  return findings;
}

}  // namespace sixfold
