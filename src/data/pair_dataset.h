#pragma once
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/token_corpus.h"
#include "data/token_dropout.h"

namespace sixfold {

/// The pairs of a corpus, for an encoder and a decoder that is taught by teacher forcing. They are the same in
/// every epoch, but for the tokens that `dropout` replaces in the source and in what the decoder reads of the
/// target.
class PairDataset : public Dataset {
 public:
  /// `tokenizers` are those that encoded the corpus; `describe` and `dropout` alone need them. `layout`: the
  /// tokens around texts, which dropout leaves as they are.
  PairDataset(TokenCorpus corpus, Tokenizers tokenizers, TargetEnds ends, std::string hash,
              TokenDropout dropout = {}, PairLayout layout = {});

  const TokenCorpus& corpus() const { return corpus_; }

  std::vector<EpochOrder::Part> parts() const override { return corpus_.parts(); }
  int64_t tokens(int64_t sample, int64_t epoch) const override;
  void add(int64_t sample, int64_t epoch, BatchBuilder& batch) const override;
  SampleDescription describe(int64_t sample) const override;
  std::string hash() const override { return hash_; }

 private:
  TokenCorpus corpus_;
  Tokenizers tokenizers_;
  TargetEnds ends_;
  std::string hash_;
  TokenDropout dropout_;
  PairLayout layout_;
};

}  // namespace sixfold
