#include "search/repetition_draft.h"

#include <gtest/gtest.h>

#include "error_message.h"

namespace sixfold {
namespace {

using Ids = std::vector<int32_t>;

Ids guess(RepetitionDraft& draft, const Ids& text, size_t room = 100) {
  const auto guesses = draft.guess(text, room);
  return {guesses.begin(), guesses.end()};
}

TEST(RepetitionDraft, GuessesWhatFollowedTheNewestEarlierPlace) {
  RepetitionDraft draft(7);
  EXPECT_EQ(guess(draft, {1, 2, 3, 10, 11, 1, 2, 3, 20, 21, 22, 23, 1, 2, 3}), (Ids{20, 21, 22}));
  EXPECT_EQ(guess(draft, {1, 2, 3, 10, 11, 12, 13, 9, 2, 3, 20, 21, 1, 2, 3}), (Ids{10, 11, 12}));
  EXPECT_EQ(guess(draft, {1, 2, 3, 10, 11, 12, 1, 2, 3}, 2), (Ids{10, 11}));  // no more room
  EXPECT_EQ(guess(draft, {1, 2, 3, 10, 11, 12, 1, 2, 3}, 0), Ids());
}

TEST(RepetitionDraft, GuessesNothingWithoutARepetition) {
  RepetitionDraft draft(7);
  for (const Ids& text : {Ids(), Ids{1}, Ids{1, 2, 3}, Ids{1, 1, 1}, Ids{1, 2, 3, 4, 5, 2, 3}, Ids{1, 2, 3, 4}})
    EXPECT_EQ(guess(draft, text), Ids()) << text.size();
  RepetitionDraft none(0);
  EXPECT_EQ(guess(none, {1, 2, 3, 4, 1, 2, 3}), Ids());
}

/// What repeats just before the end goes on in its own period.
TEST(RepetitionDraft, FollowsShortPeriods) {
  RepetitionDraft draft(7);
  EXPECT_EQ(guess(draft, {5, 5, 5, 5}), (Ids{5, 5, 5}));
  EXPECT_EQ(guess(draft, {1, 2, 1, 2, 1}), (Ids{2, 1, 2}));
}

/// Right guesses are followed by longer ones, up to the limit; wrong ones need longer repetitions.
TEST(RepetitionDraft, LearnsFromItsGuesses) {
  const Ids text(40, 5);
  RepetitionDraft draft(7);
  std::vector<size_t> counts;
  for (int i = 0; i < 4; ++i) {
    counts.push_back(guess(draft, text).size());
    draft.learn(counts.back());
  }
  EXPECT_EQ(counts, (std::vector<size_t>{3, 6, 7, 7}));
  guess(draft, text);
  draft.learn(2);
  EXPECT_EQ(guess(draft, text).size(), 3u);
  RepetitionDraft small(2);
  EXPECT_EQ(guess(small, text).size(), 2u);
  small.learn(2);
  EXPECT_EQ(guess(small, text).size(), 2u);

  const Ids once{1, 2, 3, 10, 1, 2, 3}, longer{9, 1, 2, 3, 10, 9, 1, 2, 3};
  RepetitionDraft wrong(7);
  EXPECT_EQ(guess(wrong, once).size(), 3u);
  wrong.learn(0);
  EXPECT_EQ(guess(wrong, once), Ids());
  EXPECT_EQ(guess(wrong, longer), (Ids{10}));
  wrong.learn(1);
  EXPECT_EQ(guess(wrong, once).size(), 2u);
}

TEST(RepetitionDraft, RefusesOtherLimits) {
  for (const int limit : {-1, 8})
    EXPECT_NE(error_message([&] { RepetitionDraft draft(limit); }).find("from 0 to 7 tokens"),
              std::string::npos);
}

}  // namespace
}  // namespace sixfold
