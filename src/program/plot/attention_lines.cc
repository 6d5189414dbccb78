#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>

#include "base/error.h"
#include "base/join.h"
#include "program/plot/attention.h"
#include "program/plot/svg.h"

namespace sixfold {
namespace {

constexpr double margin = 20, gap = 36, line_area = 130, step = 17;
constexpr double title_size = 15, label_size = 12, note_size = 11, longest_label = 150;
constexpr double name_width = 74, name_height = 15;  // of the name of a head
constexpr int panels_in_row = 4;
constexpr std::string_view line_colours[] = {"line0", "line1", "line2", "line3", "line4", "line5"};
constexpr std::string_view area_colours[] = {"area0", "area1", "area2", "area3", "area4", "area5"};
constexpr float min_weight = 0.02f;  // lines of smaller weights would be invisible

/// A token without the marks of tokenizers for spaces and word continuations.
std::string_view without_marks(std::string_view token) {
  for (const std::string_view mark : {"▁", "Ġ", "##"})
    if (token.size() > mark.size() && token.starts_with(mark)) token.remove_prefix(mark.size());
  if (token.size() > 2 && token.ends_with("@@")) token.remove_suffix(2);
  return token;
}

std::vector<int> chosen_heads(const AttentionMap& map, std::vector<int> heads) {
  if (heads.empty()) {
    heads.resize(static_cast<size_t>(map.heads));
    std::iota(heads.begin(), heads.end(), 0);
  }
  for (const int head : heads)
    require(head >= 0 && head < map.heads, "--heads {}: the layer has heads 0 to {}", head, map.heads - 1);
  for (size_t i = 1; i < heads.size(); ++i)
    require(std::find(heads.begin(), heads.begin() + static_cast<ptrdiff_t>(i), heads[i]) ==
                heads.begin() + static_cast<ptrdiff_t>(i),
            "--heads: head {} is named twice", heads[i]);
  return heads;
}

std::vector<size_t> chosen_rows(const AttentionMap& map, const std::string& token) {
  std::vector<size_t> rows;
  for (size_t row = 0; row < map.target.size(); ++row)
    if (token.empty() || map.target[row] == token || without_marks(map.target[row]) == token)
      rows.push_back(row);
  require(!rows.empty(), "--token: no row has the token '{}'; the tokens are: {}", token,
          join(map.target, " "));
  return rows;
}

/// The picture counts heads from 1.
std::string name_of(int head) { return fmt::format("head {}", head + 1); }

/// Sizes and positions, all in pixels.
struct LinesLayout {
  double left_width, right_width;  // of the widest tokens on both sides
  size_t names_in_line;
  double heading, panel_width, panel_height;  // the heading has the names of heads
  int columns;                                // of panels
  double top = 0;                             // of the first row of panels

  LinesLayout(const AttentionMap& map, int panels, size_t heads_in_panel)
      : left_width(widest_text(map.target, label_size, longest_label)),
        right_width(widest_text(map.source, label_size, longest_label)),
        panel_width(left_width + line_area + right_width + 12),
        columns(std::min(panels, panels_in_row)) {
    names_in_line = static_cast<size_t>(std::max(1.0, panel_width / name_width));
    const size_t name_lines = (heads_in_panel - 1) / names_in_line + 1;
    heading = name_height * static_cast<double>(name_lines) + 8;
    panel_height = heading + step * static_cast<double>(std::max(map.source.size(), map.target.size()));
  }
  /// The top left corner of a panel.
  Point corner(int panel) const {
    const int row = panel / columns;
    return {margin + (panel % columns) * (panel_width + gap), top + row * (panel_height + gap)};
  }
  /// The height of the middle of a token, below the top of its panel.
  double middle(size_t token) const { return heading + step * (static_cast<double>(token) + 0.5); }
};

class LinesPicture {
 public:
  LinesPicture(const AttentionMap& map, std::vector<size_t> rows, const LinesLayout& layout)
      : map_(map), rows_(std::move(rows)), layout_(layout) {}

  void draw_panel(Svg& svg, int panel, const std::vector<int>& heads) const {
    const Point corner = layout_.corner(panel);
    draw_names(svg, corner, heads);
    for (size_t i = 0; i < heads.size(); ++i) draw_lines(svg, corner, heads, i);
    draw_tokens(svg, corner);
  }

 private:
  double left(const Point& corner) const { return corner.x + layout_.left_width; }
  double right(const Point& corner) const { return left(corner) + 12 + line_area; }

  void draw_names(Svg& svg, const Point& corner, const std::vector<int>& heads) const {
    for (size_t i = 0; i < heads.size(); ++i) {
      const size_t line = i / layout_.names_in_line;
      const double x = corner.x + name_width * static_cast<double>(i % layout_.names_in_line);
      const double y = corner.y + name_height * static_cast<double>(line);
      svg.rect({x, y + 2, 9, 9}, area_colours[i % 6]);
      svg.text(x + 13, y + note_size, name_of(heads[i]), {.size = note_size, .css = "muted strong"});
    }
  }

  /// Draws the lines of one head of a panel. Those of several heads lie side by side.
  void draw_lines(Svg& svg, const Point& corner, const std::vector<int>& heads, size_t i) const {
    const auto count = static_cast<double>(heads.size());
    const double y = corner.y + (static_cast<double>(i) - (count - 1) / 2) * std::min(2.5, step / count);
    for (const size_t row : rows_)
      for (size_t column = 0; column < map_.source.size(); ++column) {
        const size_t at = (static_cast<size_t>(heads[i]) * map_.target.size() + row) * map_.source.size();
        const float weight = map_.weights[at + column];
        if (weight < min_weight) continue;
        const Point ends[] = {{left(corner) + 6, y + layout_.middle(row)},
                              {right(corner) - 6, y + layout_.middle(column)}};
        svg.polyline(
            ends, {.css = line_colours[i % 6], .width = 2, .strength = std::min(1.0f, weight)},
            fmt::format("{}: {} → {}: {}", name_of(heads[i]), map_.target[row], map_.source[column], weight));
      }
  }

  void draw_tokens(Svg& svg, const Point& corner) const {
    const auto draw = [&](double x, size_t place, const std::string& token, const TextStyle& style) {
      svg.text(x, corner.y + layout_.middle(place) + label_size * 0.35,
               elided(token, label_size, longest_label), style, token);
    };
    for (size_t row = 0; row < map_.target.size(); ++row) {
      const bool chosen = std::ranges::find(rows_, row) != rows_.end();
      draw(left(corner), row, map_.target[row],
           {.size = label_size, .anchor = Anchor::end, .css = chosen ? "ink" : "muted"});
    }
    for (size_t column = 0; column < map_.source.size(); ++column)
      draw(right(corner), column, map_.source[column], {.size = label_size});
  }

  const AttentionMap& map_;
  const std::vector<size_t> rows_;
  const LinesLayout& layout_;
};

}  // namespace

std::string attention_lines_svg(const AttentionMap& map, const AttentionLines& lines) {
  check_attention(map);
  const std::vector<int> heads = chosen_heads(map, lines.heads);
  std::vector<std::vector<int>> panels;  // their heads
  if (lines.token.empty())
    for (const int head : heads) panels.push_back({head});
  else
    panels.push_back(heads);

  const auto count = static_cast<int>(panels.size());
  LinesLayout layout(map, count, panels.front().size());
  const LinesPicture picture(map, chosen_rows(map, lines.token), layout);
  const double title_width = std::min(640.0, text_width(map.title, title_size));
  const double width = std::max(layout.columns * (layout.panel_width + gap) - gap, title_width) + 2 * margin;
  Svg svg;
  layout.top = draw_title(svg, map.title, margin, margin, width - 2 * margin) + 14;
  for (int i = 0; i < count; ++i) picture.draw_panel(svg, i, panels[static_cast<size_t>(i)]);
  const double bottom = layout.corner(count - 1).y + layout.panel_height;
  svg.text(margin, bottom + note_size, map.axes, {.size = note_size, .css = "muted"});
  return svg.finish(std::max(width, text_width(map.axes, note_size) + 2 * margin), bottom + note_size + margin,
                    map.title, map.theme);
}

}  // namespace sixfold
