#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sixfold {

/// `text` escaped for XML. Control characters are replaced by their symbols (U+2400 and following), and invalid
/// UTF-8 and noncharacters such as U+FFFE by U+FFFD.
std::string xml_text(std::string_view text);

/// An upper estimate of the width of `text` in common sans-serif fonts, in the unit of `font_size`. It depends
/// on the kinds of characters: wide East Asian ones take a full em, combining ones nothing.
double text_width(std::string_view text, double font_size);

/// The width of the widest of some texts, but at most `max_width`.
double widest_text(std::span<const std::string> texts, double font_size, double max_width);

/// `text`, truncated and ended by "…" if it would be wider than `width`.
std::string elided(std::string_view text, double font_size, double width);

/// Breaks text at spaces into lines of at most `width` pixels; a word that is wider is cut as by `elided`.
/// There is at least one line.
std::vector<std::string> wrapped(std::string_view text, double font_size, double width);

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

/// The colours of a picture.
enum class Theme {
  automatic,  ///< follows the setting of the viewer's system
  light,
  dark
};

struct Point {
  double x, y;
};

/// The style of a line.
struct LineStyle {
  std::string_view css = "grid";  ///< grid, or line0 to line5
  double width = 1;
  std::string dashes = {};  ///< lengths of dashes and gaps alternately, in pixels: "5 3"; empty: a solid line
  double offset = 0;        ///< by which the pattern of dashes is moved along the line
  double strength = 1;      ///< opacity
};

/// Builds an SVG picture. Coordinates are in pixels from the top left. Colours are given by the classes of its
/// style sheet (ink, muted, paper, panel, heat, cool; for lines grid and line0 to line5), which has a light and
/// a dark version.
class Svg {
 public:
  /// Draws a rectangle. `strength`, from 0 to 1, is its opacity. The tooltip, if there is one, is shown when
  /// the pointer is over it.
  void rect(const Box& box, std::string_view css, double strength = 1, std::string_view tooltip = {});
  /// Draws text whose baseline starts at (x, y), or ends or is centred there.
  void text(double x, double y, std::string_view text, const TextStyle& style, std::string_view tooltip = {});
  /// Draws a line through the points.
  void polyline(std::span<const Point> points, const LineStyle& style, std::string_view tooltip = {});
  /// Draws a disc. `css` is a class for areas, such as area0 to area5, which have the colours of line0 to
  /// line5.
  void dot(const Point& centre, double radius, std::string_view css, std::string_view tooltip = {});
  /// Fills a polygon. `css` is a class for areas.
  void area(std::span<const Point> points, std::string_view css, double strength);
  /// Draws a bar with a gradient: `css` with these strengths, at least two, evenly spaced from left to right. A
  /// picture can have only one.
  void gradient(const Box& box, std::string_view css, std::span<const double> strengths);
  /// Draws a PNG file, stretched to the box. Its pixels stay sharp squares.
  void image(const Box& box, std::string_view png);
  /// The complete file. Screen readers read the title aloud.
  std::string finish(double width, double height, std::string_view title, Theme theme = Theme::automatic) const;

 private:
  std::string body_;
};

/// Writes the title of a picture with its top left corner at (x, y), broken into lines of at most `width`
/// pixels. Returns the y coordinate of its lower edge.
double draw_title(Svg& svg, const std::string& title, double x, double y, double width);

}  // namespace sixfold
