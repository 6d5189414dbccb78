#include "metrics/answers.h"

#include <gtest/gtest.h>

#include "error_message.h"
#include "metrics/unicode.h"

namespace sixfold {
namespace {

/// The forms that the functions of SQuAD's evaluation script give.
TEST(Answers, AreNormalizedAsBySquad) {
  const std::vector<std::pair<std::string, std::string>> cases{{"The  Cat's  hat", "cats hat"},
                                                               {"a–b an", "–b"},
                                                               {"theatre the-an, A.", "theatre thean"},
                                                               {"\u00a0THE\tEND\n", "end"},
                                                               {"ΣΊΣΥΦΟΣ!", "σίσυφος"},
                                                               {"a\u0301 b", "\u0301 b"},
                                                               {"x_a the_y", "xa they"},
                                                               {"²a the² a\u0663", "²a the² a\u0663"},
                                                               {"", ""},
                                                               {"the", ""},
                                                               {"U.S. (the) “an” army", "us “ ” army"},
                                                               {"A\u200bthe", "\u200b"}};
  for (const auto& [text, normalized] : cases)
    EXPECT_EQ(encode_utf8(normalize_answer(text)), normalized) << text;
}

TEST(Answers, AreScoredAsBySquad) {
  const SquadExactMatch exact_metric;
  const SquadF1 f1_metric;
  using Right = std::vector<std::string>;
  const auto exact = [&](const std::string& found, const Right& right) {
    return exact_metric.statistics(found, right).amounts[0];
  };
  const auto f1 = [&](const std::string& found, const Right& right) {
    return f1_metric.statistics(found, right).amounts[0];
  };
  EXPECT_DOUBLE_EQ(f1("the cat sat", {"a cat"}), 2.0 / 3);
  EXPECT_DOUBLE_EQ(f1("cat cat dog", {"cat dog dog"}), 2.0 / 3);
  EXPECT_EQ(exact("the", {"a"}), 1);
  EXPECT_EQ(f1("", {""}), 0) << "there is no common word";
  EXPECT_EQ(f1("red", {"blue"}), 0);
  // The best of several right answers counts, for each metric.
  const Right several{"york", "new york city!", "x"};
  EXPECT_EQ(exact("New York City", several), 1);
  EXPECT_EQ(f1("New York City", several), 1);
  EXPECT_EQ(f1("New York City", {"x", "york"}), 0.5);
  MetricSums exact_sum(exact_metric), f1_sum(f1_metric);
  EXPECT_EQ(exact_sum.score() + f1_sum.score(), 0);
  for (MetricSums* sum : {&exact_sum, &f1_sum}) {
    sum->add("red", Right{"Red."});
    sum->add("New York City", Right{"york"});
  }
  EXPECT_DOUBLE_EQ(exact_sum.score(), 50);
  EXPECT_DOUBLE_EQ(f1_sum.score(), 75);
  EXPECT_NE(error_message([&] { exact("a", {}); }).find("no right answer"), std::string::npos);
  EXPECT_NE(error_message([&] { f1("\xFF", {"a"}); }).find("UTF-8"), std::string::npos);
}

}  // namespace
}  // namespace sixfold
