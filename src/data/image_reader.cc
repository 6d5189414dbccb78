#include "data/image_reader.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "images/decode.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

bool is_idx(const std::string& path) {
  require_readable(path);
  return path != "/dev/stdin" && IdxFile::is_one(path);
}

/// The path of a file that a list names.
std::string listed(const std::string& list, const std::string& name) {
  const fs::path path(name);
  return path.is_absolute() || list == "/dev/stdin" ? name : (fs::path(list).parent_path() / path).string();
}

}  // namespace

ImageReader::ImageReader(const std::string& path) : path_(path) {
  if (!is_idx(path)) {
    list_ = std::make_unique<LineReader>(path);
    return;
  }
  images_ = std::make_unique<IdxFile>(path);
  require(images_->has_images(), "{}: contains labels, not images", path);
}

std::optional<ImageReader::Item> ImageReader::next() {
  Item item;
  if (images_) {
    item.image.size = images_->size();
    if (!images_->next(item.image.values)) return std::nullopt;
    item.place = fmt::format("{}, image {}", path_, ++count_);
    return item;
  }
  std::string line;
  if (!list_->next(line)) return std::nullopt;
  make_valid(line, *list_, InvalidUtf8::error);
  item.place = list_->place();
  try {
    require(has_visible_character(line), "the name of the image is empty");
    item.image = read_image(listed(path_, line));
  } catch (const Error& error) {
    item.error = error.what();
  }
  return item;
}

LabelReader::LabelReader(const std::string& path, std::vector<std::string> names)
    : path_(path), names_(std::move(names)) {
  if (!is_idx(path)) {
    lines_ = std::make_unique<LineReader>(path);
    return;
  }
  numbers_ = std::make_unique<IdxFile>(path);
  require(!numbers_->has_images(), "{}: contains images, not labels", path);
}

bool LabelReader::next(std::string& label) {
  if (lines_) {
    if (!lines_->next(label)) return false;
    make_valid(label, *lines_, InvalidUtf8::error);
    require(has_visible_character(label) && label.find('\t') == label.npos,
            "{}: expected a label, but the line is empty or has a tab", lines_->place());
    return true;
  }
  std::vector<uint8_t> number;
  if (!numbers_->next(number)) return false;
  require(names_.empty() || number[0] < names_.size(), "{}: has the label {}, but data.label_names has only {}",
          path_, number[0], names_.size());
  label = names_.empty() ? std::to_string(number[0]) : names_[number[0]];
  return true;
}

std::optional<std::vector<std::string>> read_idx_labels(const std::string& path) {
  if (!is_idx(path)) return std::nullopt;
  LabelReader reader(path, {});
  std::vector<std::string> labels;
  for (std::string label; reader.next(label);) labels.push_back(label);
  return labels;
}

LabelledImageReader::LabelledImageReader(std::vector<std::string> files, std::vector<std::string> names)
    : files_(std::move(files)), names_(std::move(names)) {
  require(files_.size() % 2 == 0, "{}: has no file of labels; alternate files of images and of labels",
          files_.empty() ? "" : files_.back());
  for (const std::string& file : files_) require_readable(file);
}

bool LabelledImageReader::next(Image& image, std::string& label) {
  for (; file_ < files_.size(); file_ += 2, images_.reset()) {
    const std::string &images = files_[file_], &labels = files_[file_ + 1];
    if (!images_) images_.emplace(images), labels_.emplace(labels, names_);
    std::optional<ImageReader::Item> item = images_->next();
    const bool has_label = labels_->next(label);
    require(item.has_value() == has_label, "{} has {} items than {}; label n must belong to image n", labels,
            has_label ? "more" : "fewer", images);
    if (!item) continue;
    if (item->error) throw_input_error("{}: {}", item->place, *item->error);
    if (!size_) size_ = item->image.size;
    require(item->image.size == *size_, "{}: the image is {}, but the first one is {}; all must have one size",
            item->place, item->image.size.describe(), size_->describe());
    image = std::move(item->image);
    place_ = std::move(item->place);
    return true;
  }
  return false;
}

std::vector<std::string> labels_of_images(const std::vector<std::string>& files,
                                          const std::vector<std::string>& names, const std::atomic<int>* stop) {
  constexpr size_t most_labels = 10'000;  // they are a part of config.json
  std::set<std::string> labels(names.begin(), names.end());
  for (size_t i = 1; i < files.size(); i += 2) {
    LabelReader reader(files[i], names);
    for (std::string label; reader.next(label); labels.insert(label)) {
      if (stop && stop->load() != 0) throw Cancelled();
      require(labels.size() <= most_labels, "{}: there are more than {} different labels", files[i],
              most_labels);
    }
  }
  return {labels.begin(), labels.end()};
}

std::string fingerprint_of_images(const std::vector<std::string>& files) {
  std::string all;
  for (size_t i = 0; i < files.size(); i += 2) {
    if (is_idx(files[i])) continue;  // its own contents are compared
    LineReader list(files[i]);
    for (std::string line; list.next(line);) {
      const std::string path = listed(files[i], line);
      std::error_code missing;
      all += fmt::format("{} {} {}\n", path, fs::file_size(path, missing),
                         fs::last_write_time(path, missing).time_since_epoch().count());
    }
  }
  return all.empty() ? "" : fmt::format("{:016x}", hash_of(std::as_bytes(std::span(all))));
}

}  // namespace sixfold
