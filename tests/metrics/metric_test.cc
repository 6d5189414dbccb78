#include "metrics/metric.h"

#include <gtest/gtest.h>

#include <set>

#include "base/file.h"
#include "error_message.h"
#include "metrics/evaluation.h"
#include "metrics/metrics.h"
#include "metrics/toy_metric.h"

namespace sixfold {
namespace {

TEST(MetricTable, HasNamesAndExplanationsOfEach) {
  std::set<std::string_view> names;
  for (const MetricEntry& row : metric_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(&metric_named(row.name), &row);
    for (const std::string_view text : {row.title, row.explanation}) EXPECT_FALSE(text.empty()) << row.name;
  }
  EXPECT_EQ(find_metric(metric_table(), "length_error"), nullptr);
}

/// A program that prints 1 for each line that equals its reference, and 0 for others.
constexpr const char* equals_reference =
    R"sed(sed -E 's/.*"output":"(.*)","references":\["\1"\].*/1/;t;s/.*/0/')sed";

/// The sums of parts, as several processes compute them, give the score of all; equal outputs score best.
TEST(MetricTable, ScoresSumsOfParts) {
  const std::vector<std::string> references{"yes", "no it is not", "yes", "may be so"},
      outputs{"yes", "no it was not", "may be so", "may be so"};
  std::vector<std::string> labels = references;
  labels.erase(labels.begin());
  labels.push_back(outputs[1]);
  for (const MetricEntry& row : table_with_length_error()) {
    const auto metric = row.create({.command = {.command = equals_reference}, .labels = labels});
    MetricSums all(*metric), first(*metric), second(*metric), best(*metric);
    for (size_t i = 0; i < outputs.size(); ++i) {
      all.add(outputs[i], {&references[i], 1});
      (i < 1 ? first : second).add(outputs[i], {&references[i], 1});
      best.add(references[i], {&references[i], 1});
    }
    EXPECT_EQ((first += second).score(), all.score()) << row.name;
    EXPECT_EQ(score_system(*metric, outputs, {references}).score, all.score()) << row.name;
    EXPECT_EQ(row.higher_is_better, best.score() > all.score()) << row.name;
    EXPECT_EQ(MetricSums(*metric).score(), 0) << row.name;
  }
}

TEST(MetricTable, EachOutputNeedsAReference) {
  const auto metric = metric_named("bleu").create({});
  const std::vector<std::string> outputs{"a b c d", "e"};
  const auto message = [&](std::span<const std::string> some, const References& references) {
    return error_message([&] { score_system(*metric, some, references); });
  };
  EXPECT_EQ(message(outputs, {{"a b c d"}}), "2 outputs and 1 references; each output needs one");
  EXPECT_EQ(message(outputs, {outputs, {"a", "b", "c"}}), "2 outputs and 3 references; each output needs one");
  EXPECT_EQ(message({}, {{}}), "there is no output to score");
}

TEST(MetricTable, TakesARowOfAnother) {
  const std::vector<MetricEntry> table = table_with_length_error();
  const MetricEntry* const row = find_metric(table, "length_error");
  ASSERT_NE(row, nullptr);
  const auto metric = row->create({});
  std::vector<std::string> reference, near, far;
  for (size_t i = 0; i < 200; ++i) {
    reference.emplace_back(10 + i % 7, 'x');
    near.emplace_back(reference.back().size() + i % 2, 'x');
    far.emplace_back(reference.back().size() + 1 + i % 3, 'x');
  }
  const BootstrapOptions options{.samples = 100, .seed = 1};
  const SystemScore first = score_system(*metric, near, {reference}, options),
                    second = score_system(*metric, far, {reference}, options);
  EXPECT_DOUBLE_EQ(first.score, 0.5);
  EXPECT_DOUBLE_EQ(second.score, 1.995);
  EXPECT_EQ(first.samples.size(), 100u);
  const SystemDifference found = compare_systems(*metric, {&first, 1}, {&second, 1}, {.trials = 100});
  EXPECT_DOUBLE_EQ(found.difference, 1.495);
  EXPECT_EQ(found.p_value, 1.0 / 101);
  EXPECT_EQ(found.bootstrap_p, 1.0 / 101);
  EXPECT_TRUE(signature_of(*metric, 1, options).starts_with("nrefs:1|bs:100|seed:1|version:sixfold-"));
  EXPECT_EQ(metric_names(table, LineContent::text).back(), "length_error");
}

std::string refusal(const MetricOptions& options, const std::vector<std::string>& metrics) {
  std::vector<const MetricEntry*> rows;
  for (const std::string& name : metrics) rows.push_back(&metric_named(name));
  try {
    check_metric_options(options, rows, [](std::string_view key) { return fmt::format("<{}>", key); });
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// Each setting is one of a metric, and is refused by its name beside other metrics.
TEST(MetricOptions, AreRefusedWithoutTheirMetric) {
  const MetricOptions usual;
  int tried = 0;
  for (const ListedOption& listed : listed_options(write_options(usual))) {
    const size_t group_end = listed.key.find_first_of("._");
    if (group_end == listed.key.npos) continue;  // lowercase, and the groups themselves
    const std::string group = listed.key.substr(0, group_end + 1),
                      metric = group == "metric_" ? "command" : group.substr(0, group_end);
    OptionNode tree = write_options(usual);
    set_option(tree, listed.key + "=" +
                         (listed.name == "tokenize"        ? "zh"
                          : listed.name == "smooth_method" ? "floor"
                          : listed.value == "false"        ? "true"
                                                           : "3"));
    MetricOptions options;
    read_options(tree, options);
    // What two settings need.
    if (listed.name == "smooth_value") options.bleu.smoothing = BleuSmoothing::floor;
    if (listed.name == "asian_support") options.ter.no_punct = true;
    EXPECT_EQ(refusal(options, {"exact_match", metric}), "") << listed.key;
    for (const MetricEntry& row : metric_table()) {
      if (row.settings == metric_named(metric).settings) continue;
      const std::string said = refusal(options, {std::string(row.name)});
      EXPECT_TRUE(said.starts_with("<" + group)) << listed.key << " with " << row.name << ": " << said;
      expect_holds(said, ">: none of the metrics that are computed has this setting");
    }
    ++tried;
  }
  EXPECT_EQ(tried, 6 + 5 + 4 + 2);
}

TEST(MetricOptions, AreRefusedIfTheyContradictEachOther) {
  MetricOptions options{.lowercase = true, .ter = {.case_sensitive = true}};
  EXPECT_EQ(refusal(options, {"ter"}),
            "<lowercase> and <ter.case_sensitive> contradict each other; leave one out");
  options = {.ter = {.asian_support = true}};
  EXPECT_EQ(refusal(options, {"ter"}),
            "<ter.asian_support>: has an effect only with <ter.normalized> or <ter.no_punct>");
  options = {.chrf = {.word_order = 1}};
  EXPECT_EQ(refusal(options, {"chrf", "chrf++"}),
            "<chrf.word_order>: is 2 in the metric chrf++; choose chrf instead");
  options = {.bleu = {.smooth_value = 1}};
  EXPECT_EQ(refusal(options, {"bleu"}),
            "<bleu.smooth_value> applies only to the smoothing floor and add-k, not to exp");
  options = {.lowercase = true};
  EXPECT_EQ(refusal(options, {"bleu", "exact_match"}),
            "<lowercase>: exact_match compares lines as they are; leave it out with the metric exact_match");
}

/// The table of the documentation is this one.
TEST(MetricTable, IsDocumented) {
  const std::string page = read_file(SIXFOLD_SOURCE_DIR "/docs/training.md");
  std::string rows;
  for (const MetricEntry& row : metric_table()) {
    constexpr std::string_view of[] = {"texts", "labels", "answers"};
    rows += fmt::format("| `{}` | {} | {} | {} |\n", row.name, row.title, of[static_cast<size_t>(row.content)],
                        row.explanation);
  }
  EXPECT_NE(page.find("| name | title | of | what it is |\n|---|---|---|---|\n" + rows + "\n"),
            std::string::npos)
      << "docs/training.md should have the rows\n"
      << rows;
}

}  // namespace
}  // namespace sixfold
