#include "plot/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <regex>

#include "base/error.h"
#include "plot/svg.h"

namespace sixfold {
namespace {

AttentionMap map_of(std::vector<std::string> source, std::vector<std::string> target, int heads) {
  AttentionMap map = {std::move(source), std::move(target), heads, {}, "a title"};
  size_t size = map.source.size() * map.target.size() * static_cast<size_t>(heads);
  map.weights.assign(size, 1.0f / static_cast<float>(map.source.size()));
  return map;
}

size_t count(const std::string& text, std::string_view part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// Whether every element is closed in its turn, and nothing but escapes and elements holds "&" and "<".
bool well_formed(const std::string& xml) {
  std::vector<std::string> open;
  for (size_t at = 0; at < xml.size(); ++at) {
    if (xml[at] == '&' &&
        !std::regex_search(xml.begin() + static_cast<long>(at), xml.end(), std::regex("^&(amp|lt|gt|quot);")))
      return false;
    if (static_cast<unsigned char>(xml[at]) < 0x20 && xml[at] != '\n') return false;
    if (xml[at] != '<') continue;
    size_t end = xml.find('>', at);
    if (end == std::string::npos) return false;
    std::string tag = xml.substr(at + 1, end - at - 1);
    std::string name = tag.substr(0, tag.find(' '));
    if (tag[0] == '/') {
      if (open.empty() || "/" + open.back() != tag) return false;
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
    at = end;
  }
  return open.empty();
}

struct Label {
  double x, y, size, turn;
  std::string anchor, text;
};

std::vector<Label> labels(const std::string& svg) {
  static const std::regex element(
      "<text x=\"([-0-9.]+)\" y=\"([-0-9.]+)\" font-size=\"([0-9.]+)\" class=\"[a-z ]+\""
      "(?: text-anchor=\"([a-z]+)\")?(?: transform=\"rotate\\(([-0-9.]+) [^\"]*\\)\")?>"
      "(?:<title>[^<]*</title>)?([^<]*)</text>");
  std::vector<Label> found;
  for (std::sregex_iterator match(svg.begin(), svg.end(), element), end; match != end; ++match) {
    const std::smatch& m = *match;
    found.push_back(
        {std::stod(m[1]), std::stod(m[2]), std::stod(m[3]), m[5].matched ? std::stod(m[5]) : 0, m[4], m[6]});
  }
  return found;
}

/// The four corners of a label's box.
std::vector<std::pair<double, double>> corners(const Label& label) {
  double width = text_width(label.text, label.size);
  double left = label.anchor == "end" ? -width : label.anchor == "middle" ? -width / 2 : 0;
  double angle = label.turn * M_PI / 180, c = std::cos(angle), s = std::sin(angle);
  std::vector<std::pair<double, double>> points;
  for (double x : {left, left + width})
    for (double y : {-0.75 * label.size, 0.2 * label.size})
      points.push_back({label.x + x * c - y * s, label.y + x * s + y * c});
  return points;
}

/// Whether a line along one of the two labels' directions separates them.
bool apart(const Label& one, const Label& other) {
  for (double turn : {one.turn, other.turn, one.turn + 90, other.turn + 90}) {
    double angle = turn * M_PI / 180;
    double low[2], high[2];
    int side = 0;
    for (const Label* label : {&one, &other}) {
      low[side] = std::numeric_limits<double>::max();
      high[side] = -low[side];
      for (auto [x, y] : corners(*label)) {
        double along = x * std::cos(angle) + y * std::sin(angle);
        low[side] = std::min(low[side], along);
        high[side] = std::max(high[side], along);
      }
      ++side;
    }
    if (high[0] <= low[1] || high[1] <= low[0]) return true;
  }
  return false;
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
