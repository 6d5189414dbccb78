#include "program/plot/chart.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "error_message.h"
#include "program/plot/axis.h"
#include "program/plot/grid.h"
#include "program/plot/labels.h"
#include "program/plot/png.h"

namespace sixfold {
namespace {

using Doubles = std::vector<double>;

Series series(const std::string& name, Doubles y, double step = 1) {
  Series s{.name = name, .y = std::move(y)};
  for (size_t i = 0; i < s.y.size(); ++i) s.x.push_back(static_cast<double>(i) * step);
  return s;
}

TEST(Ticks, AreRound) {
  EXPECT_EQ(ticks(0, 10, 5), (Doubles{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(ticks(1, 9, 5), (Doubles{2, 4, 6, 8}));
  EXPECT_EQ(ticks(3, 3, 5), (Doubles{3}));
  EXPECT_EQ(ticks(-1, 1, 4), (Doubles{-1, -0.5, 0, 0.5, 1}));
  const auto small = ticks(1e-7, 9e-7, 4);
  EXPECT_NEAR(small.front(), 2e-7, 1e-12);
  EXPECT_NE(error_message([] { ticks(2, 1, 3); }), "");
}

TEST(Chart, PointsWithoutNeighboursAreSeen) {
  const auto svg_of = [](Doubles y) {
    return charts_svg("t",
                      {{.title = "", .x_label = "x", .y_label = "y", .series = {series("s", std::move(y))}}});
  };
  EXPECT_NE(svg_of({3}).find("<circle"), std::string::npos);
  EXPECT_NE(svg_of({3, 4, NAN, 5}).find("<circle"), std::string::npos);
  EXPECT_EQ(svg_of({3, 4}).find("<circle"), std::string::npos);
}

TEST(Chart, WhatIsNeverNegativeBeginsAtZero) {
  for (const Doubles& y : {Doubles{0}, Doubles{0, 0, 0}, Doubles{0, 0.1}, Doubles{0, 30}}) {
    const std::string svg =
        charts_svg("t", {{.title = "", .x_label = "x", .y_label = "BLEU", .series = {series("s", y)}}});
    EXPECT_EQ(svg.find(">-"), std::string::npos) << svg;
    EXPECT_NE(svg.find(">0</text>"), std::string::npos) << svg;
  }
}

std::vector<std::string> label_texts(const std::string& svg) {
  std::vector<std::string> texts;
  for (const Label& label : labels(svg)) texts.push_back(label.text);
  return texts;
}

bool has_label(const std::string& svg, const std::string& text) {
  const std::vector<std::string> texts = label_texts(svg);
  return std::ranges::find(texts, text) != texts.end();
}

std::string drawn(std::vector<Series> curves, bool log = false) {
  return charts_svg("t", {{.title = "c",
                           .x_label = "x",
                           .y_label = "y",
                           .series = std::move(curves),
                           .log_x = log,
                           .log_y = log}});
}

Series styled(const std::string& name, Doubles y, size_t number) {
  Series s = series(name, std::move(y));
  s.set_style(number);
  return s;
}

/// A curve that lies on another would hide it.
TEST(Chart, CurvesThatCoincideAreAllSeen) {
  const std::string same =
      drawn({styled("one", {1, 2, 3}, 0), styled("two", {1, 2, 3}, 1), styled("third", {3, 2, 1}, 2)});
  EXPECT_EQ(count(same, "class=\"line0\" stroke-width=\"2.4\" stroke-dasharray=\"9 9\" points"), 1u);
  EXPECT_EQ(
      count(same, "class=\"line1\" stroke-width=\"2.4\" stroke-dasharray=\"9 9\" stroke-dashoffset=\"-9\""),
      1u);
  EXPECT_TRUE(has_label(same, "two (the same as one)"));
  EXPECT_TRUE(has_label(same, "Where curves coincide, their colours alternate."));
  EXPECT_EQ(overlapping(same), "");
  // Where they part, each has a line of its own.
  const std::string partly = drawn({styled("one", {1, 2, 3, 5}, 0), styled("two", {1, 2, 3, 4}, 1)});
  EXPECT_EQ(count(partly, "stroke-dasharray=\"9 9\""), 2u);
  EXPECT_EQ(count(partly, "stroke-width=\"1.8\""), 2u);
  EXPECT_TRUE(has_label(partly, "two"));
  const std::string apart = drawn({styled("one", {1, 2}, 0), styled("two", {2, 1}, 1)});
  EXPECT_EQ(apart.find("dasharray"), std::string::npos);
  EXPECT_EQ(apart.find("coincide"), std::string::npos);
  EXPECT_TRUE(has_label(drawn({styled("one", {1, 2}, 0), styled("two", {1, 2}, 1)}),
                        "All curves coincide; their colours alternate."));
  const std::string points = drawn({styled("one", {1}, 0), styled("two", {1}, 1)});
  EXPECT_NE(points.find("r=\"6\" class=\"area0\""), std::string::npos);
  EXPECT_NE(points.find("r=\"3.5\" class=\"area1\""), std::string::npos);
}

TEST(Chart, ManyCurvesHaveStylesOfTheirOwn) {
  std::set<std::pair<int, int>> styles;
  for (size_t i = 0; i < 24; ++i) styles.insert({styled("s", {}, i).color, styled("s", {}, i).dash});
  EXPECT_EQ(styles.size(), 24u);
}

/// Numbers that no value has would say that there is a range.
TEST(Chart, AnAxisOfOneValueHasItsNumberAlone) {
  for (const double value : {100.0, 0.25, -3.0, 0.0}) {
    const std::string svg = drawn({series("s", {value, value, value}, 2)});
    EXPECT_EQ(label_texts(svg), (std::vector<std::string>{"t", "c", fmt::format("{}", value), "0", "1", "2",
                                                          "3", "4", "x", "y"}));
  }
}

TEST(Chart, ALogarithmicAxisOfOneValueHasItsNumberAlone) {
  Series s{.name = "s", .x = {1, 10, 100}, .y = {0.5, 0.5, 0.5}};
  EXPECT_EQ(label_texts(drawn({s}, /*log=*/true))[2], "0.5");
  EXPECT_EQ(label_texts(drawn({s}, true))[3], "1");
}

/// Less than a power of ten has no numbers such as 1 and 2.
TEST(Chart, EveryAxisHasNumbers) {
  for (const auto& [low, high] : {std::pair{64.0, 80.0}, {1.05, 1.3}, {0.0011, 0.0014}, {1, 3}, {1e-6, 1e7}}) {
    Series s{.name = "s", .x = {low, high}, .y = {low, high}};
    const std::vector<std::string> texts = label_texts(drawn({s}, /*log=*/true));
    EXPECT_GE(texts.size(), 4u + 2 * 3) << low;  // title, name, two labels, and three numbers of each axis
    EXPECT_EQ(overlapping(drawn({s}, true)), "");
  }
}

TEST(Ticks, TextsTellThemApart) {
  EXPECT_EQ(tick_texts({0, 0.5, 1}), (std::vector<std::string>{"0", "0.5", "1"}));
  EXPECT_EQ(tick_texts({10'000, 2'000'000}), (std::vector<std::string>{"10k", "2M"}));
  EXPECT_EQ(tick_texts({5.01234, 5.01236}), (std::vector<std::string>{"5.0123", "5.0124"}));
}

TEST(Chart, NothingTouchesOrIsCutOff) {
  const std::string path = "/a/very/long/path/of/a/run/that/somebody/has/on/a/disk";
  std::vector<Chart> charts;
  for (int i = 0; i < 3; ++i)
    charts.push_back(
        {.title = "A title that is rather long for what it stands above, and goes on and on and on",
         .x_label = "updates",
         .y_label = "cross entropy [nats]",
         .series = {series(path + "1", {5, 4, 3.5}, 50'000), series(path + "2", {0.001, 7, 2}, 40'000),
                    series("third", {NAN, 1, 2}, 1)}});
  charts.push_back({.title = "log",
                    .x_label = "x",
                    .y_label = "y",
                    .series = {series("one", {1e-6, 1, 1e7}, 1)},
                    .log_x = true,
                    .log_y = true});
  for (const Theme theme : {Theme::automatic, Theme::light, Theme::dark}) {
    const std::string svg = charts_svg("Training", charts, theme);
    EXPECT_TRUE(well_formed(svg));
    EXPECT_EQ(overlapping(svg), "");
    EXPECT_EQ(count(svg, "prefers-color-scheme"), theme == Theme::automatic ? 1u : 0u);
  }
}

TEST(Chart, DrawsWhatThereIs) {
  const std::string gap = charts_svg("t", {{.title = "g", .series = {series("s", {1, 2, NAN, 2, 1})}}});
  EXPECT_EQ(count(gap, "<polyline class=\"line0\" stroke-width=\"1.8\""), 2u);  // on both sides of the gap
  const std::string flat = charts_svg("t", {{.title = "f", .series = {series("s", {3, 3, 3})}}});
  EXPECT_EQ(overlapping(flat), "");
  const std::string point = charts_svg("t", {{.title = "p", .series = {series("s", {3})}}});
  EXPECT_TRUE(well_formed(point));
  Series bars{.name = "bars", .x = {0, 1, 2}, .y = {5, 7}, .steps = true};
  EXPECT_EQ(count(charts_svg("t", {{.title = "h", .series = {bars}, .from_zero = true}}), "<polygon"), 1u);
  bars.x.pop_back();
  EXPECT_NE(error_message([&] { charts_svg("t", {{.series = {bars}}}); }).find("has 2 x values"),
            std::string::npos);
  EXPECT_NE(error_message([] { charts_svg("t", {}); }).find("nothing to draw"), std::string::npos);
  EXPECT_NE(error_message([] { charts_svg("t", {{.series = {series("s", {})}}}); }).find("nothing"),
            std::string::npos);
}

TEST(Grid, DrawsACellForEachNumber) {
  GridMap map{.title = "Encodings",
              .row_label = "position",
              .column_label = "feature",
              .rows = 40,
              .columns = 128,
              .values = std::vector<float>(40 * 128, -0.5f)};
  const std::string svg = grid_svg(map);
  EXPECT_TRUE(well_formed(svg));
  EXPECT_EQ(overlapping(svg), "");
  EXPECT_GE(count(svg, "class=\"cool\""), 40u * 128u);
  map.values.pop_back();
  EXPECT_NE(error_message([&] { grid_svg(map); }).find("values"), std::string::npos);
}

TEST(Png, IsDrawnOrSaidToNeedALibrary) {
  const std::string svg = charts_svg("t", {{.title = "g", .series = {series("s", {1, 2})}}});
  try {
    EXPECT_TRUE(png_of_svg(svg).starts_with("\x89PNG"));
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("librsvg"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace sixfold
