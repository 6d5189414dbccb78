#pragma once
#include <string>

#include "base/options.h"

// Checks of models that are used together: those of an ensemble, and a teacher with its student.

namespace sixfold {

struct ModelConfig;

/// How an ensemble combines the distributions of its models over the next token: by the mean of their
/// probabilities, or by that of their log-probabilities (the geometric mean), normalized again.
enum class EnsembleMean { probabilities, log_probabilities };

template <>
struct EnumNames<EnsembleMean> {
  static constexpr std::pair<EnsembleMean, std::string_view> names[] = {
      {EnsembleMean::probabilities, "probabilities"}, {EnsembleMean::log_probabilities, "log_probabilities"}};
};

struct NamedConfig {
  const ModelConfig& config;
  std::string folder;
};
/// Throws an input error that says why two models can't translate as an ensemble. `first` is the ensemble's
/// first model, whose tokenizers and limits the ensemble uses.
void require_compatible_ensemble(const NamedConfig& first, const NamedConfig& other);

/// Throws an input error that says why a model can't be the teacher of `student` in a distillation. A teacher
/// must read the same tokens or patches and predict the same choices for the same rows.
void require_compatible_teacher(const NamedConfig& teacher, const ModelConfig& student);

}  // namespace sixfold
