#include "program/plot/patches.h"

#include <gtest/gtest.h>

#include <regex>

#include "base/base64.h"
#include "base/error.h"
#include "error_message.h"
#include "program/plot/labels.h"

namespace sixfold {
namespace {

/// Two tokens over the four patches of a picture of 4 x 4 pixels.
PatchMap small_map() {
  return {.png = "bytes of a PNG",
          .height = 4,
          .width = 4,
          .patch = 2,
          .stride = 2,
          .tokens = {"a<b", "</s>"},
          .weights = {0.5f, 0.25f, 0.25f, 0, 0, 0, 0, 1},
          .title = "a caption"};
}

/// The opacities of the veils, in the order of drawing.
std::vector<double> veils(const std::string& svg) {
  std::vector<double> found;
  const std::regex veil("class=\"paper\" fill-opacity=\"([0-9.]+)\"");
  for (std::sregex_iterator match(svg.begin(), svg.end(), veil), end; match != end; ++match)
    found.push_back(std::stod((*match)[1]));
  return found;
}

TEST(Patches, APanelForEachTokenAndOneForThePicture) {
  const std::string svg = patches_svg(small_map());
  EXPECT_TRUE(well_formed(svg));
  EXPECT_EQ(count(svg, "<image "), 3u);
  EXPECT_EQ(count(svg, "href=\"data:image/png;base64," + base64("bytes of a PNG") + "\""), 3u);
  EXPECT_EQ(count(svg, ">picture<"), 1u);
  EXPECT_EQ(count(svg, "<title>a&lt;b: 0.250</title>"), 2u);
  EXPECT_EQ(count(svg, ">0.50<"), 1u) << "the largest weight";
  EXPECT_EQ(count(svg, ">1.00<"), 1u);
}

/// Where a token looks most, the picture is clear; where it looks less, it is veiled more.
TEST(Patches, WhatIsNotLookedAtIsVeiled) {
  const std::vector<double> found = veils(patches_svg(small_map()));
  ASSERT_EQ(found.size(), 8u);
  EXPECT_EQ(found[0], 0);
  EXPECT_EQ(found[1], found[2]);
  EXPECT_GT(found[1], 0.1);
  EXPECT_GT(found[3], found[1]);
  EXPECT_EQ(found[7], 0);
  EXPECT_EQ(found[4], found[3]);
}

/// Patches of 2, one pixel apart: each gives a quarter of its weight to each of its four pixels.
TEST(Patches, OverlappingPatchesAddUp) {
  PatchMap map = small_map();
  map.stride = 1;
  map.tokens = {"x"};
  map.weights = {0, 0, 0, 0, 0.4f, 0, 0, 0, 0.6f};  // in the middle, and at the lower right
  const std::string svg = patches_svg(map);
  EXPECT_EQ(count(svg, "<title>x: 0.100</title>"), 3u);
  EXPECT_EQ(count(svg, "<title>x: 0.250</title>"), 1u);
  EXPECT_EQ(count(svg, "<title>x: 0.150</title>"), 3u);
  EXPECT_EQ(count(svg, "<title>x: 0.000</title>"), 9u);
}

TEST(Patches, RefusesWhatDoesNotFit) {
  const auto expect = [](const PatchMap& map, std::string_view text) {
    EXPECT_NE(error_message([&] { patches_svg(map); }).find(text), std::string::npos);
  };
  PatchMap map = small_map();
  map.weights.pop_back();
  expect(map, "7 values for 2 tokens and 2 x 2 patches");
  map = small_map(), map.weights[0] = 1.5f;
  expect(map, "attention weight 1.5 is not between 0 and 1");
  map = small_map(), map.weights[0] = std::nanf("");
  expect(map, "is not between 0 and 1");
  map = small_map(), map.patch = 5;
  expect(map, "do not fit a picture");
  map = small_map(), map.tokens.clear(), map.weights.clear();
  expect(map, "0 values for 0 tokens");
}

}  // namespace
}  // namespace sixfold
