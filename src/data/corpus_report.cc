#include "data/corpus_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "base/plural.h"

namespace sixfold {
namespace {

/// Calls `visit` with the name and the value of each field, both for writing and for reading.
template <class Report, class Visitor>
void each_field(Report& r, const Visitor& visit) {
  visit("read", r.read);
  visit("empty", r.empty);
  visit("invalid", r.invalid);
  visit("zero_weight", r.zero_weight);
  visit("too_long", r.too_long);
  visit("uneven", r.uneven);
  visit("repeated", r.repeated);
  visit("repeats", r.repeats);
  visit("replaced", r.replaced);
  visit("source_tokens", r.source_tokens);
  visit("target_tokens", r.target_tokens);
  visit("source_unknown", r.source_unknown);
  visit("target_unknown", r.target_unknown);
  visit("source_lengths", r.source_lengths);
  visit("target_lengths", r.target_lengths);
  visit("ratios", r.ratios);
}

}  // namespace

void CorpusReport::add_reading(const CorpusReport& other) {
  read += other.read;
  empty += other.empty;
  invalid += other.invalid;
  zero_weight += other.zero_weight;
  replaced += other.replaced;
}

void CorpusReport::measure(int64_t source, int64_t target) {
  source_tokens += source;
  target_tokens += target;
  ++source_lengths[static_cast<size_t>(std::min(source, longest))];
  ++target_lengths[static_cast<size_t>(std::min(target, longest))];
  if (source == 0 || target == 0) return;
  const double eighths = 8 * std::log2(static_cast<double>(target) / static_cast<double>(source));
  ++ratios[static_cast<size_t>(std::clamp<int64_t>(std::llround(eighths) + ratio_bins / 2, 0, ratio_bins - 1))];
}

double CorpusReport::ratio_of_bin(int bin) { return std::exp2((bin - ratio_bins / 2) / 8.0); }

std::string CorpusReport::describe() const {
  std::string dropped;
  const auto mention = [&](int64_t count, std::string_view what) {
    if (count > 0) dropped += fmt::format("{}{} {}", dropped.empty() ? "; dropped: " : ", ", count, what);
  };
  mention(empty, "with an empty side");
  mention(invalid, "not valid UTF-8");
  mention(zero_weight, "of weight 0");
  mention(too_long, "too long");
  mention(uneven, "too uneven");
  mention(repeated, "repeated");
  std::string line = fmt::format("{}, {} kept{}", counted(read, "pair"), kept(), dropped);
  if (repeats > repeated) line += fmt::format("; repeated but kept: {}", repeats - repeated);
  if (source_unknown + target_unknown > 0)
    line += fmt::format("; not in the vocabulary: {:.3g}% of the source tokens, {:.3g}% of the target tokens",
                        100 * source_unknown_share(), 100 * target_unknown_share());
  if (replaced > 0) line += fmt::format("; invalid UTF-8 replaced in {}", replaced);
  return line;
}

std::string to_json_text(const CorpusReport& report) {
  nlohmann::ordered_json json;
  each_field(report, [&](const char* name, const auto& value) { json[name] = value; });
  return json.dump(1) + "\n";
}

CorpusReport parse_corpus_report(const std::string& text, const std::string& where) {
  const auto json = parse_json(text, where);
  const std::string place = where + ": not the report of a corpus";
  const JsonObject object(json, place);
  CorpusReport report;
  each_field(report, [&](const char* name, auto& value) {
    // older reports do not have these fields
    const bool is_new = std::string_view(name).ends_with("_unknown") || name == std::string_view("zero_weight");
    if (!is_new || object.has(name)) object.read(name, value);
  });
  require(std::ssize(report.source_lengths) == CorpusReport::longest + 1 &&
              report.target_lengths.size() == report.source_lengths.size() &&
              std::ssize(report.ratios) == CorpusReport::ratio_bins,
          "{}: not the report of a corpus: a histogram has the wrong number of bins", where);
  return report;
}

}  // namespace sixfold
