#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data/image_reader.h"
#include "model_folder/ownership.h"
#include "program/kit/text_io.h"

namespace sixfold::cli {

using ImageBlocks = ItemBlocks<ImageReader::Item>;

/// Returns the next images, limited so that they take little memory; none at the end of the input. An item
/// whose image can't be read has an error.
std::vector<ImageReader::Item> next_images(ImageReader& reader, ImageBlocks& blocks);

/// Processes the images of an input in blocks and in order: `process` gets the images that can be read and
/// returns a result for each; `write` gets the results of all images, with their places. The result of an image
/// that can't be read has only the member `error`. Throws an input error if an image is the file `output`,
/// before that is replaced.
template <class Result>
void process_images(ImageReader& reader, const std::string& output,
                    const std::function<std::vector<Result>(std::span<const Image> images)>& process,
                    const std::function<void(const Result& result, const std::string& place)>& write,
                    const std::function<void()>& end_of_block) {
  ImageBlocks blocks;
  for (std::vector<ImageReader::Item> items; !(items = next_images(reader, blocks)).empty(); end_of_block()) {
    std::vector<Image> images;
    for (const ImageReader::Item& item : items) require_output_file(output, {item.file});
    for (ImageReader::Item& item : items)
      if (!item.error) images.push_back(std::move(item.image));
    const std::vector<Result> results = process(images);
    auto next = results.begin();
    for (const ImageReader::Item& item : items) {
      Result failed;
      failed.error = item.error;
      write(item.error ? failed : *next++, item.place);
    }
  }
}

}  // namespace sixfold::cli
