#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/config.h"

namespace sixfold {

/// For each source symbol the target symbols that it may become. Translating, the output layer then has only
/// the symbols that a sentence's own may become, and those that are common; others are never put out.
class Shortlist {
 public:
  Shortlist() = default;
  /// `by_source`: for each source id its target ids.
  Shortlist(std::vector<int32_t> common, std::vector<std::vector<int32_t>> by_source)
      : common_(std::move(common)), by_source_(std::move(by_source)) {}

  /// The target ids for a source: in order, each once. Depends on no other source.
  std::vector<int32_t> targets(std::span<const int32_t> source) const;

  const std::vector<int32_t>& common() const { return common_; }
  const std::vector<std::vector<int32_t>>& by_source() const { return by_source_; }

 private:
  std::vector<int32_t> common_;
  std::vector<std::vector<int32_t>> by_source_;
};

/// As a safetensors file, atomically: "common", "targets" (those of all source ids, one after the other) and
/// "counts" (how many each has), with the hashes of the model's tokenizers.
void save_shortlist(const std::string& path, const Shortlist& shortlist, const ModelConfig& config);

/// Throws an input error for a file that is none, or that was made for another model's vocabularies.
Shortlist load_shortlist(const std::string& path, const ModelConfig& config);

}  // namespace sixfold
