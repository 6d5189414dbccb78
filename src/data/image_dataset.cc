#include "data/image_dataset.h"

#include <algorithm>

#include "base/error.h"
#include "base/nearest.h"

namespace sixfold {

AppendImageText label_appender(const std::vector<std::string>& labels) {
  return [labels](const std::string& label, const std::string& place, SequenceSink& sink) {
    const auto found = std::ranges::lower_bound(labels, label);
    require(found != labels.end() && *found == label,
            "{}: the label '{}' does not occur in the training data{}", place, label,
            suggestion(label, labels));
    sink.append_number(static_cast<int32_t>(found - labels.begin()));
    return std::ssize(label);
  };
}

ImageDataset::ImageDataset(IdSequences sequences, ImageDatasetOptions options, std::string hash)
    : sequences_(std::move(sequences)), options_(std::move(options)), hash_(std::move(hash)) {
  require(sequences_.size() > 0, "the encoded data contains no images");
  rows_ = options_.cutter.rows(stored_image(sequences_[0]).size);
}

int64_t ImageDataset::tokens(int64_t /*sample*/, int64_t /*epoch*/) const { return rows_; }

void ImageDataset::add(int64_t sample, int64_t epoch, BatchBuilder& batch) const {
  const StoredImage stored = stored_image(sequences_[sample]);
  options_.cutter.add(stored, sample, epoch, batch);
  batch.label_sequence(stored.rest[0], options_.weights[static_cast<size_t>(stored.rest[0])]);
}

SampleDescription ImageDataset::describe(int64_t sample) const {
  return {"image", {{"label", options_.labels[static_cast<size_t>(label(sample))]}}};
}

}  // namespace sixfold
