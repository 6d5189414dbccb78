#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "formats/image.h"

namespace sixfold {

/// A file of bytes in the IDX format of the MNIST data, plain or gzipped: images are [n, height, width] or [n,
/// height, width, channels], labels are [n]. It is read item by item.
class IdxFile {
 public:
  /// Whether a file begins with the magic number of an IDX file. Throws if it can't be read.
  static bool has_magic(const std::string& path);

  /// Throws an input error if it is not an IDX file of bytes, or its items have no known shape.
  explicit IdxFile(const std::string& path);

  int64_t items() const { return items_; }
  bool has_images() const { return item_.height > 0; }
  /// The size of each image; 0 x 0 for a file of labels.
  const ImageSize& size() const { return item_; }
  /// Reads the next item: an image, or a label as one value. Returns false at the end. Throws an input error if
  /// the file is shorter than its header says, longer, or damaged.
  bool next(std::vector<uint8_t>& values);

 private:
  struct Close {
    void operator()(void* file) const noexcept;
  };
  void read(std::span<uint8_t> to);
  [[noreturn]] void fail(const char* how) const;

  std::string path_;
  std::unique_ptr<void, Close> file_;  // zlib's
  int64_t items_ = 0, read_ = 0;
  ImageSize item_;
};

/// Returns the header of an IDX file of images, 4 dimensions even if they are grey. The values of the images
/// follow it.
std::string idx_header(int64_t images, const ImageSize& size);

}  // namespace sixfold
