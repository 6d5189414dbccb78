#include "program/plot/dots.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "program/plot/axis.h"

namespace sixfold {
namespace {

constexpr double margin = 20, gap = 26;
constexpr double label_size = 11;
constexpr double max_name_width = 260, plot_width = 170, min_value_width = 62, max_value_width = 150,
                 row_height = 22, axis_height = 24;

void check(const std::vector<std::string>& names, const std::vector<DotPanel>& panels) {
  require(!names.empty() && !panels.empty(), "there is nothing to draw");
  bool any = false;
  for (const DotPanel& panel : panels) {
    require(panel.values.size() == names.size(), "panel '{}' has {} values for {} names", panel.title,
            panel.values.size(), names.size());
    for (const size_t size : {panel.deviations.size(), panel.texts.size()})
      require(size == 0 || size == names.size(), "panel '{}' has {} deviations or texts for {} names",
              panel.title, size, names.size());
    any = any || std::ranges::any_of(panel.values, [](double value) { return std::isfinite(value); });
  }
  require(any, "there is nothing to draw");
}

double deviation_of(const DotPanel& panel, size_t index) {
  return panel.deviations.empty() ? 0 : panel.deviations[index];
}

std::string text_of(const DotPanel& panel, size_t index) {
  return panel.texts.empty() ? fmt::format("{:.{}f}", panel.values[index], panel.digits) : panel.texts[index];
}

/// The width of the texts beside the dots, including a gap.
double value_width(const DotPanel& panel) {
  double width = min_value_width;
  for (size_t i = 0; i < panel.values.size(); ++i)
    if (std::isfinite(panel.values[i])) width = std::max(width, text_width(text_of(panel, i), label_size) + 8);
  return std::min(width, max_value_width);
}

/// The range of a panel's values, with some padding on both sides, but not beyond zero. If all values are the
/// same, the value is in the middle, and is the only number on the axis.
struct Scale {
  double low = 0, high = 1;
  std::optional<double> single_value;

  explicit Scale(const DotPanel& panel) {
    std::vector<double> finite;
    for (size_t i = 0; i < panel.values.size(); ++i)
      for (const double side : {-1, 1})
        if (const double end = panel.values[i] + side * deviation_of(panel, i); std::isfinite(end))
          finite.push_back(end);
    if (finite.empty()) return;
    low = *std::ranges::min_element(finite);
    high = *std::ranges::max_element(finite);
    const double extent = high - low;
    if (extent == 0) single_value = low;
    const double padding = extent > 0 ? 0.08 * extent : low != 0 ? 0.1 * std::abs(low) : 1;
    low = low >= 0 ? std::max(0.0, low - padding) : low - padding;
    high = high <= 0 && low < 0 ? std::min(0.0, high + padding) : high + padding;
  }
  double place(double value) const { return (value - low) / (high - low); }
  std::vector<double> marks() const { return single_value ? std::vector{*single_value} : ticks(low, high, 4); }
};

void draw_panel(Svg& svg, const DotPanel& panel, const std::vector<std::string>& names, double x, double top) {
  const double height = row_height * static_cast<double>(names.size());
  const Scale scale(panel);
  const double texts_width = value_width(panel);
  svg.text(x, top - 10, elided(panel.title, label_size, plot_width + texts_width),
           {.size = label_size, .css = "ink strong"}, panel.title);
  svg.rect({x, top, plot_width, height}, "panel", 0.5);
  double free_from = x - 20;
  const std::vector<double> marks = scale.marks();
  const std::vector<std::string> texts =
      scale.single_value ? std::vector{fmt::format("{:.{}f}", *scale.single_value, panel.digits)}
                         : tick_texts(marks);
  for (size_t i = 0; i < marks.size(); ++i) {
    const double at = x + plot_width * scale.place(marks[i]);
    const Point line[] = {{at, top}, {at, top + height}};
    svg.polyline(line, {"grid", 1});
    const double half = text_width(texts[i], label_size) / 2;
    if ((i > 0 && texts[i] == texts[i - 1]) || at - half < free_from ||
        at + half > x + plot_width + texts_width)
      continue;
    svg.text(at, top + height + label_size + 5, texts[i],
             {.size = label_size, .anchor = Anchor::middle, .css = "muted"});
    free_from = at + half + 6;
  }
  for (size_t i = 0; i < names.size(); ++i) {
    const double y = top + row_height * (static_cast<double>(i) + 0.5);
    const Point row[] = {{x, y}, {x + plot_width, y}};
    svg.polyline(row, {"grid", 0.6});
    if (!std::isfinite(panel.values[i])) continue;
    const std::string text = text_of(panel, i);
    if (const double deviation = deviation_of(panel, i); deviation > 0) {
      const Point bar[] = {{x + plot_width * scale.place(panel.values[i] - deviation), y},
                           {x + plot_width * scale.place(panel.values[i] + deviation), y}};
      svg.polyline(bar, {"line0", 2});
    }
    svg.dot({x + plot_width * scale.place(panel.values[i]), y}, 4.5, "area0", names[i] + ": " + text);
    svg.text(x + plot_width + 8, y + label_size * 0.35, elided(text, label_size, texts_width - 8),
             {.size = label_size, .css = "muted"}, text);
  }
}

}  // namespace

std::string dots_svg(const std::string& title, const std::vector<std::string>& names,
                     const std::vector<DotPanel>& panels, Theme theme) {
  check(names, panels);
  double name_width = 0;
  for (const std::string& name : names)
    name_width = std::max(name_width, text_width(elided(name, label_size, max_name_width), label_size));
  const double left = margin + name_width + gap / 2;
  double width = left - gap + margin;
  for (const DotPanel& panel : panels) width += plot_width + value_width(panel) + gap;
  Svg svg;
  const double top = draw_title(svg, title, margin, margin, width - 2 * margin) + 44;
  for (size_t i = 0; i < names.size(); ++i) {
    const double y = top + row_height * (static_cast<double>(i) + 0.5);
    svg.text(margin, y + label_size * 0.35, elided(names[i], label_size, max_name_width), {.size = label_size},
             names[i]);
  }
  double x = left;
  for (const DotPanel& panel : panels) {
    draw_panel(svg, panel, names, x, top);
    x += plot_width + value_width(panel) + gap;
  }
  const double height = top + row_height * static_cast<double>(names.size()) + axis_height + margin;
  return svg.finish(width, height, title, theme);
}

}  // namespace sixfold
