#include "data/check/word_translations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "program/demo/corpus.h"

namespace sixfold {
namespace {

std::vector<LinePair> pairs(int count) {
  std::vector<LinePair> result;
  for (const auto& pair : demo::make_corpus({.train = count, .valid = 0, .test = 0}).train)
    result.push_back({pair.english, pair.german});
  return result;
}

double share_above_zero(const std::vector<double>& margins) {
  return static_cast<double>(std::ranges::count_if(margins, [](double margin) { return margin > 0; })) /
         static_cast<double>(margins.size());
}

TEST(WordTranslations, TellsPairsThatBelongTogether) {
  const std::vector<LinePair> all = pairs(1200);
  const WordTranslations translations{std::span(all).first(800)};
  const std::vector<LinePair> held_out(all.begin() + 800, all.end());
  EXPECT_GT(share_above_zero(translations.margins(held_out)), 0.98);
  std::vector<LinePair> moved = held_out;  // each target is that of the next source
  for (size_t i = 0; i < moved.size(); ++i) moved[i].second = held_out[(i + 1) % moved.size()].second;
  const double chance = share_above_zero(translations.margins(moved));
  EXPECT_GT(chance, 0.35);
  EXPECT_LT(chance, 0.65);
}

TEST(WordTranslations, LearnsModel1) {
  const std::vector<LinePair> all{{"the house", "das Haus"}, {"the book", "das Buch"}, {"a book", "ein Buch"}};
  const WordTranslations translations(all);
  EXPECT_GT(translations.log_probability("house", "Haus"), translations.log_probability("book", "Haus") + 0.3);
  EXPECT_GT(translations.log_probability("book", "BUCH"), translations.log_probability("house", "Buch") + 0.3);
  EXPECT_EQ(translations.log_probability("", "Haus"), 0);
}

TEST(WordTranslations, ScriptsWithoutSpacesHaveCharacters) {
  const std::vector<LinePair> all{{"dog", "犬が"}, {"cat", "猫が"}, {"dog", "犬は"}, {"cat", "猫は"}};
  const WordTranslations translations(all);
  EXPECT_GT(translations.log_probability("dog", "犬"), translations.log_probability("dog", "猫") + 1);
}

}  // namespace
}  // namespace sixfold
