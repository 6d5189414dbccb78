#include "metrics/classification.h"

#include <gtest/gtest.h>

#include "error_message.h"

namespace sixfold {
namespace {

/// Figures of scikit-learn's accuracy_score and f1_score(average="macro") for the same labels.
TEST(ClassCounts, HaveAccuracyAndMacroF1) {
  const std::vector<size_t> truth{0, 0, 1, 2, 2, 2, 1, 0}, predicted{0, 1, 1, 2, 2, 0, 3, 0};
  ClassCounts counts(5);  // class 4 does not occur
  for (size_t i = 0; i < truth.size(); ++i) counts.add(truth[i], predicted[i]);
  EXPECT_EQ(counts.total(), 8);
  EXPECT_DOUBLE_EQ(counts.accuracy(), 5.0 / 8);
  // F1 by class: 4/6, 2/4, 4/5, and 0 for class 3, which is predicted but never right.
  EXPECT_DOUBLE_EQ(counts.macro_f1(), (4.0 / 6 + 2.0 / 4 + 4.0 / 5 + 0) / 4);
  EXPECT_EQ(ClassCounts(2).accuracy(), 0);
  EXPECT_EQ(ClassCounts(2).macro_f1(), 0);
}

TEST(LabelMetric, ComparesLinesUpToATab) {
  const LabelMetric metric;
  LabelPairs sum;
  const auto add = [&](const std::string& found, const std::string& truth) {
    sum += metric.statistics(found, std::span(&truth, 1));
  };
  add("good\t0.9", "good\ta text\twith tabs");
  add(" good ", "\uFEFFbad");
  add("", "bad\tx");
  EXPECT_EQ(sum.labels(), (std::vector<std::string>{"", "bad", "good"}));
  EXPECT_EQ(sum.count("good", "good"), 1);
  EXPECT_EQ(sum.count("bad", "good"), 1);
  EXPECT_EQ(sum.count("bad", ""), 1);
  const std::vector<std::string> two{"a", "b"};
  EXPECT_NE(error_message([&] { metric.statistics("a", two); }).find("a text has one label"),
            std::string::npos);
}

}  // namespace
}  // namespace sixfold
