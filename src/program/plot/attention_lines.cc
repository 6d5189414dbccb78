#include "program/plot/attention_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>

#include "base/error.h"
#include "base/join.h"
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

double widest(const std::vector<std::string>& tokens) {
  double width = 0;
  for (const std::string& token : tokens) width = std::max(width, text_width(token, label_size));
  return std::min(width, longest_label);
}

}  // namespace

std::string attention_lines_svg(const AttentionMap& map, const AttentionLines& lines) {
  check_attention(map);
  const std::vector<int> heads = chosen_heads(map, lines.heads);
  const std::vector<size_t> rows = chosen_rows(map, lines.token);
  std::vector<std::vector<int>> panels;  // the heads of each panel
  if (lines.token.empty())
    for (const int head : heads) panels.push_back({head});
  else
    panels.push_back(heads);

  const double left_width = widest(map.target), right_width = widest(map.source);
  const double panel_width = left_width + line_area + right_width + 12;
  const auto names_in_line = static_cast<size_t>(std::max(1.0, panel_width / name_width));
  const size_t name_lines = (panels.front().size() - 1) / names_in_line + 1;
  const double heading = name_height * static_cast<double>(name_lines) + 8;
  const double panel_height =
      heading + step * static_cast<double>(std::max(map.source.size(), map.target.size()));
  const auto count = static_cast<int>(panels.size());
  const int columns = std::min(count, panels_in_row);
  const double width =
      std::max(columns * (panel_width + gap) - gap, std::min(640.0, text_width(map.title, title_size))) +
      2 * margin;

  Svg svg;
  const double top_of_panels = draw_title(svg, map.title, margin, margin, width - 2 * margin) + 14;
  for (int i = 0; i < count; ++i) {
    const double left = margin + (i % columns) * (panel_width + gap) + left_width;
    const int panel_row = i / columns;
    const double top = top_of_panels + panel_row * (panel_height + gap);
    const double right = left + 12 + line_area;
    const auto middle = [&](size_t place) { return top + heading + step * (static_cast<double>(place) + 0.5); };
    const std::vector<int>& shown = panels[static_cast<size_t>(i)];
    for (size_t k = 0; k < shown.size(); ++k) {
      const double x = left - left_width + name_width * static_cast<double>(k % names_in_line);
      const size_t line = k / names_in_line;
      const double y = top + name_height * static_cast<double>(line);
      svg.rect({x, y + 2, 9, 9}, area_colours[k % 6]);
      svg.text(x + 13, y + note_size, name_of(shown[k]), {.size = note_size, .css = "muted strong"});
    }
    for (size_t k = 0; k < shown.size(); ++k)
      for (const size_t row : rows)
        for (size_t column = 0; column < map.source.size(); ++column) {
          const size_t at = (static_cast<size_t>(shown[k]) * map.target.size() + row) * map.source.size();
          const float weight = map.weights[at + column];
          if (weight < min_weight) continue;
          // the lines of several heads lie side by side
          const double aside = (static_cast<double>(k) - (static_cast<double>(shown.size()) - 1) / 2) *
                               std::min(2.5, step / static_cast<double>(shown.size()));
          const Point ends[] = {{left + 6, middle(row) + aside}, {right - 6, middle(column) + aside}};
          svg.polyline(
              ends, {.css = line_colours[k % 6], .width = 2, .strength = std::min(1.0f, weight)},
              fmt::format("{}: {} → {}: {}", name_of(shown[k]), map.target[row], map.source[column], weight));
        }
    for (size_t row = 0; row < map.target.size(); ++row)
      svg.text(left, middle(row) + label_size * 0.35, elided(map.target[row], label_size, longest_label),
               {.size = label_size,
                .anchor = Anchor::end,
                .css = std::ranges::find(rows, row) != rows.end() ? "ink" : "muted"},
               map.target[row]);
    for (size_t column = 0; column < map.source.size(); ++column)
      svg.text(right, middle(column) + label_size * 0.35, elided(map.source[column], label_size, longest_label),
               {.size = label_size}, map.source[column]);
  }
  const int last_row = (count - 1) / columns;
  const double bottom = top_of_panels + last_row * (panel_height + gap) + panel_height;
  svg.text(margin, bottom + note_size, map.axes, {.size = note_size, .css = "muted"});
  return svg.finish(std::max(width, text_width(map.axes, note_size) + 2 * margin), bottom + note_size + margin,
                    map.title, map.theme);
}

}  // namespace sixfold
