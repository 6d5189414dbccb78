#include "model/layers/linear.h"

namespace sixfold {

Linear::Linear(ParameterBuilder make, int64_t in, int64_t out, Initial initial, bool bias)
    : weight_(make.matrix("weight", out, in, initial)),
      bias_(bias ? make.vector("bias", out, Initial::zeros) : Tensor()),
      adapter_(make.adapter(out, in)) {}

}  // namespace sixfold
