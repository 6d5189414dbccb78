#pragma once
#include <string>
#include <vector>

#include "data/token_store.h"
#include "train/config.h"
#include "train/validate.h"

namespace sixfold {

/// All text of a run.
struct TrainingData {
  Tokenizers tokenizers;
  TokenCorpus train;        ///< mapped from the run's folder
  TokenStoreRecord record;  ///< of it
  bool resettled = false;   ///< resumed with other settings of the text: it is not what the run began with
  ValidationText valid;     ///< in memory; empty where no validation text is given
};

/// Where a run's text comes from.
struct TextOrigin {
  std::string store;       ///< the folder that holds the encoded training text, or shall
  std::string tokenizers;  ///< a folder that has them; empty: they are given by the options, or trained
  bool resumed =
      false;  ///< what is in the store is taken, though the text may have changed since: that is said
};

/// Reads the text, trains the tokenizers where there are none, and encodes. Says what was read and what was
/// dropped.
TrainingData read_training_data(const TrainOptions& options, const TextOrigin& origin, int threads);

}  // namespace sixfold
