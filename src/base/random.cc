#include "base/random.h"

#include <cmath>
#include <numbers>

namespace sixfold {

double RandomStream::normal() {
  const double radius = std::sqrt(-2 * std::log((bits() + 1.0) * 0x1p-32));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

}  // namespace sixfold
