#include "data/check/pair_faults.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace sixfold {
namespace {

using Pairs = std::vector<LinePair>;

bool has_fault(std::string_view id, const LinePair& pair, const PairStatistics& statistics) {
  const auto fault = std::ranges::find(pair_faults(), id, &PairFault::id);
  return fault->applies(pair, statistics);
}

/// Different sentences, of which the first `copies` are their own translations.
Pairs sentences(int count, int copies) {
  Pairs pairs;
  for (int i = 0; i < count; ++i) {
    const std::string source = fmt::format("The old man walks through the park with his {} dogs", i);
    pairs.emplace_back(source,
                       i < copies ? source : fmt::format("An old man walked in the park with {} dogs", i));
  }
  return pairs;
}

/// Names and titles are the same in many languages.
TEST(PairFaults, AShortTextMayBeItsOwnTranslation) {
  const PairStatistics statistics(Pairs{}, {"en", "de"});
  for (const char* same : {"Server", "Login", "Amazon Web Services", "3.14 + 2.71 = 5.85 ; 7"})
    EXPECT_FALSE(has_fault("copies", {same, same}, statistics)) << same;
  for (const char* copied : {"The dog runs home.", "あのおじいさんは公園で犬と散歩しています"})
    EXPECT_TRUE(has_fault("copies", {copied, copied}, statistics)) << copied;
}

/// A text of corrections has many sentences without a mistake.
TEST(PairFaults, CopiesWithinOneLanguageAreNone) {
  const Pairs corrections = sentences(200, 144), all = sentences(200, 195);
  EXPECT_FALSE(has_fault("copies", corrections[0], PairStatistics(corrections, {"en", "en"})));
  EXPECT_FALSE(has_fault("copies", corrections[0], PairStatistics(corrections, {})));
  EXPECT_TRUE(has_fault("copies", corrections[0], PairStatistics(corrections, {"en", "de"})));
  EXPECT_TRUE(has_fault("copies", all[0], PairStatistics(all, {})));
}

/// What is copied tells nothing of the language of the targets.
TEST(PairFaults, MostTargetsMayBeCopies) {
  Pairs pairs = sentences(200, 0);
  for (size_t i = 0; i < pairs.size(); ++i)
    pairs[i].second =
        i % 5 == 0 ? fmt::format("Der alte Mann geht mit seinen {} Hunden durch den Park", i) : pairs[i].first;
  const PairStatistics statistics(pairs, {});
  EXPECT_EQ(statistics.languages().target, "de");
  EXPECT_TRUE(has_fault("copies", pairs[1], statistics));
  EXPECT_FALSE(has_fault("languages-mixed", pairs[0], statistics));
  Pairs words;
  for (int i = 0; i < 300; ++i) words.emplace_back(fmt::format("word{}", i), fmt::format("word{}", i));
  EXPECT_TRUE(has_fault("copies", words[0], PairStatistics(words, {}))) << "a file of copies, however short";
}

TEST(PairFaults, NamesOfBothSidesAreNoOtherScript) {
  const Pairs sample(100, {"A dog runs in the park.", "犬が公園を走っています。"});
  const PairStatistics statistics(sample, {"en", "ja"});
  EXPECT_FALSE(
      has_fault("scripts", {"Update of Amazon Web Services", "Amazon Web Services の 更新"}, statistics));
  EXPECT_FALSE(has_fault("scripts", {"Amazon Web Services", "Amazon Web Services"}, statistics));
  EXPECT_TRUE(has_fault("scripts", {"A dog runs in the park.", "Пёс бежит по парку. 犬"}, statistics));
  EXPECT_TRUE(has_fault("scripts", {"A dog runs in the park .", "A dog runs in the park"}, statistics))
      << "a sentence that was not translated";
  const Pairs reversed(100, {"犬が公園を走っています。", "A dog runs in the park."});
  EXPECT_TRUE(
      has_fault("scripts", {"彼もそれを見た。", "彼もそれを見た。"}, PairStatistics(reversed, {"ja", "en"})));
}

/// One line does not decide what is usual.
TEST(PairFaults, TheScriptOfATextIsThatOfMostLines) {
  Pairs sample(100, {"A dog runs in the park.", "犬が公園を走っています。"});
  sample.emplace_back("a", std::string(100'000, 'A'));
  const PairStatistics statistics(sample, {"en", "ja"});
  EXPECT_FALSE(has_fault("scripts", sample[0], statistics));
}

}  // namespace
}  // namespace sixfold
