#pragma once
#include <string>

#include "data/token_store.h"
#include "train/config.h"
#include "train/state.h"

namespace sixfold {

/// What training has done to make a model, for its history (model/provenance.h): settings, text, how far, how
/// good.
std::string provenance_step(const TrainOptions& options, const TrainingState& state,
                            const TokenStoreRecord& text);

}  // namespace sixfold
