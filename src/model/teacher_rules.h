#pragma once
#include "model/ensemble_rules.h"

namespace sixfold {

/// Throws an input error that says why a model can't teach another one: unless it reads the same tokens or
/// patches and predicts the same choices for the same rows.
void require_teaches(const NamedConfig& teacher, const ModelConfig& student);

}  // namespace sixfold
