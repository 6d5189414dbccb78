#include <fmt/format.h>

#include <map>
#include <memory>

#include "formats/idx.h"
#include "program/commands.h"
#include "program/demo/images.h"
#include "program/demo_folder.h"
#include "program/kit/value_option.h"

namespace sixfold::cli {
namespace {

using demo::CaptionedImage;

struct DemoImagesSettings {
  std::string out;
  demo::PictureOptions pictures;
};

std::string idx_of(const std::vector<CaptionedImage>& pictures) {
  std::string bytes = idx_header(std::ssize(pictures), {demo::picture_side, demo::picture_side, 3});
  for (const CaptionedImage& picture : pictures)
    bytes.append(picture.image.values.begin(), picture.image.values.end());
  return bytes;
}

std::string captions_of(const std::vector<CaptionedImage>& pictures) {
  std::string lines;
  for (const CaptionedImage& picture : pictures) lines += caption_of(picture.scene) + "\n";
  return lines;
}

void run(const DemoImagesSettings& settings) {
  const demo::Pictures pictures = demo::make_pictures(settings.pictures);
  std::map<std::string, std::string> files;
  for (const auto& [name, part] : {std::pair("train", &pictures.train), std::pair("valid", &pictures.valid),
                                   std::pair("test", &pictures.test)}) {
    files[std::string(name) + ".images"] = idx_of(*part);
    files[std::string(name) + ".captions"] = captions_of(*part);
  }
  make_demo_folder("--output", settings.out);
  write_demo_files(settings.out, files);
  fmt::print(
      "{}: {} training, {} validation and {} test pictures of {} scenes; those of validation and test are "
      "not in training\n",
      settings.out, pictures.train.size(), pictures.valid.size(), pictures.test.size(),
      demo::all_scenes().size());
}

}  // namespace

void add_demo_images(CLI::App& app) {
  const auto settings = std::make_shared<DemoImagesSettings>();
  CLI::App& command =
      *app.add_subcommand("demo-images", "Generate pictures of coloured shapes, with captions in English");
  command
      .add_option("-o,--output,--out", settings->out,
                  "folder for train.images, train.captions, valid.*, test.*; existing files are never replaced")
      ->type_name("DIR")
      ->required();
  demo::PictureOptions& pictures = settings->pictures;
  command.add_option("--pictures", pictures.train, "number of training pictures")->capture_default_str();
  command
      .add_option("--held-out", pictures.test,
                  "number of pictures in test.*; training has no picture with the same caption")
      ->capture_default_str();
  add_value_option(command, "--seed", pictures.seed, "random seed of the pictures");
  command.footer(
      "A picture has 32 x 32 pixels and shows two shapes: \"a red circle left of a blue square\". Images are "
      "IDX\n"
      "files; captions are lines.\n"
      "Example:\n  sixfold demo-images --output demo/pictures\n"
      "  sixfold train recipes/captions.yaml --output run");
  command.callback([settings] { run(*settings); });
}

}  // namespace sixfold::cli
