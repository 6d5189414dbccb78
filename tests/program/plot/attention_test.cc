#include "program/plot/attention.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "program/plot/labels.h"

namespace sixfold {
namespace {

AttentionMap map_of(std::vector<std::string> source, std::vector<std::string> target, int heads) {
  AttentionMap map = {std::move(source), std::move(target), heads, {}, "a title"};
  size_t size = map.source.size() * map.target.size() * static_cast<size_t>(heads);
  map.weights.assign(size, 1.0f / static_cast<float>(map.source.size()));
  return map;
}

TEST(Attention, OneHeadIsOneMap) {
  AttentionMap map = map_of({"▁the", "▁cat"}, {"▁die", "▁Katze", "</s>"}, 1);
  map.weights = {0.25f, 0.75f, 0, 1, 0.123456f, 0.876544f};
  std::string svg = attention_svg(map);
  EXPECT_TRUE(well_formed(svg));
  EXPECT_EQ(count(svg, "class=\"heat\" fill-opacity") + count(svg, "class=\"heat\"><title>"), 6u);
  EXPECT_EQ(count(svg, "mean of heads"), 0u);
  EXPECT_EQ(count(svg, "head 1<"), 1u);
  EXPECT_NE(svg.find("<title>▁Katze → ▁cat: 1</title>"), std::string::npos);
  EXPECT_NE(svg.find("<title>&lt;/s&gt; → ▁the: 0.123456</title>"), std::string::npos);
}

TEST(Attention, SeveralHeadsComeWithTheirMean) {
  AttentionMap map = map_of({"a", "b"}, {"c"}, 2);
  map.weights = {0.25f, 0.75f, 0.75f, 0.25f};
  std::string svg = attention_svg(map);
  EXPECT_EQ(count(svg, "mean of heads"), 1u);
  EXPECT_EQ(count(svg, "c → a: 0.5<"), 1u);
  EXPECT_EQ(count(svg, "c → a: 0.25<"), 1u);
  EXPECT_EQ(count(svg, "c → a: 0.75<"), 1u);
  EXPECT_EQ(count(svg, "class=\"panel\""), 4u) << "three maps and the scale";
}

TEST(Attention, StrongerWeightsAreStrongerColours) {
  AttentionMap map = map_of({"a", "b", "c", "d"}, {"x"}, 1);
  map.weights = {0, 0.1f, 0.2f, 0.7f};
  std::string svg = attention_svg(map);
  std::regex cell("class=\"heat\" fill-opacity=\"([0-9.]+)\"");
  double last = -1;
  for (std::sregex_iterator match(svg.begin(), svg.end(), cell), end; match != end; ++match) {
    double strength = std::stod((*match)[1]);
    EXPECT_GT(strength, last);
    last = strength;
  }
  EXPECT_GT(last, 0.7);
}

TEST(Attention, NoLabelsOverlapAndNoneLeavesThePicture) {
  std::vector<std::string> german(25, "▁liest"), english(30, "▁woman"), japanese(14, "日本語です");
  english[4] = "▁Donaudampfschifffahrtsgesellschaftskapitän";
  english.back() = german[3] = "▁incomprehensibilities";
  for (int heads : {1, 2, 3, 4, 8, 16})
    for (const AttentionMap& map : {map_of({"▁a"}, {"▁b"}, heads), map_of(english, german, heads),
                                    map_of(japanese, {"▁I", "▁am", "▁a", "▁cat"}, heads)}) {
      std::string svg = attention_svg(map);
      std::smatch size;
      ASSERT_TRUE(std::regex_search(svg, size, std::regex("width=\"([0-9.]+)\" height=\"([0-9.]+)\"")));
      double width = std::stod(size[1]), height = std::stod(size[2]);
      std::vector<Label> all = labels(svg);
      ASSERT_EQ(all.size(), count(svg, "<text "));
      for (size_t i = 0; i < all.size(); ++i) {
        for (auto [x, y] : corners(all[i]))
          EXPECT_TRUE(x >= 0 && y >= 0 && x <= width && y <= height) << all[i].text;
        for (size_t j = 0; j < i; ++j)
          EXPECT_TRUE(apart(all[i], all[j])) << all[i].text << " and " << all[j].text;
      }
    }
}

TEST(Attention, HostilePiecesStayText) {
  AttentionMap map =
      map_of({"<script>alert(1)</script>", "&amp;", "\"'", "\x01\n", "\xff", ""}, {"]]>", "\u202e"}, 3);
  map.title = "<svg onload=\"x\"> " + std::string(5000, 'W');
  std::string svg = attention_svg(map);
  EXPECT_TRUE(well_formed(svg));
  EXPECT_EQ(count(svg, "<script"), 0u);
  EXPECT_EQ(count(svg, "<svg"), 1u);
}

TEST(Attention, RefusesWhatIsNoAttention) {
  EXPECT_THROW(attention_svg(map_of({"a"}, {}, 1)), Error);
  EXPECT_THROW(attention_svg(map_of({"a"}, {"b"}, 0)), Error);
  AttentionMap map = map_of({"a", "b"}, {"c"}, 1);
  map.weights.pop_back();
  EXPECT_THROW(attention_svg(map), Error);
  for (float bad : {-0.1f, 1.5f, std::nanf("")}) {
    map.weights = {bad, 0.5f};
    EXPECT_THROW(attention_svg(map), Error) << bad;
  }
}

}  // namespace
}  // namespace sixfold
