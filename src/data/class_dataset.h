#pragma once
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/token_corpus.h"
#include "data/token_dropout.h"

namespace sixfold {

struct ClassDatasetOptions {
  std::vector<std::string> labels;
  std::vector<float> weights;  ///< of the losses, one for each label
  int64_t tokens = 512;  ///< maximum number of tokens of a text that the model reads; later ones are cut off
  TokenDropout dropout;
};

/// Labelled texts for an encoder, as `labelled_encoder` stores them. The encoder reads the start token, if the
/// vocabulary has one, the text and the end token.
class ClassDataset final : public Dataset {
 public:
  ClassDataset(IdSequences sequences, Tokenizers tokenizers, ClassDatasetOptions options, std::string hash);

  std::vector<EpochOrder::Part> parts() const override { return {{sequences_.size(), 1}}; }
  int64_t tokens(int64_t sample, int64_t epoch) const override;
  void add(int64_t sample, int64_t epoch, BatchBuilder& batch) const override;
  SampleDescription describe(int64_t sample) const override;
  std::string hash() const override { return hash_; }

  int32_t label(int64_t sample) const { return sequences_[sample][0]; }
  /// The number of texts that are longer than the model reads.
  int64_t cut() const;

 private:
  std::span<const int32_t> text(int64_t sample) const;

  IdSequences sequences_;
  Tokenizers tokenizers_;
  ClassDatasetOptions options_;
  std::string hash_;
};

/// What the encoder of a classifier reads: the start token if there is one (`bos` is not negative), the first
/// `max_tokens` tokens of a text, and the end token.
std::vector<int32_t> classifier_input(std::span<const int32_t> text, int64_t max_tokens, int32_t bos,
                                      int32_t eos);

/// The number of sequences of each label, in a store of labelled texts.
std::vector<int64_t> label_counts(const IdSequences& sequences, size_t labels);

}  // namespace sixfold
