#include "program/plot/patches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "base/error.h"

namespace sixfold {
namespace {

constexpr double margin = 20, gap = 18, longest_side = 144, label_size = 12, note_size = 11;
constexpr double heading = 18;  // the token above its panel
constexpr double veil = 0.88;   // its opacity where the weight is 0

/// The grid of patches, and a finer grid of places, each of which is either inside or outside of each patch.
struct Grid {
  int rows, columns;  // of patches
  int side;           // of a place, in pixels
  int place_rows, place_columns;

  explicit Grid(const PatchMap& map)
      : rows((map.height - map.patch) / map.stride + 1),
        columns((map.width - map.patch) / map.stride + 1),
        side(map.stride < map.patch ? std::gcd(map.stride, map.patch) : map.patch),
        place_rows(((rows - 1) * map.stride + map.patch) / side),
        place_columns(((columns - 1) * map.stride + map.patch) / side) {}

  /// Distributes the weights of one token over the places.
  std::vector<double> spread(std::span<const float> weights, const PatchMap& map) const {
    std::vector<double> shares(static_cast<size_t>(place_rows) * static_cast<size_t>(place_columns));
    const int across = map.patch / side, step = map.stride / side;
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < columns; ++column)
        for (int place = 0; place < across * across; ++place) {
          const int y = row * step + place / across, x = column * step + place % across;
          shares[static_cast<size_t>(y * place_columns + x)] +=
              static_cast<double>(weights[static_cast<size_t>(row * columns + column)]) / (across * across);
        }
    return shares;
  }
};

void check(const PatchMap& map) {
  require(map.patch > 0 && map.stride > 0 && map.stride <= map.patch && map.patch <= map.height &&
              map.patch <= map.width,
          "patches of {} pixels, {} pixels apart, do not fit a picture of {} x {} pixels", map.patch,
          map.stride, map.height, map.width);
  const Grid grid(map);
  require(!map.tokens.empty() &&
              map.weights.size() == map.tokens.size() * static_cast<size_t>(grid.rows * grid.columns),
          "attention weights: {} values for {} tokens and {} x {} patches", map.weights.size(),
          map.tokens.size(), grid.rows, grid.columns);
  constexpr float rounding = 1e-4f;
  for (const float weight : map.weights)
    require(weight >= 0 && weight <= 1 + rounding, "attention weight {} is not between 0 and 1", weight);
}

/// Covers a picture with a veil that shows the weights of one token.
void draw_weights(Svg& svg, const PatchMap& map, const Box& box, size_t token) {
  const Grid grid(map);
  const auto patches = static_cast<size_t>(grid.rows * grid.columns);
  const std::vector<double> shares = grid.spread(std::span(map.weights).subspan(token * patches, patches), map);
  const double largest = std::max(*std::ranges::max_element(shares), 1e-9),
               cell = box.width / map.width * grid.side;
  for (int y = 0; y < grid.place_rows; ++y)
    for (int x = 0; x < grid.place_columns; ++x) {
      const double share = shares[static_cast<size_t>(y * grid.place_columns + x)];
      svg.rect({box.x + x * cell, box.y + y * cell, cell, cell}, "paper",
               veil * (1 - std::pow(share / largest, 0.7)),
               fmt::format("{}: {:.3f}", map.tokens[token], share));
    }
}

}  // namespace

std::string patches_svg(const PatchMap& map) {
  check(map);
  const double scale = longest_side / std::max(map.height, map.width);
  const double wide = map.width * scale, high = map.height * scale;
  const size_t panels = map.tokens.size() + 1;
  const auto columns =
      std::min<size_t>(panels, static_cast<size_t>(std::ceil(std::sqrt(1.5 * static_cast<double>(panels)))));
  const double width = 2 * margin + static_cast<double>(columns) * (wide + gap) - gap;
  Svg svg;
  const double top = draw_title(svg, map.title, margin, margin, width - 2 * margin) + 14;
  const auto patches = map.weights.size() / map.tokens.size();
  double bottom = top;
  for (size_t panel = 0; panel < panels; ++panel) {
    const double x = margin + static_cast<double>(panel % columns) * (wide + gap);
    const double y = top + static_cast<double>(panel / columns) * (heading + high + gap);
    const Box box{x, y + heading, wide, high};
    svg.image(box, map.png);
    bottom = box.y + high;
    if (panel == 0) {
      svg.text(x, y + label_size, "picture", {.size = label_size, .css = "muted"});
      continue;
    }
    const size_t token = panel - 1;
    const auto weights = std::span(map.weights).subspan(token * patches, patches);
    const std::string largest = fmt::format("{:.2f}", *std::ranges::max_element(weights));
    const double room = wide - text_width(largest, note_size) - 6;
    svg.text(x, y + label_size, elided(map.tokens[token], label_size, room),
             {.size = label_size, .css = "ink strong"}, map.tokens[token]);
    svg.text(x + wide, y + label_size, largest, {.size = note_size, .anchor = Anchor::end, .css = "muted"},
             "the largest weight of a patch");
    draw_weights(svg, map, box, token);
  }
  return svg.finish(width, bottom + margin, map.title, map.theme);
}

}  // namespace sixfold
