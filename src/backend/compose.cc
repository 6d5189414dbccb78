#include "backend/compose.h"

namespace sixfold {

void compose(Backend& backend, const kernel::ResidualNorm& n) {
  const View sum = n.sum ? n.sum : n.out;
  View dropped = n.y;
  if (n.dropout) {
    dropped = sum;
    backend.run(kernel::ApplyDropout{dropped, n.y, n.dropout});
  }
  backend.run(kernel::Add{sum, n.x, dropped});
  kernel::ResidualNorm plain = n;
  plain.x = sum;
  plain.y = plain.sum = {};
  plain.dropout = {};
  backend.run(plain);
}

void compose(Backend& backend, const kernel::ResidualNormGradient& n) {
  kernel::ResidualNormGradient plain = n;
  plain.grad_x = n.grad_y;  // the gradient of the sum
  plain.grad_y = {};
  plain.accumulate_x = false;
  plain.dropout = {};
  backend.run(plain);
  if (n.grad_x && n.accumulate_x)
    backend.run(kernel::Add{n.grad_x, n.grad_x, n.grad_y});
  else if (n.grad_x)
    backend.run(kernel::Scale{n.grad_x, n.grad_y, 1});
  if (n.dropout) backend.run(kernel::ApplyDropout{n.grad_y, n.grad_y, n.dropout});
}

void compose(Backend& backend, const kernel::Matmul& m) {
  kernel::Matmul product = m;
  product.epilogue = {.bias = m.epilogue.bias, .relu = false, .relu_of = {}};
  backend.run(product);
  if (m.epilogue.relu) backend.run(kernel::Activate{m.result, m.result, Activation::relu});
  if (m.epilogue.relu_of)
    backend.run(kernel::ActivateGradient{m.result, m.result, m.epilogue.relu_of, Activation::relu});
}

}  // namespace sixfold
