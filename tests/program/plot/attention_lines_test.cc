#include <gtest/gtest.h>

#include "base/error.h"
#include "error_message.h"
#include "program/plot/attention.h"
#include "program/plot/labels.h"

namespace sixfold {
namespace {

/// Two heads over two tokens on the left and three on the right.
AttentionMap map_of_two_heads() {
  return {.source = {"▁the", "▁cat", "</s>"},
          .target = {"▁die", "▁Katze"},
          .heads = 2,
          .weights = {1, 0, 0, 0.25f, 0.75f, 0, 0.5f, 0.49f, 0.01f, 0, 0, 1},
          .title = "a title"};
}

TEST(AttentionLines, EachHeadHasAPanelWithALineForEachWeightThatIsSeen) {
  const std::string svg = attention_lines_svg(map_of_two_heads(), {});
  EXPECT_TRUE(well_formed(svg));
  EXPECT_EQ(count(svg, "<polyline"), 6u) << "three of each head; 0.01 is not seen";
  EXPECT_EQ(count(svg, ">head 1<"), 1u);
  EXPECT_EQ(count(svg, ">head 2<"), 1u);
  EXPECT_EQ(count(svg, "<title>head 1: ▁Katze → ▁cat: 0.75</title>"), 1u);
  EXPECT_EQ(count(svg, "stroke-opacity=\"0.750\""), 1u);
  EXPECT_EQ(count(svg, ">▁cat</text>"), 2u) << "once in each panel";
}

TEST(AttentionLines, HeadsAndATokenAreChosen) {
  const std::string second = attention_lines_svg(map_of_two_heads(), {.heads = {1}, .token = {}});
  EXPECT_EQ(count(second, ">head 1<"), 0u);
  EXPECT_EQ(count(second, "<polyline"), 3u);
  for (const std::string token : {"Katze", "▁Katze"}) {
    const std::string svg = attention_lines_svg(map_of_two_heads(), {.heads = {}, .token = token});
    EXPECT_EQ(count(svg, "<polyline"), 3u) << "two of the first head and one of the second, in one panel";
    EXPECT_EQ(count(svg, ">▁cat</text>"), 1u);
    EXPECT_EQ(count(svg, "class=\"line0\""), 2u);
    EXPECT_EQ(count(svg, "class=\"line1\""), 1u);
  }
  EXPECT_EQ(error_message([] { attention_lines_svg(map_of_two_heads(), {.heads = {2}, .token = {}}); }),
            "--heads 2: the layer has heads 0 to 1");
  EXPECT_EQ(error_message([] { attention_lines_svg(map_of_two_heads(), {.heads = {}, .token = "Hund"}); }),
            "--token: no row has the token 'Hund'; the tokens are: ▁die ▁Katze");
}

TEST(AttentionLines, NoLabelsOverlapAndNoneLeavesThePicture) {
  for (const int heads : {1, 2, 5, 16})
    for (const std::string token : {"", "b"})
      for (const size_t length : {1u, 3u, 40u}) {
        AttentionMap map = {.source = std::vector<std::string>(length, "▁incomprehensibilities"),
                            .target = std::vector<std::string>(2, "b"),
                            .heads = heads,
                            .weights = {},
                            .title = "Attention of decoder layer 4 of 4 to the source"};
        map.weights.assign(static_cast<size_t>(heads) * 2 * length, 1.0f / static_cast<float>(length));
        const std::string svg = attention_lines_svg(map, {.heads = {}, .token = token});
        std::smatch size;
        ASSERT_TRUE(std::regex_search(svg, size, std::regex("width=\"([0-9.]+)\" height=\"([0-9.]+)\"")));
        const double width = std::stod(size[1]), height = std::stod(size[2]);
        const std::vector<Label> all = labels(svg);
        ASSERT_EQ(all.size(), count(svg, "<text "));
        for (size_t i = 0; i < all.size(); ++i) {
          for (auto [x, y] : corners(all[i]))
            EXPECT_TRUE(x >= 0 && y >= 0 && x <= width && y <= height) << all[i].text;
          for (size_t j = 0; j < i; ++j)
            EXPECT_TRUE(apart(all[i], all[j])) << all[i].text << " and " << all[j].text << heads << token;
        }
      }
}

TEST(AttentionLines, RefusesWhatIsNoAttention) {
  AttentionMap map = map_of_two_heads();
  map.weights.pop_back();
  EXPECT_THROW(attention_lines_svg(map, {}), Error);
  map.weights.push_back(2);
  EXPECT_THROW(attention_lines_svg(map, {}), Error);
}

}  // namespace
}  // namespace sixfold
