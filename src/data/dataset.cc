#include "data/dataset.h"

namespace sixfold {

int64_t Dataset::size() const {
  int64_t samples = 0;
  for (const EpochOrder::Part& part : parts()) samples += part.samples;
  return samples;
}

}  // namespace sixfold
