#include "plot/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace sixfold {
namespace {

constexpr double margin = 20, gap = 34;
constexpr double name_size = 13, label_size = 11;
constexpr double plot_width = 430, plot_height = 240;
constexpr double left_room = 74, bottom_room = 40;  // space for the numbers and the label of an axis
constexpr double legend_row = 17, swatch = 18;

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

/// An axis, which maps values to pixels.
class Axis {
 public:
  Axis(Range range, bool logarithmic, double begin, double end)
      : range_(range), log_(logarithmic), begin_(begin), end_(end) {
    if (log_) {
      range_.low = std::log10(range_.low);
      range_.high = std::log10(range_.high);
    }
    // A single value is drawn in the middle, a single zero at the bottom.
    if (range_.high - range_.low < 1e-12 * std::max(1.0, std::abs(range_.high))) {
      const double room = std::abs(range_.low) * 0.1;
      range_.low -= room;
      range_.high += room > 0 ? room : 1;
    }
  }

  bool shows(double value) const { return std::isfinite(value) && (!log_ || value > 0); }
  double place(double value) const {
    const double at = log_ ? std::log10(value) : value;
    return begin_ + (at - range_.low) / (range_.high - range_.low) * (end_ - begin_);
  }
  std::vector<double> marks(int wanted) const {
    if (!log_) return ticks(range_.low, range_.high, wanted);
    std::vector<double> values;
    for (const auto& factors : {std::vector<double>{1}, {1, 3}, {1, 2, 5}, {1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9}}) {
      values.clear();
      for (double power = std::floor(range_.low); power <= range_.high; ++power)
        for (const double factor : factors) {
          const double at = power + std::log10(factor);
          if (at >= range_.low - 1e-9 && at <= range_.high + 1e-9) values.push_back(std::pow(10, at));
        }
      if (std::ssize(values) >= std::min(wanted, 3)) break;
    }
    while (std::ssize(values) > 2 * wanted) {  // of many powers, only every other one
      std::vector<double> fewer;
      for (size_t i = 0; i < values.size(); i += 2) fewer.push_back(values[i]);
      values = fewer;
    }
    return values;
  }

 private:
  Range range_;
  bool log_;
  double begin_, end_;
};

/// "0.001", "1e-05", "12k", "3M".
std::string number_text(double value) {
  const double size = std::abs(value);
  if (size >= 1e6 && size < 1e9) return fmt::format("{:.4g}M", value / 1e6);
  if (size >= 1e4 && size < 1e6) return fmt::format("{:.4g}k", value / 1e3);
  return fmt::format("{:.4g}", std::abs(value) < 1e-12 ? 0.0 : value);
}

void check(const std::vector<Chart>& charts) {
  bool any = false;
  for (const Chart& chart : charts)
    for (const Series& series : chart.series) {
      require(series.x.size() == series.y.size() + (series.steps ? 1 : 0),
              "curve '{}' has {} x values but {} y values", series.name, series.x.size(), series.y.size());
      any = any || !series.y.empty();
    }
  require(any, "there is nothing to draw");
}

/// The positions of the names in a legend, in rows as wide as the chart, and the number of rows.
struct Legend {
  std::vector<Point> places;
  std::vector<std::string> names;
  int rows = 0;
};

Legend legend_of(const Chart& chart) {
  Legend legend;
  if (chart.series.size() < 2) return legend;
  double x = 0;
  legend.rows = 1;
  for (const Series& series : chart.series) {
    const std::string name = elided(series.name, label_size, plot_width - swatch - 12);
    const double width = swatch + 6 + text_width(name, label_size) + 16;
    if (x > 0 && x + width > plot_width + 16) {
      x = 0;
      ++legend.rows;
    }
    legend.places.push_back({x, (legend.rows - 1) * legend_row});
    legend.names.push_back(name);
    x += width;
  }
  return legend;
}

double heading(const Legend& legend) { return name_size + 12 + legend.rows * legend_row; }

std::string line_class(const Series& series) { return fmt::format("line{}", series.color % 6); }
std::string area_class(const Series& series) { return fmt::format("area{}", series.color % 6); }

class ChartDrawer {
 public:
  ChartDrawer(Svg& svg, const Chart& chart, const Legend& legend, const Box& plot)
      : svg_(svg),
        chart_(chart),
        legend_(legend),
        plot_(plot),
        x_(range(true), chart.log_x, plot.x, plot.x + plot.width),
        y_(range(false), chart.log_y, plot.y + plot.height, plot.y) {}

  void draw() {
    draw_names();
    draw_axes();
    for (const Series& series : chart_.series) series.steps ? draw_steps(series) : draw_curve(series);
  }

 private:
  Range range(bool horizontal) const {
    const bool logarithmic = horizontal ? chart_.log_x : chart_.log_y;
    Range range;
    for (const Series& series : chart_.series)
      for (const double value : horizontal ? series.x : series.y)
        if (std::isfinite(value) && (!logarithmic || value > 0)) range.add(value);
    if (range.empty()) range = {logarithmic ? 1.0 : 0.0, logarithmic ? 10.0 : 1.0};
    if (!horizontal && chart_.from_zero && !logarithmic) range.add(0);
    if (!horizontal) {  // a margin above and below
      if (logarithmic) return {range.low / 1.05, range.high * 1.05};
      const double air = 0.04 * (range.high - range.low);
      range.low = range.low >= 0 ? std::max(0.0, range.low - air) : range.low - air;
      range.high += air;
    }
    return range;
  }

  void draw_names() {
    svg_.text(plot_.x, plot_.y - 12 - legend_.rows * legend_row, elided(chart_.title, name_size, plot_.width),
              {.size = name_size, .css = "ink strong"}, chart_.title);
    for (size_t i = 0; i < legend_.names.size(); ++i) {
      const double x = plot_.x + legend_.places[i].x;
      const double y = plot_.y - legend_.rows * legend_row + legend_.places[i].y + 4;
      const Point line[] = {{x, y - 4}, {x + swatch, y - 4}};
      const std::string css = line_class(chart_.series[i]);
      svg_.polyline(line, {css, 2.5, chart_.series[i].dashed});
      svg_.text(x + swatch + 6, y, legend_.names[i], {.size = label_size}, chart_.series[i].name);
    }
  }

  void draw_axes() {
    const double bottom = plot_.y + plot_.height;
    svg_.rect(plot_, "panel", 0.5);
    for (const double value : y_.marks(5)) {
      const double y = y_.place(value);
      const Point line[] = {{plot_.x, y}, {plot_.x + plot_.width, y}};
      svg_.polyline(line, {"grid", 1});
      svg_.text(plot_.x - 7, y + label_size * 0.35, number_text(value),
                {.size = label_size, .anchor = Anchor::end, .css = "muted"});
    }
    double free_from = plot_.x - 30;
    for (const double value : x_.marks(7)) {
      const double x = x_.place(value);
      const Point line[] = {{x, plot_.y}, {x, bottom}};
      svg_.polyline(line, {"grid", 1});
      const std::string name = number_text(value);
      const double half = text_width(name, label_size) / 2;
      if (x - half < free_from) continue;  // it would touch the previous one
      svg_.text(x, bottom + label_size + 5, name,
                {.size = label_size, .anchor = Anchor::middle, .css = "muted"});
      free_from = x + half + 6;
    }
    svg_.text(plot_.x + plot_.width / 2, bottom + bottom_room - 6, chart_.x_label,
              {.size = label_size, .anchor = Anchor::middle});
    svg_.text(plot_.x - left_room + 14, plot_.y + plot_.height / 2, chart_.y_label,
              {.size = label_size, .anchor = Anchor::middle, .rotate = -90});
  }

  /// A single value, which a line can't show; a ring for a dashed curve.
  void draw_point(const Point& point, const Series& series) {
    svg_.dot(point, 3.5, area_class(series), series.name);
    if (series.dashed) svg_.dot(point, 1.8, "paper", series.name);
  }

  void draw_curve(const Series& series) {
    std::vector<Point> points;
    const auto flush = [&] {
      const std::string css = line_class(series);
      if (points.size() == 1)
        draw_point(points[0], series);
      else if (!points.empty())
        svg_.polyline(points, {css, 1.8, series.dashed}, series.name);
      points.clear();
    };
    for (size_t i = 0; i < series.x.size(); ++i) {
      if (!x_.shows(series.x[i]) || !y_.shows(series.y[i])) {
        flush();
        continue;
      }
      points.push_back({x_.place(series.x[i]), y_.place(series.y[i])});
    }
    flush();
  }

  void draw_steps(const Series& series) {
    if (series.y.empty()) return;
    const double floor = plot_.y + plot_.height;
    std::vector<Point> points{{x_.place(series.x[0]), floor}};
    for (size_t i = 0; i < series.y.size(); ++i) {
      const double y = y_.shows(series.y[i]) ? y_.place(series.y[i]) : floor;
      points.push_back({x_.place(series.x[i]), y});
      points.push_back({x_.place(series.x[i + 1]), y});
    }
    points.push_back({x_.place(series.x.back()), floor});
    svg_.area(points, area_class(series), 0.25);
    const std::string css = line_class(series);
    svg_.polyline(points, {css, 1.5, series.dashed}, series.name);
  }

  Svg& svg_;
  const Chart& chart_;
  const Legend& legend_;
  Box plot_;
  Axis x_, y_;
};

}  // namespace

std::vector<double> ticks(double low, double high, int wanted) {
  require(std::isfinite(low) && std::isfinite(high) && low <= high && wanted >= 1, "no ticks from {} to {}",
          low, high);
  if (low == high) return {low};
  const double raw = (high - low) / wanted, power = std::pow(10, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0})
    if (factor * power >= raw * 0.999) step = factor * power;
  std::vector<double> values;
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i) values.push_back(i * step);
  return values;
}

std::string charts_svg(const std::string& title, const std::vector<Chart>& charts, Theme theme) {
  check(charts);
  const size_t columns = charts.size() == 1 ? 1 : 2;
  const double cell = left_room + plot_width;
  const double width =
      2 * margin + cell * static_cast<double>(columns) + gap * static_cast<double>(columns - 1);
  Svg svg;
  double top = draw_title(svg, title, margin, margin, width - 2 * margin) + 18;
  for (size_t row = 0; row < charts.size(); row += columns) {
    std::vector<Legend> legends;
    double head = 0;
    for (size_t i = row; i < std::min(row + columns, charts.size()); ++i) {
      legends.push_back(legend_of(charts[i]));
      head = std::max(head, heading(legends.back()));
    }
    for (size_t i = 0; i < legends.size(); ++i) {
      const Box plot{margin + left_room + static_cast<double>(i) * (cell + gap), top + head, plot_width,
                     plot_height};
      ChartDrawer(svg, charts[row + i], legends[i], plot).draw();
    }
    top += head + plot_height + bottom_room + gap;
  }
  return svg.finish(width, top - gap + margin, title, theme);
}

}  // namespace sixfold
