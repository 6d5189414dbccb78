#include "program/plot/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/join.h"
#include "program/plot/axis.h"

namespace sixfold {
namespace {

constexpr double margin = 20, gap = 34;
constexpr double name_size = 13, label_size = 11;
constexpr double plot_width = 430, plot_height = 240;
constexpr double left_room = 74, bottom_room = 40;  // space for the numbers and the label of an axis
constexpr double legend_row = 17, swatch = 18;
constexpr double shared_dash = 9;

constexpr const char* patterns[] = {"", "5 3", "1.5 2.5", "9 3 2 3"};  // of lines

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

using Segment = std::array<double, 4>;  ///< x and y of both ends

/// Finds the line segments that several series have in common.
class SharedSegments {
 public:
  explicit SharedSegments(const std::vector<Series>& series) {
    for (size_t i = 0; i < series.size(); ++i)
      for (size_t k = 1; !series[i].steps && k < series[i].y.size(); ++k)
        if (const auto at = segment(series[i], k)) users_[*at].push_back(i);
  }
  /// The indices of all series that have the segment from point k - 1 to point k of `series`, in order.
  const std::vector<size_t>& of(const Series& series, size_t k) const {
    static const std::vector<size_t> none;
    const auto at = segment(series, k);
    return at ? users_.at(*at) : none;
  }
  bool any() const {
    return std::ranges::any_of(users_, [](const auto& entry) { return entry.second.size() > 1; });
  }

 private:
  /// Nothing if a coordinate is NaN, which can't be the key of a map.
  static std::optional<Segment> segment(const Series& s, size_t k) {
    const Segment at{s.x[k - 1], s.y[k - 1], s.x[k], s.y[k]};
    const bool finite = std::ranges::all_of(at, [](double value) { return std::isfinite(value); });
    return finite ? std::optional(at) : std::nullopt;
  }
  std::map<Segment, std::vector<size_t>> users_;
};

bool same_curve(const Series& a, const Series& b) { return !a.steps && !b.steps && a.x == b.x && a.y == b.y; }

bool all_same(const std::vector<Series>& all) {
  return std::ranges::all_of(all, [&](const Series& series) { return same_curve(series, all[0]); });
}

/// The name of a series in the legend. It mentions an earlier series with the same curve, unless all curves are
/// the same.
std::string legend_name(const std::vector<Series>& all, size_t index) {
  const Series& series = all[index];
  std::vector<std::string> notes;
  if (!series.note.empty()) notes.push_back(series.note);
  size_t first = 0;
  while (first < index && !same_curve(all[first], series)) ++first;
  if (first < index && !all_same(all)) notes.push_back("the same as " + all[first].name);
  return notes.empty() ? series.name : fmt::format("{} ({})", series.name, join(notes, "; "));
}

/// The names in a legend and their positions, in rows that are as wide as the chart.
struct Legend {
  std::vector<Point> places;
  std::vector<std::string> names, full_names;
  int rows = 0;
  std::string explanation;  ///< explains alternating colours in the last row; empty: there are none
};

Legend legend_of(const Chart& chart) {
  Legend legend;
  if (chart.series.size() < 2) return legend;
  double x = 0;
  legend.rows = 1;
  for (size_t i = 0; i < chart.series.size(); ++i) {
    legend.full_names.push_back(legend_name(chart.series, i));
    const std::string name = elided(legend.full_names.back(), label_size, plot_width - swatch - 12);
    const double width = swatch + 6 + text_width(name, label_size) + 16;
    if (x > 0 && x + width > plot_width + 16) {
      x = 0;
      ++legend.rows;
    }
    legend.places.push_back({x, (legend.rows - 1) * legend_row});
    legend.names.push_back(name);
    x += width;
  }
  if (SharedSegments(chart.series).any()) {
    legend.explanation = all_same(chart.series) ? "All curves coincide; their colours alternate."
                                                : "Where curves coincide, their colours alternate.";
    ++legend.rows;
  }
  return legend;
}

double heading(const Legend& legend) { return name_size + 12 + legend.rows * legend_row; }

std::string line_class(const Series& series) { return fmt::format("line{}", series.color % 6); }
std::string area_class(const Series& series) { return fmt::format("area{}", series.color % 6); }
LineStyle line_style(const Series& series, std::string_view css, double width) {
  return {css, width, patterns[series.dash % std::ssize(patterns)]};
}

class ChartDrawer {
 public:
  ChartDrawer(Svg& svg, const Chart& chart, const Legend& legend, const Box& plot)
      : svg_(svg),
        chart_(chart),
        legend_(legend),
        shared_(chart.series),
        plot_(plot),
        x_(range(true), chart.log_x, plot.x, plot.x + plot.width),
        y_(range(false), chart.log_y, plot.y + plot.height, plot.y) {}

  void draw() {
    draw_names();
    draw_axes();
    for (const Series& series : chart_.series) series.steps ? draw_steps(series) : draw_curve(series);
  }

 private:
  AxisRange range(bool horizontal) const {
    const bool logarithmic = horizontal ? chart_.log_x : chart_.log_y;
    AxisRange range;
    for (const Series& series : chart_.series)
      for (const double value : horizontal ? series.x : series.y)
        if (std::isfinite(value) && (!logarithmic || value > 0)) range.add(value);
    if (range.empty()) range = {logarithmic ? 1.0 : 0.0, logarithmic ? 10.0 : 1.0};
    if (!horizontal && chart_.from_zero && !logarithmic) range.add(0);
    if (horizontal && !logarithmic && range.low > 0 && range.low <= 0.05 * range.high) range.low = 0;
    if (!horizontal) {  // a margin above and below
      if (range.low == range.high) return range;
      if (logarithmic) return {range.low / 1.05, range.high * 1.05};
      const double padding = 0.04 * (range.high - range.low);
      range.low = range.low >= 0 ? std::max(0.0, range.low - padding) : range.low - padding;
      range.high += padding;
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
      svg_.polyline(line, line_style(chart_.series[i], css, 2.5));
      svg_.text(x + swatch + 6, y, legend_.names[i], {.size = label_size}, legend_.full_names[i]);
    }
    if (!legend_.explanation.empty())
      svg_.text(plot_.x, plot_.y - legend_row + 4, legend_.explanation, {.size = label_size, .css = "muted"});
  }

  void draw_axes() {
    const double bottom = plot_.y + plot_.height;
    svg_.rect(plot_, "panel", 0.5);
    const std::vector<double> rows = y_.marks(5), columns = x_.marks(7);
    const std::vector<std::string> row_names = tick_texts(rows), column_names = tick_texts(columns);
    for (size_t i = 0; i < rows.size(); ++i) {
      const double y = y_.place(rows[i]);
      const Point line[] = {{plot_.x, y}, {plot_.x + plot_.width, y}};
      svg_.polyline(line, {"grid", 1});
      svg_.text(plot_.x - 7, y + label_size * 0.35, row_names[i],
                {.size = label_size, .anchor = Anchor::end, .css = "muted"});
    }
    double free_from = plot_.x - 30;
    for (size_t i = 0; i < columns.size(); ++i) {
      const double x = x_.place(columns[i]);
      const Point line[] = {{x, plot_.y}, {x, bottom}};
      svg_.polyline(line, {"grid", 1});
      const std::string& name = column_names[i];
      const double half = text_width(name, label_size) / 2;
      const double middle =
          std::min(x, plot_.x + plot_.width + margin - half);  // not cut off at the right edge
      if (middle - half < free_from) continue;                 // not touching the previous number
      svg_.text(middle, bottom + label_size + 5, name,
                {.size = label_size, .anchor = Anchor::middle, .css = "muted"});
      free_from = middle + half + 6;
    }
    svg_.text(plot_.x + plot_.width / 2, bottom + bottom_room - 6, chart_.x_label,
              {.size = label_size, .anchor = Anchor::middle});
    svg_.text(plot_.x - left_room + 14, plot_.y + plot_.height / 2, chart_.y_label,
              {.size = label_size, .anchor = Anchor::middle, .rotate = -90});
  }

  /// Draws a point that has no neighbours, for which there is no line; as a ring if the line of the series is
  /// dashed. Points of later series at the same position are smaller, so that all are visible.
  void draw_point(size_t place, const Series& series) {
    const Point at{x_.place(series.x[place]), y_.place(series.y[place])};
    const auto later = static_cast<size_t>(&series - chart_.series.data()) + 1;
    double radius = 3.5;
    for (size_t i = later; i < chart_.series.size(); ++i) {
      const Series& other = chart_.series[i];
      const auto found = std::ranges::find(other.x, series.x[place]);
      const auto k = static_cast<size_t>(found - other.x.begin());
      if (found != other.x.end() && !other.steps && other.y[k] == series.y[place]) radius += 2.5;
    }
    svg_.dot(at, radius, area_class(series), series.name);
    if (series.dash != 0) svg_.dot(at, radius / 2, "paper", series.name);
  }

  bool shows(const Series& series, size_t i) const {
    return i < series.y.size() && x_.shows(series.x[i]) && y_.shows(series.y[i]);
  }

  /// Draws the line in pieces. A piece that several series have in common is dashed in alternating colours.
  void draw_curve(const Series& series) {
    const auto index = static_cast<size_t>(&series - chart_.series.data());
    const std::string css = line_class(series);
    for (size_t first = 0; first < series.y.size(); ++first) {
      if (!shows(series, first)) continue;
      const bool linked = first > 0 && shows(series, first - 1);
      if (!shows(series, first + 1)) {
        if (!linked) draw_point(first, series);
        continue;
      }
      const std::vector<size_t>& users = shared_.of(series, first + 1);
      std::vector<Point> points{{x_.place(series.x[first]), y_.place(series.y[first])}};
      size_t last = first;
      while (shows(series, last + 1) && shared_.of(series, last + 1) == users) {
        ++last;
        points.push_back({x_.place(series.x[last]), y_.place(series.y[last])});
      }
      LineStyle style = line_style(series, css, 1.8);
      if (users.size() > 1) {
        const auto count = static_cast<double>(users.size());
        const auto turn = std::ranges::find(users, index) - users.begin();
        style = {css, 2.4, fmt::format("{} {}", shared_dash, shared_dash * (count - 1)),
                 shared_dash * static_cast<double>(turn)};
      }
      svg_.polyline(points, style, series.name);
      first = last - 1;  // the next piece begins where this one ends
    }
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
    svg_.polyline(points, line_style(series, css, 1.5), series.name);
  }

  Svg& svg_;
  const Chart& chart_;
  const Legend& legend_;
  const SharedSegments shared_;
  Box plot_;
  Axis x_, y_;
};

}  // namespace

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
