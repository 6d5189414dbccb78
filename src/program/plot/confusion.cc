#include "program/plot/confusion.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace sixfold {
namespace {

constexpr double margin = 20, title_size = 15, label_size = 11, longest_label = 150, height = 28;
constexpr double slant = -60;                // of the predicted labels, in degrees
constexpr double steep = 0.866, flat = 0.5;  // sine and cosine of 60 degrees

/// The width of a column, which is wide enough for all counts.
double column_width(const ConfusionMap& map) {
  const int64_t largest = *std::ranges::max_element(map.counts);
  return std::max(height, text_width(fmt::format("{}", largest), label_size) + 10);
}

}  // namespace

std::string confusion_svg(const ConfusionMap& map) {
  const size_t n = map.labels.size();
  require(n > 0, "a confusion matrix needs at least one label");
  require(map.counts.size() == n * n, "a confusion matrix of {} labels has {} counts", n, map.counts.size());
  const double cell = column_width(map), reach = widest_text(map.labels, label_size, longest_label),
               side = cell * static_cast<double>(n);
  const double left = margin + reach + 8, right = left + side + std::max(0.0, reach * flat - cell / 2) + margin;
  const std::string axes = "rows: true labels, columns: predicted labels; the shade is the share of the row";
  const double width = std::max(
      {right, text_width(map.title, title_size) + 2 * margin, text_width(axes, label_size) + 2 * margin});
  Svg svg;
  const double top = draw_title(svg, map.title, margin, margin, width - 2 * margin) + 14 + reach * steep;
  for (size_t row = 0; row < n; ++row) {
    const double x = left + cell * (static_cast<double>(row) + 0.5) + label_size * 0.3;
    const double y = top + height * static_cast<double>(row), middle = y + height / 2 + label_size * 0.35;
    svg.text(x, top - 5, elided(map.labels[row], label_size, longest_label),
             {.size = label_size, .rotate = slant}, map.labels[row]);
    svg.text(left - 6, middle, elided(map.labels[row], label_size, longest_label),
             {.size = label_size, .anchor = Anchor::end}, map.labels[row]);
    int64_t sum = 0;
    for (size_t column = 0; column < n; ++column) sum += map.counts[row * n + column];
    for (size_t column = 0; column < n; ++column) {
      const int64_t count = map.counts[row * n + column];
      const double share = sum > 0 ? static_cast<double>(count) / static_cast<double>(sum) : 0;
      const double begin = left + cell * static_cast<double>(column);
      svg.rect({begin, y, cell - 1, height - 1}, "panel");
      // At most 60%, so that the number on it can be read.
      svg.rect({begin, y, cell - 1, height - 1}, "heat", 0.6 * share,
               fmt::format("{} as {}: {} ({:.1f}%)", map.labels[row], map.labels[column], count, 100 * share));
      svg.text(begin + cell / 2, middle, fmt::format("{}", count),
               {.size = label_size, .anchor = Anchor::middle});
    }
  }
  const double bottom = top + height * static_cast<double>(n) + 8 + label_size;
  svg.text(margin, bottom, axes, {.size = label_size, .css = "muted"});
  return svg.finish(width, bottom + margin, map.title, map.theme);
}

}  // namespace sixfold
