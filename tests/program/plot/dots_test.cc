#include "program/plot/dots.h"

#include <gtest/gtest.h>

#include <cmath>
#include <regex>
#include <set>

#include "error_message.h"
#include "program/plot/labels.h"

namespace sixfold {
namespace {

const std::vector<std::string> names{"base", "heads-1",
                                     "a-very-long-name-that-somebody-gave-to-a-recipe-of-theirs"};

TEST(Dots, HaveOneForEachValue) {
  const std::string svg =
      dots_svg("Sweep", names, {{"BLEU", {31.5, NAN, 30}, 1}, {"minutes", {1, 2, 12.25}, 2}});
  EXPECT_TRUE(well_formed(svg));
  EXPECT_EQ(overlapping(svg), "");
  EXPECT_EQ(count(svg, "<circle"), 5u);
  for (const char* text : {">31.5</text>", ">12.25</text>", ">BLEU<", ">minutes<", ">heads-1<"})
    EXPECT_NE(svg.find(text), std::string::npos) << text;
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

/// Values may differ by rounding alone.
TEST(Dots, ARangeMayBeNarrow) {
  const double value = 0.034176;
  const std::string svg = dots_svg("Sweep", {"a", "b"}, {{"sizes", {value, std::nextafter(value, 1)}, 3}});
  EXPECT_EQ(count(svg, "<circle"), 2u);
  EXPECT_EQ(overlapping(svg), "");
}

TEST(Dots, NothingTouchesWithAnyValues) {
  for (const double value : {0.0, -3.0, 1e-9, 123456.789, 1e12}) {
    const std::string svg = dots_svg(
        "Sweep", names, {{"all the same", {value, value, value}, 2}, {"two", {value, NAN, 2 * value}, 0}});
    EXPECT_TRUE(well_formed(svg));
    EXPECT_EQ(overlapping(svg), "") << value;
  }
}

/// The numbers of an axis are distinct, and those of values that are not negative are not either.
TEST(Dots, AxesHaveDistinctNumbersOfTheSignOfTheValues) {
  for (const std::vector<double>& values : {std::vector<double>{0.3}, {0.0, 2.0}, {1234567.1, 1234567.2}}) {
    const std::string svg =
        dots_svg("Sweep", std::vector<std::string>(values.size(), "row"), {{"minutes", values, 2}});
    std::set<std::string> numbers;
    const std::regex label("text-anchor=\"middle\"[^>]*>([^<]*)<");
    for (std::sregex_iterator at(svg.begin(), svg.end(), label), end; at != end; ++at) {
      EXPECT_TRUE(numbers.insert((*at)[1]).second) << (*at)[1];
      EXPECT_FALSE((*at)[1].str().starts_with("-")) << (*at)[1];
    }
    EXPECT_FALSE(numbers.empty());
  }
}

/// Numbers that no value has would say that there is a range.
TEST(Dots, AColumnOfOneValueHasItsNumberAlone) {
  const std::string svg = dots_svg("Sweep", {"a", "b"}, {{"updates", {60, 60}, 0}});
  EXPECT_EQ(count(svg, "text-anchor=\"middle\""), 1u);
  EXPECT_NE(svg.find("text-anchor=\"middle\">60</text>"), std::string::npos) << svg;
  EXPECT_EQ(overlapping(svg), "");
}

TEST(Dots, ALongTitleIsBroken) {
  const std::string title =
      "A title of which the words need more room than the picture of one panel has, by far";
  const std::string svg = dots_svg(title, {"a"}, {{"BLEU", {1}, 1}});
  EXPECT_EQ(svg.find("…"), std::string::npos);
  EXPECT_EQ(overlapping(svg), "");
}

/// A deviation is a line around the dot, which the axis contains.
TEST(Dots, HaveErrorBars) {
  const std::string svg = dots_svg("Sweep", names,
                                   {{.title = "BLEU",
                                     .values = {30, NAN, 50},
                                     .digits = 1,
                                     .deviations = {10, 0, 0},
                                     .texts = {"30.0 ± 10.0 *", "", "50.0 ± 0.0"}}});
  EXPECT_TRUE(well_formed(svg));
  EXPECT_EQ(overlapping(svg), "");
  EXPECT_EQ(count(svg, "class=\"line0\""), 1u);
  EXPECT_EQ(count(svg, "<circle"), 2u);
  EXPECT_NE(svg.find(">30.0 ± 10.0 *</text>"), std::string::npos) << svg;
  std::smatch bar, dots;
  const std::regex line("class=\"line0\"[^>]*points=\"([0-9.]+),[0-9.]+ ([0-9.]+),"), dot("cx=\"([0-9.]+)\"");
  ASSERT_TRUE(std::regex_search(svg, bar, line)) << svg;
  ASSERT_TRUE(std::regex_search(svg, dots, dot));
  const double left = std::stod(bar[1]), right = std::stod(bar[2]), centre = std::stod(dots[1]);
  EXPECT_NEAR(left + right, 2 * centre, 0.3);
  EXPECT_NEAR((right - left) / 2, 170 * 10 / (30 * 1.16), 1);  // 20 to 50 with air of 8 % on both sides
}

TEST(Dots, NeedSomethingToDraw) {
  EXPECT_NE(error_message([] { dots_svg("", {}, {{"BLEU", {}}}); }), "");
  EXPECT_NE(error_message([] { dots_svg("", {"a"}, {}); }), "");
  EXPECT_NE(error_message([] { dots_svg("", {"a"}, {{"BLEU", {NAN}}}); }), "");
  EXPECT_NE(error_message([] { dots_svg("", {"a"}, {{"BLEU", {1, 2}}}); }), "");
  EXPECT_NE(error_message([] { dots_svg("", {"a"}, {{"BLEU", {1}, 1, {1, 2}}}); }), "");
}

}  // namespace
}  // namespace sixfold
