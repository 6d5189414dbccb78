#pragma once
#include <cmath>

namespace sixfold::reference {

template <class T>
T sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}

}  // namespace sixfold::reference
