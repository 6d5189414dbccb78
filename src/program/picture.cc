#include "program/picture.h"

#include <filesystem>
#include <span>

#include "base/join.h"
#include "base/log.h"
#include "program/kit/text_io.h"
#include "program/kit/value_option.h"
#include "program/plot/png.h"

namespace sixfold::cli {

namespace {

/// ".svg", ".png", ..., in lower case.
std::string extension_of(const std::string& path) {
  return CLI::detail::to_lower(std::filesystem::path(path).extension().string());
}

/// A validator of CLI11: returns an error message, or an empty text if the name is valid.
std::string check_picture_name(const std::string& path) {
  const std::string extension = extension_of(path);
  if (path == "-" || extension == ".svg" || extension == ".png") return "";
  return fmt::format("{}: unknown type of picture; give a file name that ends in .svg or .png", path);
}

void warn_of_missing_fonts(const std::string& path, const std::string& svg) {
  const std::vector<std::string> characters = characters_without_font(svg);
  if (characters.empty()) return;
  constexpr size_t shown = 10;
  log_warning(
      "{}: no installed font has {}{}, so the PNG shows boxes in their place. Write .svg, which uses the "
      "fonts of the viewer, or install a font (Debian: fonts-noto-cjk for Chinese, Japanese and Korean, "
      "fonts-noto-core for most others)",
      path, join(std::span(characters).first(std::min(shown, characters.size())), " "),
      characters.size() > shown ? " ..." : "");
}

}  // namespace

void add_picture_options(CLI::App& command, PictureOptions& options) {
  command
      .add_option("-o,--output", options.output, "picture to write, .svg or .png; -: SVG to standard output")
      ->type_name("FILE")
      ->check(check_picture_name)
      ->required();
  add_value_option(command, "--theme", options.theme,
                   "colours: light, dark, or auto, which follows the viewer's system");
}

void write_picture(const PictureOptions& options, const std::string& svg,
                   const std::vector<std::string>& inputs) {
  const bool png = extension_of(options.output) == ".png";
  const std::string picture = png ? png_of_svg(svg) : svg;
  if (png) warn_of_missing_fonts(options.output, svg);
  TextOutput output(options.output, inputs);
  output.write(picture);
  output.close();
}

}  // namespace sixfold::cli
