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
  const AnswerMetric metric;
  const auto score = [&](const std::string& found, const std::vector<std::string>& right) {
    return metric.statistics(found, right);
  };
  EXPECT_DOUBLE_EQ(score("the cat sat", {"a cat"}).f1, 2.0 / 3);
  EXPECT_DOUBLE_EQ(score("cat cat dog", {"cat dog dog"}).f1, 2.0 / 3);
  EXPECT_EQ(score("the", {"a"}).exact, 1);
  EXPECT_EQ(score("", {""}).f1, 0) << "there is no common word";
  EXPECT_EQ(score("red", {"blue"}).f1, 0);
  // The best of several right answers counts, for each metric.
  const AnswerStatistics best = score("New York City", {"york", "new york city!", "x"});
  EXPECT_EQ(best.exact, 1);
  EXPECT_EQ(best.f1, 1);
  EXPECT_EQ(score("New York City", {"x", "york"}).f1, 0.5);
  AnswerStatistics sum;
  EXPECT_EQ(sum.exact_match() + sum.mean_f1(), 0);
  sum += score("red", {"Red."});
  sum += score("New York City", {"york"});
  EXPECT_DOUBLE_EQ(sum.exact_match(), 0.5);
  EXPECT_DOUBLE_EQ(sum.mean_f1(), 0.75);
  EXPECT_NE(error_message([&] { score("a", {}); }).find("no right answer"), std::string::npos);
  EXPECT_NE(error_message([&] { score("\xFF", {"a"}); }).find("UTF-8"), std::string::npos);
}

}  // namespace
}  // namespace sixfold
