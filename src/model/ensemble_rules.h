#pragma once
#include <string>

#include "base/options.h"

namespace sixfold {

struct ModelConfig;

/// What several models say together of the next token: the mean of their probabilities, or that of their
/// log-probabilities (the geometric mean), normalized again.
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
/// Throws an input error that says why two models can't be an ensemble, in which the first one leads.
void require_together(const NamedConfig& first, const NamedConfig& other);

}  // namespace sixfold
