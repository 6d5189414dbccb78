#include "program/plot/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "base/error.h"
#include "program/plot/svg.h"

namespace sixfold {
namespace {

constexpr double margin = 20, gap = 22;
constexpr double title_size = 15, label_size = 11, note_size = 11;
constexpr double slant = -60;                // of the source tokens, in degrees
constexpr double steep = 0.866, flat = 0.5;  // sine and cosine of 60 degrees
constexpr double longest_label = 150;
constexpr double scale_width = 140, scale_height = 10;
constexpr double longest_title = 640;
constexpr std::string_view mean_name = "mean of heads";

/// The opacity of the colour of a weight. It is not proportional to the weight, so that small weights are
/// visible. The scale below the maps has the same opacities.
double strength(double weight) { return std::min(1.0, std::pow(weight, 0.7)); }

/// Sizes and positions, all in pixels.
struct Layout {
  int columns, panels;  // of the grid of panels
  double cell;          // side of a cell
  double source_reach;  // length of the longest source label
  double target_reach;  // of the longest target label
  double name_width;    // of the widest panel name
  double panel_width, panel_height;
  double width;    // of the whole picture
  double heading;  // from a panel's top to its cells: its name and the source labels

  double left(int panel) const {
    return margin + target_reach + 8 + (panel % columns) * (std::max(panel_width, name_width) + gap);
  }
  double top(int panel) const {
    return margin + title_size + 14 + heading + (panel / columns) * (heading + panel_height + gap);
  }
  double bottom() const { return top(panels - 1) + panel_height; }
  /// The slanted source labels of the last column extend to the right of its panel.
  double grid_width() const {
    double lean = std::max(0.0, source_reach * flat - cell / 2);
    return left(columns - 1) + std::max(panel_width + lean, name_width) + margin;
  }
  double height() const { return bottom() + gap + scale_height + note_size + 6 + margin; }
};

/// Chooses the number of columns of panels that makes the picture closest to 3:2 with few empty places.
int best_columns(Layout layout) {
  int best = 1;
  double least = INFINITY;
  for (layout.columns = 1; layout.columns <= layout.panels; ++layout.columns) {
    int empty = (layout.columns - layout.panels % layout.columns) % layout.columns;
    double cost = std::abs(std::log(layout.grid_width() / layout.height() / 1.5)) + 0.2 * empty;
    if (cost < least) {
      least = cost;
      best = layout.columns;
    }
  }
  return best;
}

Layout layout_of(const AttentionMap& map) {
  Layout layout;
  layout.panels = map.heads == 1 ? 1 : map.heads + 1;
  size_t longer_side = std::max(map.source.size(), map.target.size());
  layout.cell = longer_side <= 12 ? 22 : longer_side <= 20 ? 18 : 15;
  layout.source_reach = widest_text(map.source, label_size, longest_label);
  layout.target_reach = widest_text(map.target, label_size, longest_label);
  layout.name_width = text_width(mean_name, note_size);
  layout.panel_width = layout.cell * static_cast<double>(map.source.size());
  layout.panel_height = layout.cell * static_cast<double>(map.target.size());
  layout.heading = note_size + 12 + layout.source_reach * steep + label_size * flat;
  layout.columns = best_columns(layout);
  double scale = layout.left(0) + scale_width + 14 + text_width(map.axes, note_size) + margin;
  double title = std::min(text_width(map.title, title_size), longest_title) + 2 * margin;
  layout.width = std::max({layout.grid_width(), scale, title});
  return layout;
}

std::vector<float> mean_of_heads(const AttentionMap& map) {
  size_t size = map.target.size() * map.source.size();
  std::vector<float> mean(size);
  for (size_t i = 0; i < size; ++i) {
    double sum = 0;
    for (int head = 0; head < map.heads; ++head) sum += map.weights[static_cast<size_t>(head) * size + i];
    mean[i] = static_cast<float>(sum / map.heads);
  }
  return mean;
}

/// One heat map; `weights` is [target, source].
void draw_panel(Svg& svg, const AttentionMap& map, const Layout& layout, int panel,
                std::span<const float> weights) {
  double left = layout.left(panel), top = layout.top(panel), cell = layout.cell;
  svg.rect({left, top, layout.panel_width, layout.panel_height}, "panel");
  for (size_t column = 0; column < map.source.size(); ++column) {
    double x = left + cell * (static_cast<double>(column) + 0.5) + label_size * 0.3;
    svg.text(x, top - 5, elided(map.source[column], label_size, longest_label),
             {.size = label_size, .rotate = slant}, map.source[column]);
  }
  for (size_t row = 0; row < map.target.size(); ++row) {
    double y = top + cell * static_cast<double>(row);
    if (panel % layout.columns == 0)
      svg.text(left - 6, y + cell / 2 + label_size * 0.35, elided(map.target[row], label_size, longest_label),
               {.size = label_size, .anchor = Anchor::end}, map.target[row]);
    for (size_t column = 0; column < map.source.size(); ++column) {
      float weight = weights[row * map.source.size() + column];
      double x = left + cell * static_cast<double>(column);
      svg.rect({x, y, cell - 1, cell - 1}, "heat", strength(weight),
               fmt::format("{} → {}: {}", map.target[row], map.source[column], weight));
    }
  }
}

/// Draws the scale of colours, from 0 to 1, and the meaning of rows and columns.
void draw_scale(Svg& svg, const Layout& layout, const std::string& axes) {
  double left = layout.left(0), top = layout.bottom() + gap;
  TextStyle number = {.size = note_size, .anchor = Anchor::middle, .css = "muted"};
  svg.rect({left, top, scale_width, scale_height}, "panel");
  std::vector<double> strengths;
  for (int i = 0; i <= 20; ++i) strengths.push_back(strength(i / 20.0));
  svg.gradient({left, top, scale_width, scale_height}, "heat", strengths);
  for (double value : {0.0, 0.5, 1.0})
    svg.text(left + scale_width * value, top + scale_height + note_size + 3, fmt::format("{}", value), number);
  svg.text(left + scale_width + 14, top + scale_height, "attention weight", {.size = note_size, .css = "ink"});
  svg.text(left + scale_width + 14, top + scale_height + note_size + 3, axes,
           {.size = note_size, .css = "muted"});
}

}  // namespace

void check_attention(const AttentionMap& map) {
  require(
      map.heads > 0 && !map.source.empty() && !map.target.empty(),
      "an attention map needs at least one head, source token and target token, not {} heads, {} source and {} "
      "target tokens",
      map.heads, map.source.size(), map.target.size());
  size_t expected = static_cast<size_t>(map.heads) * map.target.size() * map.source.size();
  require(map.weights.size() == expected,
          "attention weights: {} values for [{} heads, {} target tokens, {} source tokens]", map.weights.size(),
          map.heads, map.target.size(), map.source.size());
  constexpr float rounding = 1e-4f;
  for (float weight : map.weights)
    require(weight >= 0 && weight <= 1 + rounding, "attention weight {} is not between 0 and 1", weight);
}

std::string attention_svg(const AttentionMap& map) {
  check_attention(map);
  Layout layout = layout_of(map);
  Svg svg;
  std::string title = elided(map.title, title_size, layout.width - 2 * margin);
  svg.text(margin, margin + title_size * 0.8, title, {.size = title_size, .css = "ink strong"}, map.title);
  auto panel = [&](int index, const std::string& name, std::span<const float> weights) {
    svg.text(layout.left(index), layout.top(index) - layout.heading + note_size, name,
             {.size = note_size, .css = "muted strong"});
    draw_panel(svg, map, layout, index, weights);
  };
  size_t size = map.target.size() * map.source.size();
  if (map.heads > 1) panel(0, std::string(mean_name), mean_of_heads(map));
  for (int head = 0; head < map.heads; ++head)
    panel(map.heads > 1 ? head + 1 : head, fmt::format("head {}", head + 1),
          std::span(map.weights).subspan(static_cast<size_t>(head) * size, size));
  draw_scale(svg, layout, map.axes);
  return svg.finish(layout.width, layout.height(), map.title, map.theme);
}

}  // namespace sixfold
