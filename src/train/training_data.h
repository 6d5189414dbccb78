#pragma once
#include <atomic>
#include <string>
#include <vector>

#include "data/token_store.h"
#include "train/config.h"
#include "train/state.h"
#include "train/validate.h"

namespace sixfold {

/// All text of a run.
struct TrainingData {
  Tokenizers tokenizers;
  TokenCorpus train;        ///< mapped from the run's folder
  TokenStoreRecord record;  ///< of it
  ValidationText valid;     ///< in memory; empty where no validation text is given
  std::string valid_hash;   ///< of its lines; empty where there are none
};

/// Where a run's text comes from.
struct TextOrigin {
  std::string store;       ///< the folder that holds the encoded training text, or shall
  std::string validation;  ///< the file that holds the validation text, or shall
  std::string tokenizers;  ///< a folder that has them; empty: they are given by the options, or trained
  const TrainingState* resumed = nullptr;  ///< the text is to be what this run began with
  const std::atomic<int>* stop = nullptr;  ///< when it turns nonzero, `Cancelled` is thrown
};

/// Reads the text, trains the tokenizers where there are none, and encodes; both kinds of text are kept in the
/// run's folder. A run that is resumed gets what is kept there; that its files have changed since, or are gone,
/// is said. So does one that begins again with the same text and settings. Says what was read and what was
/// dropped.
TrainingData read_training_data(const TrainOptions& options, const TextOrigin& origin, int threads);

}  // namespace sixfold
