#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/config.h"

namespace sixfold {

/// For each source token, the target tokens that may translate it. When translating with a shortlist, the
/// output of a sentence is restricted to the translations of its source tokens and to the common target tokens.
class Shortlist {
 public:
  Shortlist() = default;
  /// `by_source` has the target ids of each source id; `common` are the target ids that are always allowed.
  Shortlist(std::vector<int32_t> common, std::vector<std::vector<int32_t>> by_source)
      : common_(std::move(common)), by_source_(std::move(by_source)) {}

  /// The allowed target ids for the source ids of a sentence, sorted, each once. Ids out of range are ignored.
  std::vector<int32_t> targets(std::span<const int32_t> source) const;

  const std::vector<int32_t>& common() const { return common_; }
  const std::vector<std::vector<int32_t>>& by_source() const { return by_source_; }

 private:
  std::vector<int32_t> common_;
  std::vector<std::vector<int32_t>> by_source_;
};

/// Writes a shortlist to a safetensors file, atomically: "common", "targets" (of all source ids, concatenated)
/// and "counts" (the number of targets of each source id), with the hashes of the model's tokenizers in its
/// metadata.
void save_shortlist(const std::string& path, const Shortlist& shortlist, const ModelConfig& config);

/// Reads a shortlist. Throws an input error if the file is not a shortlist or was made for other vocabularies.
Shortlist load_shortlist(const std::string& path, const ModelConfig& config);

}  // namespace sixfold
