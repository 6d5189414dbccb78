#include "metrics/classification.h"

#include <gtest/gtest.h>

#include "error_message.h"

namespace sixfold {
namespace {

/// Figures of scikit-learn's accuracy_score and f1_score(average="macro") for the same labels.
TEST(Labels, HaveAccuracyAndMacroF1) {
  const std::vector<std::string> labels{"a", "b", "c", "d", "e"};  // e does not occur
  const std::vector<std::string> truth{"a", "a", "b", "c", "c", "c", "b", "a"},
      predicted{"a", "b", "b", "c", "c", "a", "d", "a"};
  const Accuracy accuracy;
  const MacroF1 macro_f1(labels);
  MetricSums right(accuracy), f1(macro_f1);
  EXPECT_EQ(right.score() + f1.score(), 0);
  for (size_t i = 0; i < truth.size(); ++i)
    for (MetricSums* sums : {&right, &f1}) sums->add(predicted[i], {&truth[i], 1});
  EXPECT_DOUBLE_EQ(right.score(), 100 * 5.0 / 8);
  // F1 by label: 4/6, 2/4, 4/5, and 0 for d, which is predicted but never right.
  EXPECT_DOUBLE_EQ(f1.score(), 100 * (4.0 / 6 + 2.0 / 4 + 4.0 / 5 + 0) / 4);
}

TEST(Labels, AreRefusedIfTheyAreNotKnownOrNotOne) {
  const std::vector<std::string> two{"a", "b"}, one{"a"};
  EXPECT_NE(error_message([&] { Accuracy().statistics("a", two); }).find("a text has one label"),
            std::string::npos);
  EXPECT_NE(error_message([&] { MacroF1(two).statistics("c", one); }).find("'c' is not among the labels"),
            std::string::npos);
}

TEST(Labels, EndAtATab) {
  EXPECT_EQ(label_of("good\ta text\twith tabs"), "good");
  EXPECT_EQ(label_of("\uFEFFbad"), "bad");
  EXPECT_EQ(label_of(" good "), "good");
  EXPECT_EQ(label_of("\tx"), "");
}

}  // namespace
}  // namespace sixfold
