#include "cli/picture.h"

#include "cli/named_option.h"
#include "cli/text_io.h"
#include "plot/png.h"

namespace sixfold::cli {

void add_picture_options(CLI::App& command, PictureOptions& options) {
  command
      .add_option("-o,--output", options.output, "picture to write, .svg or .png; - is standard output, as SVG")
      ->type_name("FILE")
      ->required();
  add_named_option(command, "--theme", options.theme,
                   "colours: light, dark, or auto, as the reader's screen [auto]");
}

void write_picture(const PictureOptions& options, const std::string& svg,
                   const std::vector<std::string>& inputs) {
  const std::string picture = options.output.ends_with(".png") ? png_of_svg(svg) : svg;
  TextOutput output(options.output, inputs);
  output.write(picture);
  output.close();
}

}  // namespace sixfold::cli
