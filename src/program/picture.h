#pragma once
#include <CLI/CLI.hpp>
#include <string>

#include "base/options.h"
#include "program/plot/svg.h"

namespace sixfold {

template <>
struct EnumNames<Theme> {
  static constexpr std::pair<Theme, std::string_view> names[] = {
      {Theme::automatic, "auto"}, {Theme::light, "light"}, {Theme::dark, "dark"}};
};

namespace cli {

/// The options of commands that draw a picture: the file to write, and the colours.
struct PictureOptions {
  std::string output;
  Theme theme = Theme::automatic;
};

/// Adds --output and --theme.
void add_picture_options(CLI::App& command, PictureOptions& options);

/// Writes the picture as PNG if the name ends in .png, else as SVG.
/// `inputs` are the files that the command reads, as for `TextOutput`.
void write_picture(const PictureOptions& options, const std::string& svg,
                   const std::vector<std::string>& inputs = {});

}  // namespace cli
}  // namespace sixfold
