#include "search/reading_window.h"

#include <gtest/gtest.h>

namespace sixfold {
namespace {

using Ids = std::vector<int32_t>;

TEST(ReadingWindow, ReadsEachTokenOnce) {
  ReadingWindow window(0, {1});
  const auto first = window.next(3);
  EXPECT_TRUE(first.begins);
  EXPECT_EQ(first.newest, 3u);
  for (size_t length = 4; length < 1000; ++length) {
    const auto step = window.next(length);
    EXPECT_FALSE(step.begins);
    EXPECT_EQ(step.newest, 1u);
  }
}

/// Never more than the context, start token included if it is read, and always the newest tokens.
TEST(ReadingWindow, BeginsAnewWithTheLatterHalf) {
  for (const bool before_text : {true, false})
    for (const int context : {2, 3, 8, 9})
      for (size_t prompt = 0; prompt + (before_text ? 1 : 0) <= static_cast<size_t>(context); ++prompt) {
        ReadingWindow window(context, {.token = 1, .before_text = before_text});
        size_t read = 0;
        for (size_t length = prompt; length < prompt + 40; ++length) {
          const auto step = window.next(length);
          EXPECT_EQ(step.begins, length == prompt || read + 1 > static_cast<size_t>(context)) << length;
          if (step.begins && length > prompt) {
            EXPECT_EQ(step.newest, static_cast<size_t>(context) / 2);
          }
          read = step.begins ? window.begin(Ids(length), step).size() : read + step.newest;
          EXPECT_LE(read, static_cast<size_t>(context));
          EXPECT_LE(step.newest, length);
        }
      }
}

/// Tokens that are read ahead do not change where windows begin.
TEST(ReadingWindow, ReadsAhead) {
  for (const int context : {0, 5, 8}) {
    ReadingWindow window(context, {1}), plain(context, {1});
    std::vector<size_t> begins, expected;
    for (size_t length = 3; length < 60; ++length)
      if (plain.next(length).begins) expected.push_back(length);
    for (size_t length = 3; length < 60;) {
      const auto step = window.next(length);
      if (step.begins) begins.push_back(length);
      if (!step.begins) {
        EXPECT_EQ(step.newest, 1u);
      }
      const size_t ahead = std::min<size_t>(window.room(), length % 3);
      window.read_ahead(ahead);
      length += 1 + ahead;
    }
    EXPECT_EQ(begins, expected) << context;
  }
}

TEST(ReadingWindow, BeginsWithAStartToken) {
  const auto begin = [](const WindowStart& start, const Ids& text, size_t newest) {
    return ReadingWindow(8, start).begin(text, {.begins = true, .newest = newest});
  };
  EXPECT_EQ(begin({1}, {5, 6, 7}, 2), (Ids{1, 6, 7}));
  EXPECT_EQ(begin({-1}, {}, 0), (Ids{-1}));
  const WindowStart only_alone{.token = 1, .before_text = false};
  EXPECT_EQ(begin(only_alone, {5, 6, 7}, 2), (Ids{6, 7}));
  EXPECT_EQ(begin(only_alone, {}, 0), (Ids{1}));
}

/// A model that reads no start token before a text reads as many tokens of it as it has positions.
TEST(ReadingWindow, AllPositionsAreForATextWithoutAStartToken) {
  ReadingWindow window(4, {.token = 1, .before_text = false});
  EXPECT_EQ(window.next(3).newest, 3u);
  EXPECT_FALSE(window.next(4).begins);
  EXPECT_TRUE(window.next(5).begins);
}

}  // namespace
}  // namespace sixfold
