#include "program/plot/svg.h"

#include <fmt/format.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <iterator>

#include "base/base64.h"

namespace sixfold {
namespace {

// Two sets of colours. There are no CSS variables, since some viewers of SVG do not support them. The colours
// of lines can be distinguished by people with red-green colour blindness.
constexpr std::string_view common_style =
    R"(text{font-family:"Helvetica Neue",Arial,"DejaVu Sans","Noto Sans","Noto Sans CJK JP",sans-serif}
.strong{font-weight:600}
polyline{fill:none;stroke-linejoin:round}
)";
constexpr std::string_view light_style =
    R"(.paper{fill:#ffffff}.panel{fill:#edf0f4}.ink{fill:#1b2430}.muted{fill:#566172}
.heat{fill:#0a3d91;stop-color:#0a3d91}.cool{fill:#b0480c;stop-color:#b0480c}.grid{stroke:#d5dbe3}
.line0{stroke:#0a58ca}.line1{stroke:#c4500b}.line2{stroke:#11805b}.line3{stroke:#9b2fae}.line4{stroke:#6b5b00}.line5{stroke:#566172}
.area0{fill:#0a58ca}.area1{fill:#c4500b}.area2{fill:#11805b}.area3{fill:#9b2fae}.area4{fill:#6b5b00}.area5{fill:#566172}
)";
constexpr std::string_view dark_style =
    R"(.paper{fill:#11151b}.panel{fill:#1e252e}.ink{fill:#e8ebf0}.muted{fill:#a3adba}
.heat{fill:#ffc169;stop-color:#ffc169}.cool{fill:#6cb6ff;stop-color:#6cb6ff}.grid{stroke:#333d4a}
.line0{stroke:#6cb6ff}.line1{stroke:#ffa657}.line2{stroke:#56d4a4}.line3{stroke:#e2a5f1}.line4{stroke:#e3d37b}.line5{stroke:#a3adba}
.area0{fill:#6cb6ff}.area1{fill:#ffa657}.area2{fill:#56d4a4}.area3{fill:#e2a5f1}.area4{fill:#e3d37b}.area5{fill:#a3adba}
)";

std::string style_sheet(Theme theme) {
  std::string text = "<style>\n" + std::string(common_style);
  text += theme == Theme::dark ? dark_style : light_style;
  if (theme == Theme::automatic)
    text += "@media (prefers-color-scheme:dark){\n" + std::string(dark_style) + "}\n";
  return text + "</style>\n";
}

constexpr UChar32 replacement = 0xFFFD;

/// Returns the character at `position` and moves `position` after it. Returns U+FFFD for invalid UTF-8.
UChar32 next_character(std::string_view text, size_t& position) {
  UChar32 c = 0;
  U8_NEXT_OR_FFFD(text.data(), position, text.size(), c);
  return c;
}

void append(std::string& text, UChar32 c) {
  char bytes[U8_MAX_LENGTH];
  int length = 0;
  U8_APPEND_UNSAFE(bytes, length, c);
  text.append(bytes, static_cast<size_t>(length));
}

/// The width of a character in em, in the widest of the common sans-serif fonts.
double character_width(UChar32 c) {
  if (c < 0x80) {
    char byte = static_cast<char>(c);
    if (std::string_view("fijlrtI.,:;'|!()[]` -/\"").find(byte) != std::string_view::npos) return 0.46;
    if (std::string_view("mwMW@%").find(byte) != std::string_view::npos) return 1;
    return byte >= 'A' && byte <= 'Z' ? 0.79 : 0.64;
  }
  uint32_t category = U_MASK(u_charType(c));
  if (category & (U_GC_MN_MASK | U_GC_ME_MASK | U_GC_CF_MASK)) return 0;
  if (c >= 0x1F000 && c < 0x20000) return 1.35;  // emoji
  int width = u_getIntPropertyValue(c, UCHAR_EAST_ASIAN_WIDTH);
  if (width == U_EA_WIDE || width == U_EA_FULLWIDTH || c == replacement) return 1.05;
  return c < 0x530 ? 0.79 : 0.9;
}

/// A coordinate with up to two decimal places.
std::string number(double value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string tooltip_element(std::string_view tooltip) {
  return tooltip.empty() ? "" : fmt::format("<title>{}</title>", xml_text(tooltip));
}

std::string geometry(const Box& box) {
  return fmt::format("x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", number(box.x), number(box.y),
                     number(box.width), number(box.height));
}

}  // namespace

std::string xml_text(std::string_view text) {
  std::string result;
  for (size_t position = 0; position < text.size();) {
    UChar32 c = next_character(text, position);
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case 0x7F:
        append(result, 0x2421);
        break;
      default:
        if (c < 0x20)
          append(result, 0x2400 + c);
        else if (U_IS_UNICODE_NONCHAR(c) || u_charType(c) == U_CONTROL_CHAR)
          append(result, replacement);
        else
          append(result, c);
    }
  }
  return result;
}

double text_width(std::string_view text, double font_size) {
  double width = 0;
  for (size_t position = 0; position < text.size();) width += character_width(next_character(text, position));
  return width * font_size;
}

double widest_text(std::span<const std::string> texts, double font_size, double max_width) {
  double width = 0;
  for (const std::string& text : texts) width = std::max(width, text_width(text, font_size));
  return std::min(width, max_width);
}

std::string elided(std::string_view text, double font_size, double width) {
  if (text_width(text, font_size) <= width) return std::string(text);
  constexpr std::string_view ellipsis = "…";
  double used = text_width(ellipsis, font_size);
  size_t kept = 0;
  for (size_t position = 0; position < text.size();) {
    used += character_width(next_character(text, position)) * font_size;
    if (used > width) break;
    kept = position;
  }
  return std::string(text.substr(0, kept)).append(ellipsis);
}

std::vector<std::string> wrapped(std::string_view text, double font_size, double width) {
  std::vector<std::string> lines(1);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word(text.substr(begin, end - begin));
    const std::string longer = lines.back().empty() ? word : lines.back() + " " + word;
    if (lines.back().empty() || text_width(longer, font_size) <= width)
      lines.back() = longer;
    else
      lines.push_back(word);
    begin = end + 1;
  }
  for (std::string& line : lines) line = elided(line, font_size, width);
  return lines;
}

double draw_title(Svg& svg, const std::string& title, double x, double y, double width) {
  constexpr double size = 15, line_height = 20;
  double bottom = y;
  for (const std::string& line : wrapped(title, size, width)) {
    svg.text(x, bottom + size * 0.8, line, {.size = size, .css = "ink strong"}, title);
    bottom += line_height;
  }
  return bottom - line_height + size;
}

void Svg::rect(const Box& box, std::string_view css, double strength, std::string_view tooltip) {
  fmt::format_to(std::back_inserter(body_), "<rect {} class=\"{}\"", geometry(box), css);
  if (strength < 1) fmt::format_to(std::back_inserter(body_), " fill-opacity=\"{:.3f}\"", strength);
  if (tooltip.empty())
    body_ += "/>\n";
  else
    body_ += ">" + tooltip_element(tooltip) + "</rect>\n";
}

void Svg::text(double x, double y, std::string_view text, const TextStyle& style, std::string_view tooltip) {
  constexpr const char* anchors[] = {"start", "middle", "end"};
  fmt::format_to(std::back_inserter(body_), "<text x=\"{}\" y=\"{}\" font-size=\"{}\" class=\"{}\"", number(x),
                 number(y), number(style.size), style.css);
  if (style.anchor != Anchor::start)
    fmt::format_to(std::back_inserter(body_), " text-anchor=\"{}\"", anchors[static_cast<int>(style.anchor)]);
  if (style.rotate != 0)
    fmt::format_to(std::back_inserter(body_), " transform=\"rotate({} {} {})\"", number(style.rotate),
                   number(x), number(y));
  body_ += ">" + tooltip_element(tooltip) + xml_text(text) + "</text>\n";
}

void Svg::polyline(std::span<const Point> points, const LineStyle& style, std::string_view tooltip) {
  fmt::format_to(std::back_inserter(body_), "<polyline class=\"{}\" stroke-width=\"{}\"", style.css,
                 number(style.width));
  if (!style.dashes.empty())
    fmt::format_to(std::back_inserter(body_), " stroke-dasharray=\"{}\"", style.dashes);
  if (style.strength < 1)
    fmt::format_to(std::back_inserter(body_), " stroke-opacity=\"{:.3f}\"", style.strength);
  if (style.offset != 0)
    fmt::format_to(std::back_inserter(body_), " stroke-dashoffset=\"{}\"", number(-style.offset));
  body_ += " points=\"";
  for (const Point& point : points) body_ += number(point.x) + "," + number(point.y) + " ";
  body_ += "\">" + tooltip_element(tooltip) + "</polyline>\n";
}

void Svg::dot(const Point& centre, double radius, std::string_view css, std::string_view tooltip) {
  fmt::format_to(std::back_inserter(body_), "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" class=\"{}\">{}</circle>\n",
                 number(centre.x), number(centre.y), number(radius), css, tooltip_element(tooltip));
}

void Svg::area(std::span<const Point> points, std::string_view css, double strength) {
  fmt::format_to(std::back_inserter(body_), "<polygon class=\"{}\" fill-opacity=\"{:.3f}\" points=\"", css,
                 strength);
  for (const Point& point : points) body_ += number(point.x) + "," + number(point.y) + " ";
  body_ += "\"/>\n";
}

void Svg::gradient(const Box& box, std::string_view css, std::span<const double> strengths) {
  body_ += "<defs><linearGradient id=\"scale\">";
  for (size_t i = 0; i < strengths.size(); ++i)
    fmt::format_to(std::back_inserter(body_), "<stop offset=\"{}\" class=\"{}\" stop-opacity=\"{:.3f}\"/>",
                   number(static_cast<double>(i) / static_cast<double>(strengths.size() - 1)), css,
                   strengths[i]);
  fmt::format_to(std::back_inserter(body_), "</linearGradient></defs>\n<rect {} fill=\"url(#scale)\"/>\n",
                 geometry(box));
}

void Svg::image(const Box& box, std::string_view png) {
  fmt::format_to(std::back_inserter(body_),
                 "<image {} preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" "
                 "href=\"data:image/png;base64,{}\"/>\n",
                 geometry(box), base64(png));
}

std::string Svg::finish(double width, double height, std::string_view title, Theme theme) const {
  std::string w = number(width), h = number(height);
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
             "role=\"img\">\n<title>{2}</title>\n",
             w, h, xml_text(title)) +
         style_sheet(theme) + fmt::format("<rect width=\"{}\" height=\"{}\" class=\"paper\"/>\n", w, h) +
         body_ + "</svg>\n";
}

}  // namespace sixfold
