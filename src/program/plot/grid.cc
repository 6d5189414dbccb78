#include "program/plot/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace sixfold {
namespace {

constexpr double margin = 20, left_room = 62, top_room = 52, title_size = 15, label_size = 11;
constexpr double scale_width = 180, scale_height = 10;

/// The indices to number on an axis: about eight of `count`.
std::vector<int64_t> numbered(int64_t count) {
  int64_t step = 1;
  for (const int64_t next : {2, 5, 10, 20, 25, 50, 100, 200, 500})
    if (count / step > 10) step = next;
  std::vector<int64_t> places;
  for (int64_t i = 0; i < count; i += step) places.push_back(i);
  return places;
}

void draw_scale(Svg& svg, double left, double top) {
  constexpr int parts = 40;
  const double part = scale_width / parts;
  svg.rect({left, top, scale_width, scale_height}, "panel");
  for (int i = 0; i < parts; ++i) {
    const double value = (i + 0.5) / parts * 2 - 1;
    svg.rect({left + i * part, top, part, scale_height}, value > 0 ? "heat" : "cool", std::abs(value));
  }
  for (const int value : {-1, 0, 1})
    svg.text(left + scale_width * (value + 1) / 2, top + scale_height + label_size + 3,
             fmt::format("{}", value), {.size = label_size, .anchor = Anchor::middle, .css = "muted"});
  svg.text(left + scale_width + 16, top + scale_height, "value", {.size = label_size});
}

}  // namespace

std::string grid_svg(const GridMap& map) {
  require(map.rows > 0 && map.columns > 0 && std::ssize(map.values) == map.rows * map.columns,
          "a grid of {} x {} has {} values", map.rows, map.columns, map.values.size());
  const double cell = std::clamp(900.0 / static_cast<double>(std::max(map.rows, map.columns)), 4.0, 16.0);
  const double left = margin + left_room, top = margin + title_size + top_room;
  const double width = cell * static_cast<double>(map.columns), height = cell * static_cast<double>(map.rows);
  Svg svg;
  svg.text(margin, margin + title_size * 0.8, map.title, {.size = title_size, .css = "ink strong"});
  svg.text(left + width / 2, top - 26, map.column_label, {.size = label_size, .anchor = Anchor::middle});
  svg.text(margin + 10, top + height / 2, map.row_label,
           {.size = label_size, .anchor = Anchor::middle, .rotate = -90});
  svg.rect({left, top, width, height}, "panel");
  for (int64_t row = 0; row < map.rows; ++row)
    for (int64_t column = 0; column < map.columns; ++column) {
      const auto value = static_cast<double>(map.values[static_cast<size_t>(row * map.columns + column)]);
      svg.rect({left + cell * static_cast<double>(column), top + cell * static_cast<double>(row), cell, cell},
               value > 0 ? "heat" : "cool", std::min(1.0, std::abs(value)));
    }
  const auto middle = [&](int64_t i) { return cell * (static_cast<double>(i) + 0.5); };
  for (const int64_t column : numbered(map.columns))
    svg.text(
        left + middle(column), top - 6,
        fmt::format("{}", map.column_names.empty() ? column : map.column_names[static_cast<size_t>(column)]),
        {.size = label_size, .anchor = Anchor::middle, .css = "muted"});
  for (const int64_t row : numbered(map.rows))
    svg.text(left - 6, top + middle(row) + label_size * 0.35, fmt::format("{}", row),
             {.size = label_size, .anchor = Anchor::end, .css = "muted"});
  draw_scale(svg, left, top + height + 18);
  const double widest = std::max(
      {left + width + margin, left + scale_width + 90, 2 * margin + text_width(map.title, title_size)});
  return svg.finish(widest, top + height + 18 + scale_height + label_size + 6 + margin, map.title, map.theme);
}

}  // namespace sixfold
