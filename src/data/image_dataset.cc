#include "data/image_dataset.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "base/nearest.h"
#include "data/image_reader.h"
#include "images/patches.h"

namespace sixfold {
namespace {

constexpr size_t header = 3;  // height, width, channels

size_t packed_numbers(const ImageSize& size) { return (static_cast<size_t>(size.values()) + 3) / 4; }

int32_t number_of(const std::string& label, const std::vector<std::string>& labels, const std::string& place) {
  const auto found = std::ranges::lower_bound(labels, label);
  require(found != labels.end() && *found == label, "{}: the label '{}' does not occur in the training data{}",
          place, label, suggestion(label, labels));
  return static_cast<int32_t>(found - labels.begin());
}

}  // namespace

Image StoredImage::image() const {
  Image image{.size = size, .values = std::vector<uint8_t>(static_cast<size_t>(size.values()))};
  std::memcpy(image.values.data(), packed.data(), image.values.size());
  return image;
}

void append_image(SequenceSink& sink, const Image& image) {
  std::vector<int32_t> numbers(header + packed_numbers(image.size));
  numbers[0] = image.size.height, numbers[1] = image.size.width, numbers[2] = image.size.channels;
  std::memcpy(numbers.data() + header, image.values.data(), image.values.size());
  sink.append_numbers(numbers);
}

StoredImage stored_image(std::span<const int32_t> sequence) {
  StoredImage stored;
  constexpr int32_t most = 1 << 14;
  const auto is_size = [](int32_t n) { return n > 0 && n <= most; };
  const bool begins = sequence.size() >= header && is_size(sequence[0]) && is_size(sequence[1]) &&
                      (sequence[2] == 1 || sequence[2] == 3);
  if (begins) stored.size = {sequence[0], sequence[1], sequence[2]};
  const size_t numbers = packed_numbers(stored.size);
  require(begins && sequence.size() > header + numbers,
          "the encoded data contains a sequence that is not an image");
  stored.packed = sequence.subspan(header, numbers);
  stored.rest = sequence.subspan(header + numbers);
  return stored;
}

EncodeFiles image_encoder(const std::vector<std::string>& labels, const std::vector<std::string>& label_names) {
  const auto size = std::make_shared<ImageSize>();  // of the training images, which come first
  return [labels, label_names, size](const std::vector<std::string>& files, SequenceSink& sink) {
    LabelledImageReader reader(files, label_names);
    int64_t bytes = 0;
    std::string label;
    for (Image image; reader.next(image, label); sink.end()) {
      if (size->height == 0) *size = image.size;
      require(image.size == *size, "{}: the image is {}, but those of the training data are {}", reader.place(),
              image.size.describe(), size->describe());
      append_image(sink, image);
      sink.append_number(number_of(label, labels, reader.place()));
      bytes += image.size.values();
    }
    return bytes;
  };
}

ImageDataset::ImageDataset(IdSequences sequences, ImageDatasetOptions options, std::string hash)
    : sequences_(std::move(sequences)), options_(std::move(options)), hash_(std::move(hash)) {
  require(sequences_.size() > 0, "the encoded data contains no images");
  const auto [height, width, channels] = size_of_images();
  patches_ = int64_t{(height - options_.patch) / options_.stride + 1} *
             ((width - options_.patch) / options_.stride + 1);
}

int64_t ImageDataset::tokens(int64_t /*sample*/, int64_t /*epoch*/) const { return patches_; }

void ImageDataset::add(int64_t sample, int64_t epoch, BatchBuilder& batch) const {
  constexpr uint64_t stream = 0x696D616765;  // "image"
  RandomStream random(static_cast<uint64_t>(epoch) << 40 | static_cast<uint64_t>(sample), stream);
  const Image image = augmented(stored_image(sequences_[sample]).image(), options_.augmentation, random);
  batch.source(patches_of(image, options_.patch, options_.stride),
               options_.patch * options_.patch * image.size.channels);
  batch.label_sequence(label(sample), options_.weights[static_cast<size_t>(label(sample))]);
}

SampleDescription ImageDataset::describe(int64_t sample) const {
  return {"image", {{"label", options_.labels[static_cast<size_t>(label(sample))]}}};
}

}  // namespace sixfold
