#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/lines.h"
#include "formats/idx.h"

namespace sixfold {

/// Reads images one after the other: those of an IDX file, those of the files that a text file lists, with one
/// name on each line, relative to the folder of the list, or the single image of an image file. IDX files and
/// texts may be gzipped.
class ImageReader {
 public:
  /// Throws an input error if the file can't be read, or if it is empty and its name is that of an image file.
  /// A file that is not regular, such as a pipe, can be read only once and is taken for a list. The names of a
  /// list in "/dev/stdin" are relative to the working directory.
  explicit ImageReader(const std::string& path);

  /// The result of reading one image.
  struct Item {
    Image image;
    /// Names the image in messages, with its file if it is in a list and `error` does not name the file.
    std::string place;
    std::string file;                  ///< the image file; empty for an image of an IDX file
    std::optional<std::string> error;  ///< why there is no image: its file is missing or damaged
  };
  /// Reads the next image; nothing at the end. Throws an input error if the IDX file is damaged, or the list is
  /// not a text.
  std::optional<Item> next();
  /// Whether `next` can return without waiting for input; waits for at most about `timeout`.
  bool ready(std::chrono::milliseconds timeout) { return !list_ || list_->ready(timeout); }

 private:
  void read(Item& item, const std::string& path);

  std::string path_;
  std::unique_ptr<IdxFile> images_;  // if both are null, the file is an image
  std::unique_ptr<LineReader> list_;
  int64_t count_ = 0;
};

/// Reads labels one after the other: those of an IDX file, whose numbers stand for `names` (or, without names,
/// for themselves), or the lines of a text, without spaces around them. Both may be gzipped.
class LabelReader {
 public:
  LabelReader(const std::string& path, std::vector<std::string> names);

  /// Reads the next label. Returns false at the end. Throws an input error if there is none on a line, or no
  /// name for a number.
  bool next(std::string& label);
  bool has_numbers() const { return numbers_ != nullptr; }  ///< whether it is an IDX file

 private:
  std::string path_;
  std::vector<std::string> names_;
  std::unique_ptr<IdxFile> numbers_;
  std::unique_ptr<LineReader> lines_;
};

/// Reads captions one after the other: the lines of a text, which may be gzipped.
class CaptionReader {
 public:
  /// Throws an input error if the file can't be read, or is an IDX file.
  explicit CaptionReader(const std::string& path);

  /// Reads the next caption. Returns false at the end. Throws an input error that names file and line if it is
  /// empty, and as `make_valid`.
  bool next(std::string& caption);

 private:
  LineReader lines_;
};

/// The kind of texts that belong to images, labels or captions, and how a file of them is read.
struct ImageTexts {
  std::string name;  ///< of one text in messages: "label"
  /// Opens a file of them. The function that it returns reads the next one, and returns false at the end.
  std::function<std::function<bool(std::string& text)>(const std::string& path)> open;
};

/// Labels. `names` are the names of the numbers in IDX files.
ImageTexts labels_of_files(const std::vector<std::string>& names);
ImageTexts captions_of_files();

/// Reads images and their texts from pairs of files: images, labels, images, labels, ... Label n of a pair of
/// files belongs to its image n.
class PairedImageReader {
 public:
  /// Checks that all files exist and may be read, before any is read. Throws an input error if the second file
  /// of a pair is missing.
  PairedImageReader(std::vector<std::string> files, ImageTexts texts);

  /// Reads the next image and its text. Returns false at the end of the last pair. Throws an input error that
  /// names the file if an image can't be read, if there are more images than texts or fewer, or if an image
  /// has not the size of the first.
  bool next(Image& image, std::string& text);
  /// The name of the image that was read last, for messages.
  const std::string& place() const { return place_; }

 private:
  std::vector<std::string> files_;
  ImageTexts text_kind_;
  size_t file_ = 0;
  std::optional<ImageReader> images_;
  std::function<bool(std::string&)> texts_;
  std::optional<ImageSize> size_;
  std::string place_;
};

/// Whether a file is an IDX file. A pipe is not, and nothing is read from it.
bool is_idx_file(const std::string& path);

/// Returns the labels in an IDX file as numbers, or nothing if the file is not one.
std::optional<std::vector<std::string>> read_idx_labels(const std::string& path);

/// Returns the labels of pairs of files, in alphabetical order (by bytes). Throws as `LabelReader`; an input
/// error if there are more than 10,000; `Cancelled` when `stop` becomes nonzero.
std::vector<std::string> labels_of_images(const std::vector<std::string>& files,
                                          const std::vector<std::string>& names, const std::atomic<int>* stop);

/// Returns the image files that a list names; none if the file is not a list, or if it can be read only once.
std::vector<std::string> files_of_list(const std::string& path);

/// Returns a text that changes whenever one of the files does, or an image that a list among them names.
std::string fingerprint_of_images(const std::vector<std::string>& files);

}  // namespace sixfold
