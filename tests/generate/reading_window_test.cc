#include "generate/reading_window.h"

#include <gtest/gtest.h>

namespace sixfold {
namespace {

using Ids = std::vector<int32_t>;

TEST(ReadingWindow, ReadsEachTokenOnce) {
  ReadingWindow window(0);
  const auto first = window.next(3);
  EXPECT_TRUE(first.begins);
  EXPECT_EQ(first.newest, 3u);
  for (size_t length = 4; length < 1000; ++length) {
    const auto step = window.next(length);
    EXPECT_FALSE(step.begins);
    EXPECT_EQ(step.newest, 1u);
  }
}

/// Never more than the context, start token included, and always the newest tokens.
TEST(ReadingWindow, BeginsAnewWithTheLatterHalf) {
  for (const int context : {2, 3, 8, 9})
    for (size_t prompt = 0; prompt + 1 <= static_cast<size_t>(context); ++prompt) {
      ReadingWindow window(context);
      size_t read = 0;
      for (size_t length = prompt; length < prompt + 40; ++length) {
        const auto step = window.next(length);
        EXPECT_EQ(step.begins, length == prompt || read + 1 > static_cast<size_t>(context)) << length;
        if (step.begins && length > prompt) {
          EXPECT_EQ(step.newest, static_cast<size_t>(context) / 2);
        }
        read = step.begins ? 1 + step.newest : read + step.newest;
        EXPECT_LE(read, static_cast<size_t>(context));
        EXPECT_LE(step.newest, length);
      }
    }
}

TEST(ReadingWindow, BeginsWithAStartToken) {
  EXPECT_EQ(begin_window({1}, Ids{5, 6, 7}, {.begins = true, .newest = 2}), (Ids{1, 6, 7}));
  EXPECT_EQ(begin_window({-1}, Ids{}, {.begins = true, .newest = 0}), (Ids{-1}));
  const WindowStart only_alone{.token = 1, .before_text = false};
  EXPECT_EQ(begin_window(only_alone, Ids{5, 6, 7}, {.begins = true, .newest = 2}), (Ids{6, 7}));
  EXPECT_EQ(begin_window(only_alone, Ids{}, {.begins = true, .newest = 0}), (Ids{1}));
}

}  // namespace
}  // namespace sixfold
