#include "data/check/surveyed_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <unordered_map>

#include "base/error.h"
#include "base/hash.h"
#include "base/plural.h"
#include "text/language.h"
#include "text/utf8.h"
#include "text/words.h"

namespace sixfold {
namespace {

uint64_t hash_of_text(const std::string& text) { return hash_of(std::as_bytes(std::span(text))); }

/// The greatest length that a line has; 0 if the longest lines share a bin.
int64_t longest_of(const std::vector<int64_t>& lengths) {
  int64_t length = SurveyedText::longest;
  while (length > 0 && lengths[static_cast<size_t>(length)] == 0) --length;
  return length == SurveyedText::longest ? 0 : length;
}

/// Whether far more lines have the greatest length than have the next smaller lengths that occur, of which
/// there must be `min_lengths`. Where the two next are rarer than those before, as in a tail, they say more.
bool is_spike(const std::vector<int64_t>& lengths, int64_t greatest, int64_t min_lengths, int64_t lines) {
  constexpr int window = 5, nearest = 2;
  constexpr int64_t min_lines = 10;
  constexpr double share_of_tail = 0.05;
  int64_t sum = 0, sum_of_nearest = 0, filled = 0;
  for (int64_t i = greatest - 1; i >= 0; --i) {
    const int64_t count = lengths[static_cast<size_t>(i)];
    if (count == 0) continue;
    if (filled < nearest) sum_of_nearest += count;
    if (filled++ < window) sum += count;
  }
  const int64_t count = lengths[static_cast<size_t>(greatest)];
  const bool ends_a_tail = sum_of_nearest * window < sum * nearest && count * nearest > 2 * sum_of_nearest &&
                           share_of(count, lines) > share_of_tail;
  return filled >= min_lengths && count >= min_lines && (count * window > 2 * sum || ends_a_tail);
}

/// The language at the end of the name of a file; empty if there is none.
std::string language_of_name(std::string name) {
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  const std::string end = name.substr(name.rfind('.') + 1);
  return is_known_language(end) ? end : "";
}

}  // namespace

std::string LocatedPair::example() const {
  std::string text = place + ": " + as_example(lines.first);
  return lines.second.empty() ? text : text + " | " + as_example(lines.second);
}

std::vector<LinePair> SurveyedText::sampled_lines() const {
  std::vector<LinePair> result;
  for (const LocatedPair& pair : sample) result.push_back(pair.lines);
  return result;
}

std::vector<std::string> SurveyedText::examples() const {
  std::vector<std::string> result;
  for (const LocatedPair& pair : sample)
    if (result.size() < max_examples) result.push_back(pair.example());
  return result;
}

std::string SurveyedText::share(int64_t part, int64_t all) const {
  const double percent = 100 * share_of(part, all);
  const std::string number = percent < 10 ? fmt::format("{:.2g}", percent) : fmt::format("{:.0f}", percent);
  return fmt::format("{} of {} ({}%)", part, counted(all, unit), number);
}

SurveyedText TextSurvey::read(std::string key, bool is_training, const NextPair& next,
                              const std::function<std::string()>& place) {
  SurveyedText text{
      .key = std::move(key), .unit = settings_.unit, .repeated = {}, .in_other = {}, .sample = {}};
  for (const bool target : {false, true}) {
    text.characters[target].resize(SurveyedText::longest + 1);
    text.words[target].resize(SurveyedText::longest + 1);
  }
  // Lines are chosen by hashes of their numbers, since a text may have faults in every second line.
  constexpr size_t min_sampled = 64;  // longer pairs are left out, which would leave no place for others
  uint64_t limit = std::numeric_limits<uint64_t>::max();
  std::vector<uint64_t> hashes;
  size_t sampled_bytes = 0;
  std::vector<uint64_t> read_now;
  for (LinePair pair; text.lines < settings_.max_lines && next(pair); ++text.lines) {
    throw_if_stopped(settings_.stop);
    if (settings_.is_compared && pair.first.size() >= settings_.min_compared_bytes) {
      const auto hash = [&](std::string (*form)(std::string_view)) {
        return hash_of_text(form(pair.first) + (settings_.labelled ? "" : "\t" + form(pair.second)));
      };
      ++text.compared;
      // data.repeats leaves out what is written alike. What training has is known in any case, and however its
      // punctuation is separated.
      constexpr uint64_t of_written = 0x9E3779B97F4A7C15;
      const uint64_t joined = hash(without_spaces);
      const auto count = [&](SurveyedText::Repeats& repeats, bool is_known) {
        if (is_known && ++repeats.lines <= static_cast<int64_t>(max_examples))
          repeats.examples.push_back(LocatedPair{pair, place()}.example());
      };
      if (is_training) {
        count(text.repeated, !training_.insert(hash(as_words) ^ of_written).second);
        training_.insert(joined);
      } else {
        count(text.repeated, training_.contains(joined));
        count(text.in_other, other_.contains(joined));
        read_now.push_back(joined);
      }
    }
    for (const bool target : {false, true}) {
      const std::string& line = target ? pair.second : pair.first;
      const auto bin = [](int64_t length) {
        return static_cast<size_t>(std::min(length, SurveyedText::longest));
      };
      ++text.characters[target][bin(count_characters(line))];
      ++text.words[target][bin(static_cast<int64_t>(count_words(line)))];
    }
    const size_t bytes = pair.first.size() + pair.second.size();
    const uint64_t hash = hash_of(std::as_bytes(std::span(&text.lines, 1)));
    if (hash > limit || bytes > settings_.max_sampled_bytes / min_sampled) continue;
    text.sample.push_back({pair, place()});
    hashes.push_back(hash);
    sampled_bytes += bytes;
    while (text.sample.size() > settings_.max_sampled || sampled_bytes > settings_.max_sampled_bytes) {
      limit /= 2;
      size_t kept = 0;
      sampled_bytes = 0;
      for (size_t i = 0; i < hashes.size(); ++i) {
        if (hashes[i] > limit) continue;
        sampled_bytes += text.sample[i].lines.first.size() + text.sample[i].lines.second.size();
        hashes[kept] = hashes[i];
        if (kept != i) text.sample[kept] = std::move(text.sample[i]);
        ++kept;
      }
      hashes.resize(kept);
      text.sample.resize(kept);
    }
  }
  other_.insert(read_now.begin(), read_now.end());
  return text;
}

void read_test(const std::function<void()>& read, std::vector<Finding>& findings) {
  try {
    read();
  } catch (const Cancelled&) {
    throw;
  } catch (const Error& error) {
    findings.push_back({"data-test", Severity::error, fmt::format("data.test: {}", error.what()), {}});
  }
}

void find_duplicates(const SurveyedText& train, std::string_view remedy, std::vector<Finding>& findings) {
  constexpr double tolerated = 0.02;
  if (train.lines < min_checked_lines || share_of(train.repeated.lines, train.compared) <= tolerated) return;
  findings.push_back(
      {"duplicates", Severity::warning,
       fmt::format("{}: {} repeat an earlier one. They count more than the others, and training takes "
                   "longer. {}",
                   train.key, train.share(train.repeated.lines, train.compared), remedy),
       train.repeated.examples});
}

void find_overlap(const SurveyedText& text, std::vector<Finding>& findings) {
  constexpr double tolerated = 0.01;
  const auto add = [&](const SurveyedText::Repeats& repeats, bool may_be_error, std::string_view what) {
    const double share = share_of(repeats.lines, text.compared);
    if (text.compared < min_checked_lines / 2 || share <= tolerated) return;
    findings.push_back({"overlap", may_be_error && share > 0.5 ? Severity::error : Severity::warning,
                        fmt::format("{}: {} {}", text.key, text.share(repeats.lines, text.compared), what),
                        repeats.examples});
  };
  add(text.repeated, true,
      "are in data.train too. The figures of such a text are better than those of new text. Remove them from "
      "data.train");
  add(text.in_other, false,
      "are in data.valid too, by which the best model is chosen. The figures of such a text are better than "
      "those of new text. Remove them from data.valid");
}

PairLanguages declared_languages(PairLanguages result, const CorpusFiles& files) {
  for (std::string* language : {&result.source, &result.target})
    if (!is_known_language(*language)) language->clear();
  const std::string source = language_of_name(files.source), target = language_of_name(files.target);
  if (source.empty() || target.empty()) return result;
  if (result.source.empty()) result.source = source;
  if (result.target.empty()) result.target = target;
  return result;
}

bool languages_differ(const std::string& found, const std::string& expected) {
  return !found.empty() && !expected.empty() && is_told_apart(found, expected);
}

void find_languages(SurveyedText& text, const PairLanguages& found, const PairLanguages& expected,
                    std::string_view setting, std::vector<Finding>& findings) {
  const bool other_source = languages_differ(found.source, expected.source),
             other_target = languages_differ(found.target, expected.target);
  if (std::ssize(text.sample) < min_checked_lines / 2 || (!other_source && !other_target)) return;
  text.is_swapped = other_source && other_target && !languages_differ(found.source, expected.target) &&
                    !languages_differ(found.target, expected.source);
  std::string message;
  if (text.is_swapped)
    message = fmt::format(
        "{}: the sources are in '{}' and the targets in '{}', but '{}' and '{}' are expected. It is the other "
        "direction. Give the files in the other order, or correct the languages",
        text.key, found.source, found.target, expected.source, expected.target);
  else
    message = fmt::format(
        "{}: the {} are in '{}', but '{}' is expected. See whether this is the right file; if it is, set "
        "{}",
        text.key, other_source ? "sources" : "targets", other_source ? found.source : found.target,
        other_source ? expected.source : expected.target, setting);
  findings.push_back({text.is_swapped ? "languages-swapped" : "languages",
                      text.is_swapped ? Severity::error : Severity::warning, message, text.examples()});
}

/// Whether a text was found to be in another language as a whole.
static bool has_other_language(std::span<const Finding> findings, const std::string& key) {
  return std::ranges::any_of(findings, [&](const Finding& one) {
    return one.id.starts_with("languages") && one.text.starts_with(key + ":");
  });
}

void find_faults(const SurveyedText& text, const PairStatistics& statistics, FaultScope scope,
                 std::vector<Finding>& findings) {
  const auto sampled = std::ssize(text.sample);
  if (sampled < min_checked_lines / 2) return;
  for (const PairFault& fault : pair_faults()) {
    if (fault.scope > scope) continue;
    int64_t count = 0;
    std::vector<std::string> examples;
    for (const LocatedPair& pair : text.sample) {
      if (!fault.applies(pair.lines, statistics)) continue;
      ++count;
      if (examples.size() < max_examples) examples.push_back(pair.example());
    }
    const double share = share_of(count, sampled);
    if (share <= fault.tolerated || (share > fault.max_share && has_other_language(findings, text.key)))
      continue;
    findings.push_back(
        {std::string(fault.id), share > 0.5 ? Severity::error : Severity::warning,
         fmt::format("{}: {} {}. {}", text.key, text.share(count, sampled), fault.what, fault.advice),
         std::move(examples)});
  }
}

void find_empty(const SurveyedText& text, std::vector<Finding>& findings) {
  constexpr double tolerated = 0.005;
  const int64_t all = text.lines + text.empty;
  if (text.lines == 0) {
    findings.push_back({"empty-lines",
                        Severity::error,
                        fmt::format("{}: has no {} that can be used. See whether these are the right files",
                                    text.key, text.unit),
                        {}});
    return;
  }
  if (all < min_checked_lines / 2 || share_of(text.empty, all) <= tolerated) return;
  findings.push_back(
      {"empty-lines", Severity::warning,
       fmt::format("{}: {} have an empty side, and are left out. See whether the files are whole, and whether "
                   "their lines still belong together",
                   text.key, text.share(text.empty, all)),
       text.empty_examples});
}

bool CutLength::is_cut(const LinePair& pair) const {
  const std::string& line = of_target ? pair.second : pair.first;
  return length == (in_words ? static_cast<int64_t>(count_words(line)) : count_characters(line));
}

std::vector<CutLength> find_cut_lengths(const SurveyedText& text) {
  constexpr double tolerated = 0.005;
  std::vector<CutLength> cuts;
  if (text.lines < min_checked_lines) return cuts;
  for (const bool target : {false, true})
    for (const bool in_words : {false, true}) {
      const std::vector<int64_t>& lengths = in_words ? text.words[target] : text.characters[target];
      const int64_t greatest = longest_of(lengths), min_length = in_words ? 8 : 20,
                    min_lengths = in_words ? 4 : 10;
      const int64_t count = lengths[static_cast<size_t>(greatest)];
      if (greatest < min_length || !is_spike(lengths, greatest, min_lengths, text.lines) ||
          share_of(count, text.lines) < tolerated)
        continue;
      cuts.push_back({target, in_words, greatest, count});
      break;
    }
  return cuts;
}

void find_cut(const SurveyedText& text, std::vector<Finding>& findings) {
  for (const CutLength& cut : find_cut_lengths(text)) {
    std::vector<std::string> examples;
    for (const LocatedPair& pair : text.sample)
      if (examples.size() < max_examples && cut.is_cut(pair.lines)) examples.push_back(pair.example());
    findings.push_back(
        {"truncated", Severity::warning,
         fmt::format(
             "{}: {} have {} of exactly {} {}, and none has more: they were cut there. {}Make the "
             "files again without that limit, or leave these lines out",
             text.key, text.share(cut.lines, text.lines),
             text.unit != "pair" ? "a length"
             : cut.of_target     ? "a target"
                                 : "a source",
             cut.length, cut.in_words ? "words" : "characters",
             text.unit == "pair" ? "A model learns from them to stop in the middle of a sentence. " : ""),
         std::move(examples)});
  }
}

bool RepeatedSide::is_in(const LinePair& pair) const {
  return comparison_form(of_target ? pair.second : pair.first) == form;
}

std::vector<RepeatedSide> find_repeated_sides(const SurveyedText& text) {
  constexpr double tolerated = 0.01;
  constexpr int64_t shortest = 20, min_pairs = 20;
  std::vector<RepeatedSide> found;
  for (const bool of_target : {true, false}) {
    struct Others {
      std::unordered_set<std::string> all;
      std::vector<const LocatedPair*> pairs;
    };
    std::unordered_map<std::string, Others> sides;
    for (const LocatedPair& pair : text.sample) {
      const auto& [source, target] = pair.lines;
      std::string side = comparison_form(of_target ? target : source);
      if (count_characters(side) < shortest) continue;
      Others& others = sides[std::move(side)];
      if (others.all.insert(comparison_form(of_target ? source : target)).second) others.pairs.push_back(&pair);
    }
    for (auto& [form, others] : sides)
      if (const int64_t count = std::ssize(others.pairs);
          count >= min_pairs && share_of(count, std::ssize(text.sample)) > tolerated)
        found.push_back({of_target, form, std::move(others.pairs)});
  }
  std::ranges::sort(found, [](const RepeatedSide& a, const RepeatedSide& b) {
    return std::tuple(b.pairs.size(), b.of_target, b.form) < std::tuple(a.pairs.size(), a.of_target, a.form);
  });
  return found;
}

void find_repeated(const SurveyedText& text, std::vector<Finding>& findings) {
  const std::vector<RepeatedSide> all = find_repeated_sides(text);
  for (const bool of_target : {true, false}) {
    int64_t count = 0;
    std::vector<std::string> examples;
    for (const RepeatedSide& side : all) {
      if (side.of_target != of_target) continue;
      count += std::ssize(side.pairs);
      for (const LocatedPair* pair : side.pairs)
        if (examples.size() < max_examples) examples.push_back(pair->example());
    }
    if (count == 0) continue;
    const auto sampled = std::ssize(text.sample);
    findings.push_back(
        {"repeated-sides", 2 * count > sampled ? Severity::error : Severity::warning,
         fmt::format("{}: {} have a {} that stands beside many different {}. The model learns to write it, or "
                     "to ignore its source. Remove these pairs",
                     text.key, text.share(count, sampled), of_target ? "target" : "source",
                     of_target ? "sources" : "targets"),
         std::move(examples)});
  }
}

}  // namespace sixfold
