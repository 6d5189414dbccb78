#include "text/merges.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace sixfold {
namespace {

using Ids = std::vector<int32_t>;

/// The merged tokens of a text, each of which has one place.
Ids merged(const Merges& merges, const Ids& ids) {
  std::vector<LocatedToken> tokens;
  for (size_t i = 0; i < ids.size(); ++i) tokens.push_back({ids[i], i, i + 1});
  merges.apply(tokens);
  Ids result;
  size_t end = 0;
  for (const LocatedToken& token : tokens) {
    EXPECT_EQ(token.begin, end);
    end = token.end;
    result.push_back(token.id);
  }
  EXPECT_EQ(end, ids.size());
  return result;
}

TEST(Merges, ApplyTheLowestRankFirst) {
  Merges merges;
  merges.add(1, 2, 10);
  merges.add(0, 1, 11);
  EXPECT_EQ(merged(merges, {0, 1, 2}), (Ids{0, 10}));
  EXPECT_EQ(merged(merges, {1, 2, 1, 2}), (Ids{10, 10}));
}

/// Hugging Face's tokenizers read merges into a map: of equal pairs the last counts, with its own rank.
TEST(Merges, TheLastOfEqualPairsCounts) {
  Merges merges;
  merges.add(1, 2, 10);
  merges.add(0, 1, 11);
  merges.add(1, 2, 12);
  EXPECT_EQ(merged(merges, {0, 1, 2}), (Ids{11, 2}));
  EXPECT_EQ(merged(merges, {1, 2}), (Ids{12}));
}

/// Short words are merged without a queue, long ones with one.
TEST(Merges, LongWordsAreMergedAsShortOnes) {
  Merges merges;
  RandomStream random(1, 0);
  for (int32_t id = 8; id < 400; ++id)
    merges.add(static_cast<int32_t>(random.below(static_cast<uint32_t>(id))),
               static_cast<int32_t>(random.below(static_cast<uint32_t>(id))), id);
  int shorter = 0;
  const int32_t border = 1000;  // merges with nothing
  for (int i = 0; i < 300; ++i) {
    Ids word, text, expected;
    for (int k = 0; k < 20; ++k) word.push_back(static_cast<int32_t>(random.below(8)));
    for (int k = 0; k < 4; ++k) {
      text.insert(text.end(), word.begin(), word.end());
      text.push_back(border);
      const Ids once = merged(merges, word);
      expected.insert(expected.end(), once.begin(), once.end());
      expected.push_back(border);
    }
    ASSERT_EQ(merged(merges, text), expected);
    shorter += merged(merges, word).size() < word.size();
  }
  EXPECT_GT(shorter, 100);
}

}  // namespace
}  // namespace sixfold
