#include "model_folder/shortlist.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "base/error.h"
#include "formats/safetensors.h"

namespace sixfold {
namespace {

constexpr const char* source_key = "source_tokenizer_hash";
constexpr const char* target_key = "target_tokenizer_hash";

/// The numbers of a tensor, which must be from 0 to `max_value`.
std::vector<int32_t> numbers(const SafetensorsFile& file, const char* name, int64_t max_value) {
  const TensorInfo& tensor = file.at(name);
  require(tensor.dtype == DType::i32 && tensor.shape.size() == 1, "{}: tensor '{}' must be a list of I32",
          file.path(), name);
  std::vector<int32_t> values(tensor.bytes.size() / sizeof(int32_t));
  if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  for (const int32_t value : values)
    require(value >= 0 && value <= max_value, "{}: tensor '{}' contains {}, which is not from 0 to {}",
            file.path(), name, value, max_value);
  return values;
}

NamedTensor list(const char* name, const std::vector<int32_t>& values) {
  return {name, DType::i32, {std::ssize(values)}, values.data()};
}

}  // namespace

Shortlist::Shortlist(std::vector<int32_t> common, std::vector<std::vector<int32_t>> by_source,
                     ShortlistFill fill)
    : common_(std::move(common)), by_source_(std::move(by_source)), fill_(fill) {
  const auto count = [&](const std::vector<int32_t>& ids) {
    for (const int32_t id : ids) {
      require(id >= 0, "a shortlist can't contain the token {}", id);
      words_ = std::max(words_, static_cast<size_t>(id) / 64 + 1);
    }
  };
  count(common_);
  for (const auto& ids : by_source_) count(ids);
}

std::vector<int32_t> Shortlist::targets(std::span<const int32_t> source) const {
  std::vector<uint64_t> marks(words_);  // a bit for each token
  const auto mark = [&](const std::vector<int32_t>& ids) {
    for (const int32_t id : ids) marks[static_cast<size_t>(id) / 64] |= uint64_t{1} << id % 64;
  };
  mark(common_);
  for (const int32_t id : source)
    if (id >= 0 && id < std::ssize(by_source_)) mark(by_source_[static_cast<size_t>(id)]);
  std::vector<int32_t> all;
  for (size_t word = 0; word < words_; ++word)
    for (uint64_t rest = marks[word]; rest; rest &= rest - 1)
      all.push_back(static_cast<int32_t>(word * 64) + std::countr_zero(rest));
  const auto multiple = static_cast<size_t>(fill_.multiple);
  const size_t listed = all.size(), missing = (multiple - listed % multiple) % multiple;
  for (int32_t id = fill_.first; all.size() < listed + missing && id < fill_.target_vocab; ++id)
    if (!std::binary_search(all.begin(), all.begin() + static_cast<ptrdiff_t>(listed), id)) all.push_back(id);
  std::inplace_merge(all.begin(), all.begin() + static_cast<ptrdiff_t>(listed), all.end());
  return all;
}

void save_shortlist(const std::string& path, const Shortlist& shortlist, const ModelConfig& config) {
  std::vector<int32_t> counts, targets;
  for (const auto& targets_of_id : shortlist.by_source()) {
    counts.push_back(static_cast<int32_t>(targets_of_id.size()));
    targets.insert(targets.end(), targets_of_id.begin(), targets_of_id.end());
  }
  const std::vector<int32_t> fill{shortlist.fill().first, shortlist.fill().multiple};
  std::vector<NamedTensor> tensors{list("common", shortlist.common()), list("counts", counts),
                                   list("targets", targets)};
  if (shortlist.fill().multiple > 1) tensors.push_back(list("fill", fill));
  write_safetensors(path, tensors,
                    {{source_key, config.source_tokenizer_hash}, {target_key, config.target_tokenizer_hash}});
}

Shortlist load_shortlist(const std::string& path, const ModelConfig& config) {
  const SafetensorsFile file = SafetensorsFile::open(path);
  file.verify();
  const auto& metadata = file.metadata();
  const auto require_hash = [&](const char* key, const std::string& hash) {
    const auto found = metadata.find(key);
    require(found != metadata.end() && found->second == hash,
            "{}: is not a shortlist for the vocabularies of this model; make one with 'sixfold shortlist'",
            path);
  };
  require_hash(source_key, config.source_tokenizer_hash);
  require_hash(target_key, config.target_tokenizer_hash);
  std::vector<int32_t> common = numbers(file, "common", config.target_vocab - 1);
  const std::vector<int32_t> counts = numbers(file, "counts", config.target_vocab),
                             targets = numbers(file, "targets", config.target_vocab - 1);
  require(std::ssize(counts) == config.source_vocab &&
              std::accumulate(counts.begin(), counts.end(), int64_t{0}) == std::ssize(targets),
          "{}: 'counts' and 'targets' don't belong together", path);
  std::vector<std::vector<int32_t>> by_source;
  auto from = targets.begin();
  for (const int32_t count : counts) {
    by_source.emplace_back(from, from + count);
    from += count;
  }
  ShortlistFill fill;
  if (file.find("fill")) {
    const std::vector<int32_t> values = numbers(file, "fill", config.target_vocab);
    require(values.size() == 2 && values[1] > 0,
            "{}: 'fill' must have two numbers, of which the second is not 0", path);
    fill = {values[0], values[1], config.target_vocab};
  }
  return {std::move(common), std::move(by_source), fill};
}

std::string shortlist_of_folder(const std::string& folder) {
  const std::filesystem::path path = std::filesystem::path(folder) / Shortlist::file_name;
  return std::filesystem::exists(std::filesystem::symlink_status(path)) ? path.string() : "";
}

}  // namespace sixfold
