#pragma once
#include <string>
#include <vector>

#include "train/config.h"
#include "train/validate.h"

namespace sixfold {

/// All text of a run, read and checked before any training.
struct TrainingData {
  Tokenizers tokenizers;
  TokenCorpus train;
  ValidationText valid;  ///< empty where no validation text is given
};

/// Reads the corpora, trains the tokenizers or takes those that lie in `saved_tokenizers` (a run that resumes),
/// and encodes. Says what was read and what was dropped.
TrainingData read_training_data(const TrainOptions& options, const std::string& saved_tokenizers, int threads);

}  // namespace sixfold
