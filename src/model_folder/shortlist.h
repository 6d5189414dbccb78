#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/config.h"

namespace sixfold {

/// How Marian makes the number of a sentence's target tokens divisible by `multiple`: it adds the lowest ids
/// from `first` on that are not among them, until the vocabulary ends.
struct ShortlistFill {
  int32_t first = 0, multiple = 1, target_vocab = 0;
};

/// For each source token, the target tokens that may translate it. When translating with a shortlist, the
/// output of a sentence is restricted to the translations of its source tokens and to the common target tokens.
class Shortlist {
 public:
  /// The name of the file in the folder of a model that was made to translate with a shortlist.
  static constexpr const char* file_name = "shortlist.safetensors";

  Shortlist() = default;
  /// `by_source` has the target ids of each source id; `common` are the target ids that are always allowed.
  Shortlist(std::vector<int32_t> common, std::vector<std::vector<int32_t>> by_source, ShortlistFill fill = {});

  /// The allowed target ids for the source ids of a sentence, sorted, each once. Ids out of range are ignored.
  std::vector<int32_t> targets(std::span<const int32_t> source) const;

  const std::vector<int32_t>& common() const { return common_; }
  const std::vector<std::vector<int32_t>>& by_source() const { return by_source_; }
  const ShortlistFill& fill() const { return fill_; }

 private:
  std::vector<int32_t> common_;
  std::vector<std::vector<int32_t>> by_source_;
  ShortlistFill fill_;
  size_t words_ = 0;  // of 64 bits, for a bit of each target id
};

/// Writes a shortlist to a safetensors file, atomically. Its tensors are "common", "targets" (of all source
/// ids, concatenated), "counts" (the number of targets of each source id), and "fill" if the shortlist has one.
/// Its metadata has the hashes of the model's tokenizers.
void save_shortlist(const std::string& path, const Shortlist& shortlist, const ModelConfig& config);

/// Reads a shortlist. Throws an input error if the file is not a shortlist or was made for other vocabularies.
Shortlist load_shortlist(const std::string& path, const ModelConfig& config);

/// The path of the shortlist with which the model of a folder is made to translate, or an empty path. Whatever
/// has this name counts, so that reading a folder or a broken link reports an error.
std::string shortlist_of_folder(const std::string& folder);

}  // namespace sixfold
