#pragma once
#include <span>
#include <string>
#include <string_view>

namespace sixfold {

/// `text` as XML may hold it: markup escaped, control characters as their pictures (U+2400..), and what is no
/// character (broken UTF-8, U+FFFE) as U+FFFD.
std::string xml_text(std::string_view text);

/// How wide `text` is drawn at most, in the usual sans-serif fonts; same unit as `font_size`. An estimate from
/// above by kinds of characters: East Asian wide ones take a full em, combining ones nothing.
double text_width(std::string_view text, double font_size);

/// `text`, cut and ended by "…" where it would be wider than `width`.
std::string elided(std::string_view text, double font_size, double width);

struct Box {
  double x, y, width, height;
};

enum class Anchor { start, middle, end };

struct TextStyle {
  double size = 11;
  Anchor anchor = Anchor::start;
  double rotate = 0;  // degrees, clockwise around (x, y)
  std::string_view css = "ink";
};

/// Which colours a picture has.
enum class Theme {
  automatic,  ///< as the reader's system is set
  light,
  dark
};

struct Point {
  double x, y;
};

/// How a line is drawn.
struct LineStyle {
  std::string_view css = "grid";  ///< grid, or line0 to line5
  double width = 1;
  bool dashed = false;
};

/// An SVG picture in the making, in pixels from the top left. Colours come from the classes of its style sheet
/// (ink, muted, paper, panel, heat, cool; of lines grid and line0 to line5), which has a light and a dark form.
class Svg {
 public:
  /// A rectangle. Its strength, 0 to 1, mixes the class's colour with what lies below; a tooltip, where there
  /// is one, shows when the pointer rests on it.
  void rect(const Box& box, std::string_view css, double strength = 1, std::string_view tooltip = {});
  /// Text on the baseline that starts (or has its middle, or ends) at (x, y).
  void text(double x, double y, std::string_view text, const TextStyle& style, std::string_view tooltip = {});
  /// A line through the points; its tooltip shows when the pointer rests on it.
  void polyline(std::span<const Point> points, const LineStyle& style, std::string_view tooltip = {});
  /// A disc in the colour of an area's class, which belongs to a line's.
  void dot(const Point& centre, double radius, std::string_view css, std::string_view tooltip = {});
  /// The area within the points, in the colour of a line's class.
  void area(std::span<const Point> points, std::string_view css, double strength);
  /// A bar in which `css` has these strengths, evenly spaced from left to right and at least two. One in a
  /// picture.
  void gradient(const Box& box, std::string_view css, std::span<const double> strengths);
  /// The whole file, with the title that screen readers speak.
  std::string finish(double width, double height, std::string_view title, Theme theme = Theme::automatic) const;

 private:
  std::string body_;
};

}  // namespace sixfold
