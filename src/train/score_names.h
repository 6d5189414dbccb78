#pragma once
#include <span>

namespace sixfold {

/// A score of validation besides loss and perplexity, as logs name it, and as people do.
struct ScoreName {
  const char *name, *title;
};

/// The scores of all tasks, in the order in which tables and pictures have them.
std::span<const ScoreName> score_names();

}  // namespace sixfold
