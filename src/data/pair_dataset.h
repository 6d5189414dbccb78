#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/token_corpus.h"
#include "data/token_dropout.h"
#include "text/subword_sampler.h"

namespace sixfold {

/// Sampling of subword segmentations: training texts are segmented differently in each epoch.
struct SubwordSampling {
  double rate = 0;  ///< of `SubwordSampler`; 0: no sampling
  uint64_t seed = 1;
  int64_t max_tokens = 0;  ///< maximum number of tokens of a side; longer segmentations are not used
};

/// The pairs of a corpus, for an encoder and a decoder that is trained with teacher forcing. They are the same
/// in every epoch, except for sampled segmentations and for the tokens that `dropout` replaces in the source
/// and in the input of the decoder. The labels of a pair are weighted by its weight.
class PairDataset : public Dataset {
 public:
  /// `tokenizers` are those that encoded the corpus; only `describe` and `dropout` need them. `layout`: the
  /// tokens around texts, which dropout and sampling do not change. Throws as `SubwordSampler`.
  PairDataset(TokenCorpus corpus, Tokenizers tokenizers, TargetEnds ends, std::string hash,
              TokenDropout dropout = {}, PairLayout layout = {}, SubwordSampling sampling = {});

  const TokenCorpus& corpus() const { return corpus_; }

  std::vector<EpochOrder::Part> parts() const override { return corpus_.parts(); }
  int64_t tokens(int64_t sample, int64_t epoch) const override;
  void add(int64_t sample, int64_t epoch, BatchBuilder& batch) const override;
  SampleDescription describe(int64_t sample) const override;
  std::string hash() const override { return hash_; }

 private:
  void add_pair(int64_t sample, int64_t epoch, BatchBuilder& batch) const;
  void add_links(int64_t sample, std::span<const int32_t> source, std::span<const int32_t> target,
                 BatchBuilder& batch) const;
  std::vector<int32_t> source_of(int64_t sample, int64_t epoch) const;
  std::vector<int32_t> target_of(int64_t sample, int64_t epoch) const;
  /// The tokens that stand for the text of a source.
  std::span<const int32_t> text_of_source(std::span<const int32_t> source) const;
  std::vector<int32_t> resegmented(std::span<const int32_t> ids, std::span<const int32_t> text,
                                   const SubwordSampler& sampler, RandomStream random) const;

  TokenCorpus corpus_;
  Tokenizers tokenizers_;
  TargetEnds ends_;
  std::string hash_;
  TokenDropout dropout_;
  PairLayout layout_;
  SubwordSampling sampling_;
  std::unique_ptr<const SubwordSampler> source_sampler_, target_sampler_;  // null: none
};

}  // namespace sixfold
