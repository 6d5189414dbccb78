#pragma once
#include "base/options.h"

namespace sixfold {

/// What several models say together of the next token: the mean of their probabilities, or that of their
/// log-probabilities (the geometric mean), normalized again.
enum class EnsembleMean { probabilities, log_probabilities };

template <>
struct EnumNames<EnsembleMean> {
  static constexpr std::pair<EnsembleMean, std::string_view> names[] = {
      {EnsembleMean::probabilities, "probabilities"}, {EnsembleMean::log_probabilities, "log_probabilities"}};
};

}  // namespace sixfold
