#include "data/class_dataset.h"

#include <algorithm>

namespace sixfold {

std::vector<int32_t> classifier_input(std::span<const int32_t> text, int64_t max_tokens, int32_t bos,
                                      int32_t eos) {
  std::vector<int32_t> ids;
  if (bos >= 0) ids.push_back(bos);
  const auto kept = text.first(static_cast<size_t>(std::min(max_tokens, std::ssize(text))));
  ids.insert(ids.end(), kept.begin(), kept.end());
  ids.push_back(eos);
  return ids;
}

ClassDataset::ClassDataset(IdSequences sequences, Tokenizers tokenizers, ClassDatasetOptions options,
                           std::string hash)
    : sequences_(std::move(sequences)),
      tokenizers_(std::move(tokenizers)),
      options_(std::move(options)),
      hash_(std::move(hash)) {}

std::span<const int32_t> ClassDataset::text(int64_t sample) const { return sequences_[sample].subspan(1); }

int64_t ClassDataset::tokens(int64_t sample, int64_t /*epoch*/) const {
  const int64_t ends = tokenizers_.source->bos() >= 0 ? 2 : 1;
  return std::min(options_.tokens, std::ssize(text(sample))) + ends;
}

void ClassDataset::add(int64_t sample, int64_t epoch, BatchBuilder& batch) const {
  constexpr uint64_t stream = 0x64726F70;  // "drop"
  const Tokenizer& tokenizer = *tokenizers_.source;
  std::vector<int32_t> ids = classifier_input(text(sample), options_.tokens, tokenizer.bos(), tokenizer.eos());
  const size_t before = tokenizer.bos() >= 0 ? 1 : 0;
  options_.dropout.apply(std::span(ids).subspan(before, ids.size() - before - 1), tokenizer.unk(), stream,
                         sample, epoch);
  batch.source(ids);
  batch.label_sequence(label(sample), options_.weights[static_cast<size_t>(label(sample))]);
}

SampleDescription ClassDataset::describe(int64_t sample) const {
  return {"text",
          {{"label", options_.labels[static_cast<size_t>(label(sample))]},
           {"text", tokenizers_.source->decode(text(sample))}}};
}

int64_t ClassDataset::cut() const {
  int64_t count = 0;
  for (int64_t i = 0; i < sequences_.size(); ++i) count += std::ssize(text(i)) > options_.tokens;
  return count;
}

std::vector<int64_t> label_counts(const IdSequences& sequences, size_t labels) {
  std::vector<int64_t> counts(labels);
  for (int64_t i = 0; i < sequences.size(); ++i) ++counts[static_cast<size_t>(sequences[i][0])];
  return counts;
}

}  // namespace sixfold
