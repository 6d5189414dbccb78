#include "data/image_reader.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/trim.h"
#include "formats/image_file.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

/// Whether the first bytes of a file may be read to detect its format. A file that is not regular, such as a
/// pipe, would lose them. Throws an input error if it can't be read.
bool can_peek(const std::string& path) {
  require_readable(path);
  return path != "/dev/stdin" && fs::is_regular_file(path);
}

void require_text(const std::string& line, const LineReader& reader) {
  if (const auto fault = fault_of_text(line))
    throw_input_error("{}: {}; convert the text", reader.place(), *fault);
}

/// Whether a file has the name of an image that `read_image` reads. An empty image file and an empty list
/// differ only by their names.
bool is_named_as_image(const std::string& path) {
  std::string ending = fs::path(path).extension().string();
  for (char& letter : ending) letter |= 0x20;
  return std::ranges::find(image_extensions, ending) != std::end(image_extensions);
}

/// The path of a file that a list names.
std::string path_in_list(const std::string& list, const std::string& name) {
  const fs::path path(name);
  return path.is_absolute() || list == "/dev/stdin" ? name : (fs::path(list).parent_path() / path).string();
}

}  // namespace

bool is_idx_file(const std::string& path) { return can_peek(path) && IdxFile::has_magic(path); }

ImageReader::ImageReader(const std::string& path) : path_(path) {
  if (is_idx_file(path)) {
    images_ = std::make_unique<IdxFile>(path);
    require(images_->has_images(), "{}: contains labels, not images", path);
  } else if (!can_peek(path) || !is_image_file(path)) {
    list_ = std::make_unique<LineReader>(path);
    require(!can_peek(path) || !is_named_as_image(path) || !fs::is_empty(path),
            "{}: is empty; expected an image", path);
  }
}

/// Reads an image file. If it can't be read, `item.error` says why. The file is named if it is from a list.
void ImageReader::read(Item& item, const std::string& path) {
  item.file = path;
  try {
    item.image = read_image(path);
    if (list_) item.place += fmt::format(" ({})", path);
  } catch (const Error& error) {
    item.error = error.what();
    if (const std::string begin = path + ": "; !list_ && item.error->starts_with(begin))
      item.error->erase(0, begin.size());
  }
}

std::optional<ImageReader::Item> ImageReader::next() {
  Item item;
  if (images_) {
    item.image.size = images_->size();
    if (!images_->next(item.image.values)) return std::nullopt;
    item.place = fmt::format("{}, image {}", path_, ++count_);
    return item;
  }
  if (!list_) {
    if (count_++ > 0) return std::nullopt;
    item.place = path_;
    read(item, path_);
    return item;
  }
  std::string line;
  if (!list_->next(line)) return std::nullopt;
  item.place = list_->place();
  const auto fault = fault_of_text(line);
  require(
      !fault || list_->line_number() > 1,
      "{}: {}, so this is not a text that names images; an image (PNG, JPEG, PPM or PGM; convert others) or an "
      "IDX file is given by its name, not through a pipe",
      item.place, fault.value_or(""));
  if (fault)
    item.error = "the name of the image: " + *fault;
  else if (has_visible_character(line))
    read(item, path_in_list(path_, line));
  else
    item.error = "the name of the image is empty";
  return item;
}

LabelReader::LabelReader(const std::string& path, std::vector<std::string> names)
    : path_(path), names_(std::move(names)) {
  if (!is_idx_file(path)) {
    lines_ = std::make_unique<LineReader>(path);
    return;
  }
  numbers_ = std::make_unique<IdxFile>(path);
  require(!numbers_->has_images(), "{}: contains images, not labels", path);
}

bool LabelReader::next(std::string& label) {
  if (lines_) {
    if (!lines_->next(label)) return false;
    require_text(label, *lines_);
    require(has_visible_character(label) && label.find('\t') == label.npos,
            "{}: expected a label, but the line is empty or has a tab", lines_->place());
    label = std::string(without_blanks(label));
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
  if (!is_idx_file(path)) return std::nullopt;
  LabelReader reader(path, {});
  std::vector<std::string> labels;
  for (std::string label; reader.next(label);) labels.push_back(label);
  return labels;
}

CaptionReader::CaptionReader(const std::string& path) : lines_(path) {
  require(!is_idx_file(path), "{}: is an IDX file; captions are the lines of a text", path);
}

bool CaptionReader::next(std::string& caption) {
  if (!lines_.next(caption)) return false;
  require_text(caption, lines_);
  require(has_visible_character(caption), "{}: expected a caption, but the line is empty", lines_.place());
  return true;
}

namespace {

/// The function that reads texts with `Reader`.
template <class Reader, class... Arguments>
std::function<bool(std::string&)> read_with(const std::string& path, const Arguments&... arguments) {
  return
      [reader = std::make_shared<Reader>(path, arguments...)](std::string& text) { return reader->next(text); };
}

}  // namespace

ImageTexts labels_of_files(const std::vector<std::string>& names) {
  return {"label", [names](const std::string& path) { return read_with<LabelReader>(path, names); }};
}

ImageTexts captions_of_files() {
  return {"caption", [](const std::string& path) { return read_with<CaptionReader>(path); }};
}

PairedImageReader::PairedImageReader(std::vector<std::string> files, ImageTexts texts)
    : files_(std::move(files)), text_kind_(std::move(texts)) {
  require(files_.size() % 2 == 0, "{}: has no file of {}s; alternate files of images and of {}s",
          files_.empty() ? "" : files_.back(), text_kind_.name, text_kind_.name);
  for (const std::string& file : files_) require_readable(file);
}

bool PairedImageReader::next(Image& image, std::string& text) {
  for (; file_ < files_.size(); file_ += 2, images_.reset()) {
    const std::string &images = files_[file_], &texts = files_[file_ + 1];
    if (!images_) images_.emplace(images), texts_ = text_kind_.open(texts);
    std::optional<ImageReader::Item> item = images_->next();
    const bool has_text = texts_(text);
    require(item.has_value() == has_text, "{} has {} items than {}; {} n must belong to image n", texts,
            has_text ? "more" : "fewer", images, text_kind_.name);
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
  constexpr size_t max_labels = 10'000;  // labels are stored in config.json
  std::set<std::string> labels;
  for (size_t i = 1; i < files.size(); i += 2) {
    LabelReader reader(files[i], names);
    if (reader.has_numbers()) labels.insert(names.begin(), names.end());
    for (std::string label; reader.next(label); labels.insert(label)) {
      throw_if_stopped(stop);
      require(labels.size() <= max_labels, "{}: there are more than {} different labels", files[i], max_labels);
    }
  }
  return {labels.begin(), labels.end()};
}

std::vector<std::string> files_of_list(const std::string& path) {
  if (!can_peek(path) || IdxFile::has_magic(path) || is_image_file(path)) return {};
  std::vector<std::string> files;
  LineReader list(path);
  for (std::string line; list.next(line);) files.push_back(path_in_list(path, line));
  return files;
}

std::string fingerprint_of_images(const std::vector<std::string>& files) {
  std::string all;
  for (size_t i = 0; i < files.size(); i += 2) {
    for (const std::string& path : files_of_list(files[i])) {  // the contents of other files are compared
      std::error_code missing;
      all += fmt::format("{} {} {}\n", path, fs::file_size(path, missing),
                         fs::last_write_time(path, missing).time_since_epoch().count());
    }
  }
  return all.empty() ? "" : fmt::format("{:016x}", hash_of(std::as_bytes(std::span(all))));
}

}  // namespace sixfold
