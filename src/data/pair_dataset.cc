#include "data/pair_dataset.h"

namespace sixfold {

PairDataset::PairDataset(TokenCorpus corpus, Tokenizers tokenizers, TargetEnds ends, std::string hash)
    : corpus_(std::move(corpus)), tokenizers_(std::move(tokenizers)), ends_(ends), hash_(std::move(hash)) {}

int64_t PairDataset::tokens(int64_t sample, int64_t /*epoch*/) const { return corpus_.tokens(sample); }

void PairDataset::add(int64_t sample, int64_t /*epoch*/, BatchBuilder& batch) const {
  batch.source(corpus_.source[sample]).teacher_forced(corpus_.target[sample], ends_);
}

SampleDescription PairDataset::describe(int64_t sample) const {
  return {"pair",
          {{"source", tokenizers_.source->decode(corpus_.source[sample])},
           {"target", tokenizers_.target->decode(corpus_.target[sample])}}};
}

}  // namespace sixfold
