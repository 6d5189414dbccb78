#include "base/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace sixfold {
namespace {

TEST(Nearest, EditDistance) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("trian", "train"), 1);  // a swap of neighbours is one step
  EXPECT_EQ(edit_distance("ca", "abc"), 3);       // restricted: what was swapped is not edited again
}

TEST(Nearest, SuggestsWhatWasMeant) {
  const std::vector<std::string> keys = {"minutes", "updates", "epochs", "seed"};
  EXPECT_EQ(nearest("minuts", keys), "minutes");
  EXPECT_EQ(nearest("update", keys), "updates");
  EXPECT_EQ(nearest("sede", keys), "seed");
  EXPECT_EQ(nearest("SEED", keys), "seed");
  EXPECT_EQ(nearest("flowers", keys), std::nullopt);
  EXPECT_EQ(nearest("", keys), std::nullopt);
  EXPECT_EQ(nearest("minutes", {}), std::nullopt);
  EXPECT_EQ(nearest(std::string(1'000'000, 'm'), keys), std::nullopt);
}

TEST(Nearest, SuggestsWhatWasShortened) {
  const std::vector<std::string> options = {"--batch-tokens", "--beam-size"};
  EXPECT_EQ(nearest("--beam", options), "--beam-size");
  EXPECT_EQ(nearest("--x", options), std::nullopt);
  EXPECT_EQ(nearest("--", options), std::nullopt);
}

TEST(Nearest, TheFirstOfEqualsWins) {
  EXPECT_EQ(nearest("cat", std::vector<std::string>{"bat", "car"}), "bat");
}

TEST(Nearest, SuggestionEndsAMessage) {
  const std::vector<std::string> keys = {"train", "valid"};
  EXPECT_EQ(suggestion("trian", keys), " (did you mean 'train'?)");
  EXPECT_EQ(suggestion("flowers", keys), " (known: train, valid)");
}

}  // namespace
}  // namespace sixfold
