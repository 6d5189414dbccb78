#include "model/layers.h"

namespace sixfold {

Linear::Linear(ParameterMaker& make, const std::string& name, int64_t in, int64_t out, Initial initial)
    : weight_(make.make(name + ".weight", out, in, initial)),
      bias_(make.make(name + ".bias", 1, out, Initial::zeros)) {}

AddNorm::AddNorm(ParameterMaker& make, const std::string& name, const Architecture& a)
    : weights_{.weight = make.make(name + ".weight", 1, a.d_model, Initial::ones),
               .bias = make.make(name + ".bias", 1, a.d_model, Initial::zeros),
               .epsilon = a.norm_epsilon} {}

FeedForward::FeedForward(ParameterMaker& make, const Architecture& a)
    : weights_{.weight1 = make.make("fc1.weight", a.d_ff, a.d_model, Initial::xavier),
               .bias1 = make.make("fc1.bias", 1, a.d_ff, Initial::zeros),
               .weight2 = make.make("fc2.weight", a.d_model, a.d_ff, Initial::xavier),
               .bias2 = make.make("fc2.bias", 1, a.d_model, Initial::zeros)},
      dropout_(a.activation_dropout) {}

}  // namespace sixfold
