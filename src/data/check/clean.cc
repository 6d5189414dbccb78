#include "data/check/clean.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/nearest.h"
#include "base/plural.h"
#include "base/threads.h"
#include "data/check/shuffled_targets.h"
#include "data/check/surveyed_text.h"
#include "data/file_stamps.h"
#include "data/repeats.h"
#include "text/language.h"

namespace sixfold {
namespace {

constexpr std::string_view invalid_utf8 = "invalid-utf8", empty_lines = "empty-lines",
                           duplicates = "duplicates", mojibake = "mojibake", normal_forms = "normal-forms",
                           white_space = "white-space", truncated = "truncated",
                           repeated_sides = "repeated-sides", targets_shuffled = "targets-shuffled",
                           languages_mixed = "languages-mixed";

bool applies(const CleanOptions& options, std::string_view rule) {
  return std::ranges::find(options.keep, rule) == options.keep.end();
}

/// Reads a pair. `rule` is set if the pair is dropped because it has no valid text. Returns false at the end.
bool read_pair(PairReader& reader, const CleanOptions& options, CleanedPair& pair) {
  if (!reader.next_of_all(pair.lines.first, pair.lines.second, pair.rule)) return false;
  pair.is_mended = false;
  if (!options.mend || !pair.rule.empty()) return true;
  for (std::string* line : {&pair.lines.first, &pair.lines.second}) {
    std::string better = mended(*line);
    if (better.empty()) pair.rule = empty_lines;
    pair.is_mended |= better != *line;
    *line = std::move(better);
  }
  return true;
}

/// The hash by which a pair is compared with earlier ones: by its words as `data.repeats` does, or by its
/// letters for near duplicates. Lines with faults that will be dropped are compared exactly, since the next
/// pair without faults must be kept.
uint64_t hash_of_pair(const LinePair& pair, const CleanOptions& options) {
  const auto hash = [](const std::string& text, uint64_t seed) {
    return hash_of(std::as_bytes(std::span(text)), seed);
  };
  const auto has_fault = [&](const std::string& line) {
    return (applies(options, mojibake) && has_mojibake(line)) ||
           (applies(options, normal_forms) && is_decomposed(line)) ||
           (applies(options, white_space) && has_odd_space(line));
  };
  if (options.near_duplicates && !has_fault(pair.first) && !has_fault(pair.second)) {
    const std::string source = letters_of(comparison_form(pair.first)),
                      target = letters_of(comparison_form(pair.second));
    if (!source.empty() && !target.empty()) return hash(target, hash(source, 1));
  }
  const auto compared = [&](const std::string& line) {
    std::string words = as_words(line);
    return words == line || has_fault(line) ? line : words;
  };
  return hash(compared(pair.second), hash(compared(pair.first), 0));
}

/// Says for each pair of all texts whether it repeats an earlier one.
std::vector<bool> find_repeated_pairs(const std::vector<CorpusFiles>& files, const CleanOptions& options) {
  RepeatFinder repeats(temporary_folder());
  ReadingProgress progress("looking for duplicates");
  for (const CorpusFiles& text : files) {
    PairReader reader({text}, options.invalid);
    for (CleanedPair pair; read_pair(reader, options, pair);) {
      throw_if_stopped(options.stop);
      progress.update([&] { return reader.fraction_read(); });
      repeats.add(hash_of_pair(pair.lines, options));
    }
  }
  return repeats.find([](int64_t, int64_t) { return true; }, options.stop);
}

/// The results of the first pass over a text.
struct KnownText {
  SurveyedText survey;
  PairStatistics statistics;
  int64_t pairs;  ///< all pairs, also those that `PairReader` drops
};

/// What is usual in all texts, without the pairs that are dropped as duplicates.
class FirstPass {
 public:
  FirstPass(const std::vector<CorpusFiles>& files, const CleanOptions& options) {
    constexpr size_t sampled_bytes = 32 << 20, min_sampled_bytes = 1 << 20;
    if (applies(options, duplicates)) is_repeated_ = find_repeated_pairs(files, options);
    TextSurvey survey({.max_lines = std::numeric_limits<int64_t>::max(),
                       .is_compared = false,
                       .max_sampled = 50'000,
                       .max_sampled_bytes = std::max(sampled_bytes / files.size(), min_sampled_bytes),
                       .stop = options.stop});
    ReadingProgress progress("reading the text");
    for (const CorpusFiles& text : files) {
      PairReader reader({text}, options.invalid);
      const auto next = [&](LinePair& lines) {
        for (CleanedPair pair; read_pair(reader, options, pair);) {
          progress.update([&] { return reader.fraction_read(); });
          if (is_repeated(pairs_++) || !pair.rule.empty()) continue;
          lines = std::move(pair.lines);
          return true;
        }
        return false;
      };
      SurveyedText survey_of_text = survey.read(name_of(text), true, next, [&] { return reader.place(); });
      PairStatistics statistics(
          survey_of_text.sampled_lines(),
          texts_.empty() ? declared_languages(options.languages, text) : texts_[0].statistics.languages());
      texts_.push_back({std::move(survey_of_text), std::move(statistics), reader.report().read});
    }
    require(is_repeated_.empty() || std::ssize(is_repeated_) == pairs_,
            "the texts have another number of pairs than before; they were changed meanwhile");
    if (applies(options, languages_mixed)) require_expected_languages();
  }

  const KnownText& text(size_t i) const { return texts_[i]; }
  int64_t pairs() const { return pairs_; }
  bool is_repeated(int64_t pair) const {
    return pair < std::ssize(is_repeated_) && is_repeated_[static_cast<size_t>(pair)];
  }

 private:
  void require_expected_languages() {
    std::vector<Finding> findings;
    for (KnownText& text : texts_)
      find_languages(text.survey, text.statistics.detected(), texts_[0].statistics.languages(),
                     "--source-language and --target-language", findings);
    require(findings.empty(), "{}, or keep all with --keep {}", findings.empty() ? "" : findings[0].text,
            languages_mixed);
  }

  std::vector<KnownText> texts_;
  std::vector<bool> is_repeated_;
  int64_t pairs_ = 0;
};

/// Applies the rules to the pairs of one text.
class PairFilter {
 public:
  PairFilter(const KnownText& text, const CleanOptions& options, ThreadPool& threads)
      : statistics_(text.statistics) {
    for (const PairFault& fault : pair_faults())
      if (applies(options, fault.id)) faults_.push_back(&fault);
    if (applies(options, repeated_sides)) repeated_ = find_repeated_sides(text.survey);
    if (applies(options, truncated)) cuts_ = find_cut_lengths(text.survey);
    if (!applies(options, targets_shuffled)) return;
    std::vector<LinePair> sample;
    for (const LocatedPair& pair : text.survey.sample) {
      throw_if_stopped(options.stop);
      if (rule_of(pair.lines).empty()) sample.push_back(pair.lines);
    }
    shuffled_.emplace(sample, threads, options.stop);
    if (shuffled_->has_learned()) return;
    log_warning("{}: {} is not applied: what words stand for could not be learned from this text",
                text.survey.key, targets_shuffled);
    shuffled_.reset();
  }

  /// The first rule by which a pair is dropped; empty if there is none.
  std::string_view rule_of(const LinePair& pair) const {
    for (const PairFault* fault : faults_)
      if (fault->applies(pair, statistics_)) return fault->id;
    for (const RepeatedSide& side : repeated_)
      if (side.is_in(pair)) return repeated_sides;
    for (const CutLength& cut : cuts_)
      if (cut.is_cut(pair)) return truncated;
    return shuffled_ && shuffled_->is_shuffled(pair) ? targets_shuffled : std::string_view();
  }

 private:
  const PairStatistics& statistics_;
  std::vector<const PairFault*> faults_;
  std::vector<RepeatedSide> repeated_;
  std::vector<CutLength> cuts_;
  std::optional<ShuffledTargets> shuffled_;
};

void require_known(const std::vector<CorpusFiles>& files, const CleanOptions& options) {
  require_regular_files(files);
  for (const std::string& language : {options.languages.source, options.languages.target})
    require(language.empty() || is_known_language(language),
            "'{}': is not a language that can be recognized; give a code such as 'de', or none", language);
  const std::vector<std::string_view> rules = clean_rules();
  const std::vector<std::string> names(rules.begin() + 2, rules.end());
  for (const std::string& rule : options.keep)
    require(std::ranges::find(names, rule) != names.end(), "'{}': is not a rule that can be left out{}", rule,
            suggestion(rule, names));
  constexpr int64_t max_parts = 1'000'000;
  require(1 <= options.part && options.part <= options.parts && options.parts <= max_parts,
          "there is no part {} of {}; number them from 1, at most {} of them", options.part, options.parts,
          max_parts);
}

}  // namespace

std::vector<std::string_view> clean_rules() {
  std::vector<std::string_view> rules{invalid_utf8, empty_lines, duplicates};
  for (const PairFault& fault : pair_faults()) rules.push_back(fault.id);
  rules.insert(rules.end(), {repeated_sides, truncated, targets_shuffled});
  return rules;
}

std::string to_json_text(const CleanReport& report) {
  nlohmann::ordered_json dropped = nlohmann::ordered_json::object();
  for (const auto& [rule, count] : report.dropped) dropped[std::string(rule)] = count;
  const nlohmann::ordered_json json{
      {"read", report.read}, {"kept", report.kept}, {"mended", report.mended}, {"dropped", dropped}};
  return json.dump(1) + "\n";
}

CleanReport clean_corpus(const std::vector<CorpusFiles>& files, const CleanOptions& options,
                         const std::function<void(size_t text, const CleanedPair& pair)>& take) {
  constexpr size_t block_pairs = 4096, block_bytes = 8 << 20, task_pairs = 64;
  require(!files.empty(), "no text files are given");
  require_known(files, options);
  const FirstPass first(files, options);
  const auto first_pair_of = [&](int64_t part) { return first.pairs() * part / options.parts; };
  const int64_t begin = first_pair_of(options.part - 1), end = first_pair_of(options.part);
  ThreadPool threads(options.threads);
  ReadingProgress progress("cleaning the text");
  CleanReport report;
  for (const std::string_view rule : clean_rules()) report.dropped.emplace_back(rule, 0);
  for (size_t t = 0, next = 0; t < files.size(); ++t) {
    const KnownText& text = first.text(t);
    auto index = static_cast<int64_t>(next);  // index of the next pair among those of all texts
    next += static_cast<size_t>(text.pairs);
    if (static_cast<int64_t>(next) <= begin || index >= end) continue;
    log_info("{}: learning what is usual from {}", text.survey.key, counted(text.survey.sample.size(), "pair"));
    const PairFilter filter(text, options, threads);
    PairReader reader({files[t]}, options.invalid);
    const int64_t last = std::min(end, static_cast<int64_t>(next));
    while (index < last) {
      std::vector<CleanedPair> block;
      for (size_t bytes = 0; index < last && block.size() < block_pairs && bytes < block_bytes; ++index) {
        CleanedPair pair;
        require(read_pair(reader, options, pair), "{}: has fewer pairs than before; it was changed meanwhile",
                name_of(files[t]));
        if (index < begin) continue;
        pair.place = reader.place();
        if (pair.rule.empty() && first.is_repeated(index)) pair.rule = duplicates;
        bytes += pair.lines.first.size() + pair.lines.second.size();
        block.push_back(std::move(pair));
      }
      threads.run((std::ssize(block) + task_pairs - 1) / task_pairs, [&](int64_t task, int) {
        throw_if_stopped(options.stop);
        const auto from = static_cast<size_t>(task) * task_pairs;
        for (size_t i = from; i < std::min(from + task_pairs, block.size()); ++i)
          if (block[i].rule.empty()) block[i].rule = filter.rule_of(block[i].lines);
      });
      for (const CleanedPair& pair : block) {
        progress.update([&] { return share_of(index - begin, end - begin); });
        ++report.read;
        report.kept += pair.rule.empty();
        report.mended += pair.rule.empty() && pair.is_mended;
        if (!pair.rule.empty())
          ++std::ranges::find(report.dropped, pair.rule, [](const auto& one) { return one.first; })->second;
        take(t, pair);
      }
    }
  }
  return report;
}

}  // namespace sixfold
