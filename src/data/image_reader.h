#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/lines.h"
#include "images/idx.h"

namespace sixfold {

/// Reads images one after the other: those of an IDX file, or the files that a text lists, one name on each
/// line, relative to the text's folder. Both may be gzipped.
class ImageReader {
 public:
  /// Throws an input error if the file can't be read. For "/dev/stdin" a list is read, relative to the working
  /// directory.
  explicit ImageReader(const std::string& path);

  /// The result of reading one image.
  struct Item {
    Image image;
    std::string place;                 ///< names the image in messages
    std::optional<std::string> error;  ///< why there is no image: its file is missing or damaged
  };
  /// Reads the next image; nothing at the end. Throws an input error if the IDX file or the list is damaged.
  std::optional<Item> next();

 private:
  std::string path_;
  std::unique_ptr<IdxFile> images_;
  std::unique_ptr<LineReader> list_;
  int64_t count_ = 0;
};

/// Reads labels one after the other: those of an IDX file, whose numbers stand for `names` (or, without names,
/// for themselves), or the lines of a text. Both may be gzipped.
class LabelReader {
 public:
  LabelReader(const std::string& path, std::vector<std::string> names);

  /// Reads the next label. Returns false at the end. Throws an input error if there is none on a line, or no
  /// name for a number.
  bool next(std::string& label);

 private:
  std::string path_;
  std::vector<std::string> names_;
  std::unique_ptr<IdxFile> numbers_;
  std::unique_ptr<LineReader> lines_;
};

/// Reads the images and labels of pairs of files: images, labels, images, labels, ... Label n of a pair is that
/// of its image n.
class LabelledImageReader {
 public:
  /// `names`: those of numbers in IDX files. Checks that all files exist and may be read, before any is read.
  /// Throws an input error if images have no labels.
  LabelledImageReader(std::vector<std::string> files, std::vector<std::string> names);

  /// Reads the next image and its label. Returns false at the end of the last pair. Throws an input error that
  /// names the file if an image can't be read, if there are more images than labels or fewer, or if an image
  /// has not the size of the first.
  bool next(Image& image, std::string& label);
  /// The name of the image that was read last, for messages.
  const std::string& place() const { return place_; }

 private:
  std::vector<std::string> files_, names_;
  size_t file_ = 0;
  std::optional<ImageReader> images_;
  std::optional<LabelReader> labels_;
  std::optional<ImageSize> size_;
  std::string place_;
};

/// Returns the labels in an IDX file as numbers, or nothing if the file is not one.
std::optional<std::vector<std::string>> read_idx_labels(const std::string& path);

/// Returns the labels of pairs of files, in alphabetical order (by bytes). Throws as `LabelReader`; an input
/// error if there are more than 10,000; `Cancelled` when `stop` becomes nonzero.
std::vector<std::string> labels_of_images(const std::vector<std::string>& files,
                                          const std::vector<std::string>& names, const std::atomic<int>* stop);

/// Returns a text that changes whenever one of the files does, or an image that a list among them names.
std::string fingerprint_of_images(const std::vector<std::string>& files);

}  // namespace sixfold
