#include "data/stored_images.h"

#include <cstring>
#include <memory>

#include "base/error.h"
#include "data/patches.h"

namespace sixfold {
namespace {

constexpr size_t header = 3;  // height, width, channels

size_t packed_numbers(const ImageSize& size) { return (static_cast<size_t>(size.values()) + 3) / 4; }

void append_image(SequenceSink& sink, const Image& image) {
  std::vector<int32_t> numbers(header + packed_numbers(image.size));
  numbers[0] = image.size.height, numbers[1] = image.size.width, numbers[2] = image.size.channels;
  std::memcpy(numbers.data() + header, image.values.data(), image.values.size());
  sink.append_numbers(numbers);
}

}  // namespace

Image StoredImage::image() const {
  Image image{.size = size, .values = std::vector<uint8_t>(static_cast<size_t>(size.values()))};
  std::memcpy(image.values.data(), packed.data(), image.values.size());
  return image;
}

StoredImage stored_image(std::span<const int32_t> sequence) {
  StoredImage stored;
  const auto is_size = [](int32_t n) { return n > 0 && n <= longest_image_side; };
  const bool is_image = sequence.size() >= header && is_size(sequence[0]) && is_size(sequence[1]) &&
                        (sequence[2] == 1 || sequence[2] == 3);
  if (is_image) stored.size = {sequence[0], sequence[1], sequence[2]};
  const size_t numbers = packed_numbers(stored.size);
  require(is_image && sequence.size() > header + numbers,
          "the encoded data contains a sequence that is not an image");
  stored.packed = sequence.subspan(header, numbers);
  stored.rest = sequence.subspan(header + numbers);
  return stored;
}

EncodeFiles image_encoder(ImageTexts texts, AppendImageText append, CheckImageSize check) {
  const auto size = std::make_shared<ImageSize>();  // of the training images, which come first
  return [texts = std::move(texts), append = std::move(append), check = std::move(check), size](
             const std::vector<std::string>& files, SequenceSink& sink) {
    PairedImageReader reader(files, texts);
    int64_t bytes = 0;
    std::string text;
    for (Image image; reader.next(image, text); sink.end()) {
      if (size->height == 0) check(*size = image.size);
      require(image.size == *size, "{}: the image is {}, but those of the training data are {}", reader.place(),
              image.size.describe(), size->describe());
      append_image(sink, image);
      bytes += append(text, reader.place(), sink);
    }
    return bytes;
  };
}

int64_t PatchCutter::rows(const ImageSize& size) const {
  return int64_t{(size.height - patch) / stride + 1} * ((size.width - patch) / stride + 1) +
         (class_token ? 1 : 0);
}

void PatchCutter::add(const StoredImage& stored, int64_t sample, int64_t epoch, BatchBuilder& batch) const {
  constexpr uint64_t stream = 0x696D616765;  // "image"
  RandomStream random = random_of_sample(seed, stream, epoch, sample);
  const Image image = augmented(stored.image(), augmentation, random);
  batch.source(patches_of(image, patch, stride, class_token), patch * patch * image.size.channels);
}

}  // namespace sixfold
