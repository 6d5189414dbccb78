#include "layers/feed_forward.h"

namespace sixfold {

FeedForward::FeedForward(ParameterBuilder make, const Architecture& a)
    : weights_{.weight1 = make.matrix("fc1.weight", a.d_ff, a.d_model),
               .bias1 = make.vector("fc1.bias", a.d_ff, Initial::zeros),
               .weight2 = make.matrix("fc2.weight", a.d_model, a.d_ff),
               .bias2 = make.vector("fc2.bias", a.d_model, Initial::zeros),
               .activation = a.activation},
      dropout_(a.activation_dropout) {}

}  // namespace sixfold
