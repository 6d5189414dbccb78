#include "data/caption_dataset.h"

#include "base/error.h"

namespace sixfold {

AppendImageText caption_appender(const Tokenizer& tokenizer) {
  return [&tokenizer](const std::string& caption, const std::string& place, SequenceSink& sink) {
    const std::vector<int32_t> tokens = tokenizer.encode(caption);
    require(!tokens.empty(), "{}: the tokenizer finds nothing in the caption '{}'", place, caption);
    sink.append(tokens);
    return std::ssize(caption);
  };
}

CaptionDataset::CaptionDataset(IdSequences sequences, PatchCutter cutter, const Tokenizers& tokenizers,
                               TargetEnds ends, std::string hash)
    : sequences_(std::move(sequences)),
      cutter_(cutter),
      tokenizers_(tokenizers),
      ends_(ends),
      hash_(std::move(hash)) {
  require(sequences_.size() > 0, "the encoded data contains no images");
  rows_ = cutter_.rows(stored_image(sequences_[0]).size);
}

int64_t CaptionDataset::tokens(int64_t sample, int64_t /*epoch*/) const {
  return rows_ + std::ssize(caption(sample)) + 1;
}

void CaptionDataset::add(int64_t sample, int64_t epoch, BatchBuilder& batch) const {
  const StoredImage stored = stored_image(sequences_[sample]);
  cutter_.add(stored, sample, epoch, batch);
  batch.teacher_forced(stored.rest, ends_);
}

SampleDescription CaptionDataset::describe(int64_t sample) const {
  return {"image", {{"caption", tokenizers_.target->decode(caption(sample))}}};
}

}  // namespace sixfold
