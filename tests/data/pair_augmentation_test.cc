#include "data/pair_augmentation.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "data/corpus.h"
#include "temporary_folder.h"
#include "text/capitals.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

TEST(PairAugmentation, TypingErrorsChangeLettersAlone) {
  const std::string text = "Zwei Männer, 20 Jahre alt, übermalen ein 3,5 Meter hohes Haus 😀.";
  RandomStream random(1, 1);
  int64_t changed = 0, characters = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string noisy = with_typing_errors(text, random);
    ASSERT_FALSE(first_invalid_utf8(noisy));
    changed += noisy != text;
    characters += count_characters(noisy);
    std::string rest;  // what is neither a letter nor a mark stays in its order
    for (const char c : noisy)
      if ((c >= '0' && c <= '9') || c == ',' || c == '.' || c == ' ') rest += c;
    EXPECT_EQ(rest, " , 20  ,   3,5    .") << noisy;
  }
  EXPECT_GT(changed, 180);  // an error may replace a letter by itself
  EXPECT_NEAR(static_cast<double>(characters) / 200, static_cast<double>(count_characters(text)), 0.6);
  EXPECT_EQ(with_typing_errors("3.", random), "3.");
  EXPECT_EQ(with_typing_errors("a", random), "a");
}

/// About the share of the pairs has a copy, whatever the order of the pairs.
TEST(PairAugmentation, CopiesFollowTheirPair) {
  const TemporaryFolder folder;
  std::string source, target;
  for (int i = 0; i < 1000; ++i) {
    source += "the number " + std::to_string(i) + " is here\n";
    target += "die Zahl " + std::to_string(i) + " ist hier\n";
  }
  write_file_atomically(folder / "a.en", source);
  write_file_atomically(folder / "a.de", target);
  const std::vector<CorpusFiles> files{{folder / "a.en", folder / "a.de", ""}};
  const PairAugmentation how{.capitals = 0.2, .noise = 0.1, .seed = 3};
  const auto read = [&](const PairAugmentation& made) {
    std::vector<std::pair<std::string, std::string>> pairs;
    PairReader reader(files, InvalidUtf8::error, made);
    for (std::string from, to; reader.next(from, to);) pairs.emplace_back(from, to);
    EXPECT_EQ(reader.report().read, std::ssize(pairs));
    return pairs;
  };
  const auto plain = read({}), all = read(how);
  EXPECT_EQ(plain.size(), 1000u);
  EXPECT_EQ(all, read(how));
  EXPECT_NE(all, read({.capitals = 0.2, .noise = 0.1, .seed = 4}));
  size_t capitals = 0, noisy = 0, next = 0;
  for (const auto& pair : all)
    if (next < plain.size() && pair == plain[next])
      ++next;
    else if (pair == std::pair(in_capitals(plain[next - 1].first), in_capitals(plain[next - 1].second)))
      ++capitals;
    else
      noisy += pair.second == plain[next - 1].second;
  EXPECT_EQ(next, plain.size());
  EXPECT_EQ(next + capitals + noisy, all.size());
  EXPECT_NEAR(static_cast<double>(capitals), 200, 40);
  EXPECT_NEAR(static_cast<double>(noisy), 100, 30);
}

}  // namespace
}  // namespace sixfold
