#pragma once
#include <cmath>
#include <limits>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "program/plot/svg.h"

namespace sixfold {

inline size_t count(const std::string& text, std::string_view part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// Whether every element is closed in its turn, and nothing but escapes and elements holds "&" and "<".
inline bool well_formed(const std::string& xml) {
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

inline std::vector<Label> labels(const std::string& svg) {
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
inline std::vector<std::pair<double, double>> corners(const Label& label) {
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
inline bool apart(const Label& one, const Label& other) {
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

/// Two labels of the picture that touch each other, or nothing; and whether all lie within it.
inline std::string overlapping(const std::string& svg) {
  const auto all = labels(svg);
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t j = i + 1; j < all.size(); ++j)
      if (!apart(all[i], all[j])) return all[i].text + " / " + all[j].text;
  static const std::regex size("width=\"([0-9.]+)\" height=\"([0-9.]+)\"");
  std::smatch match;
  std::regex_search(svg, match, size);
  for (const Label& label : all)
    for (const auto& [x, y] : corners(label))
      if (x < 0 || y < 0 || x > std::stod(match[1]) || y > std::stod(match[2]))
        return label.text + " is cut off";
  return "";
}

}  // namespace sixfold
