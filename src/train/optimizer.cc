#include "train/optimizer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sixfold {

Optimizer::Optimizer(std::shared_ptr<Backend> backend, const std::vector<Parameter>& parameters,
                     const OptimizerOptions& options, double ema_decay)
    : backend_(std::move(backend)), options_(options), ema_decay_(ema_decay) {
  const auto memory = lasting_memory(backend_);
  for (const auto& parameter : parameters) {
    const Tensor& w = parameter.tensor;
    const auto like = [&] {
      Tensor t(memory, w.rows(), w.cols(), w.dtype());
      backend_->run(kernel::Fill{t.view(), 0});
      return t;
    };
    Slot slot{parameter, like(), like(), like(), has_average() ? like() : Tensor(), {}};
    if (slot.average) backend_->run(kernel::Scale{slot.average.view(), w.view(), 1});
    w.set_gradient(slot.gradient);
    slots_.push_back(std::move(slot));
  }
}

void Optimizer::restart_average() {
  for (const auto& slot : slots_)
    if (slot.average) backend_->run(kernel::Scale{slot.average.view(), slot.weight.tensor.view(), 1});
}

int64_t Optimizer::trained_weights() const {
  int64_t count = 0;
  for (const auto& slot : slots_) count += slot.weight.tensor.size();
  return count;
}

void Optimizer::clear_gradients() {
  for (const auto& slot : slots_) backend_->run(kernel::Fill{slot.gradient.view(), 0});
}

void Optimizer::set_gradients_aside() {
  const auto memory = lasting_memory(backend_);
  for (auto& slot : slots_) {
    const Tensor& g = slot.gradient;
    if (slot.aside.size() == aside_) slot.aside.emplace_back(memory, g.rows(), g.cols(), g.dtype());
    std::swap(slot.gradient, slot.aside[aside_]);
    slot.weight.tensor.set_gradient(slot.gradient);
  }
  ++aside_;
}

void Optimizer::add_gradients_aside() {
  --aside_;
  for (const auto& slot : slots_)
    backend_->run(kernel::Add{slot.gradient.view(), slot.aside[aside_].view(), slot.gradient.view()});
}

int64_t Optimizer::gradient_blocks() const {
  int64_t blocks = 0;
  for (const auto& slot : slots_) blocks += kernel::BlockSquares::blocks(slot.gradient.size());
  return blocks;
}

void Optimizer::square_gradients(DeviceSpan<double> sums) const {
  for (const auto& slot : slots_) {
    const int64_t blocks = kernel::BlockSquares::blocks(slot.gradient.size());
    backend_->run(kernel::BlockSquares{slot.gradient.view(), sums.subspan(0, blocks)});
    sums = sums.subspan(blocks, sums.size - blocks);
  }
}

double Optimizer::gradient_norm(std::span<const double> squares) const {
  double sum = 0;
  for (const auto& slot : slots_) {
    const auto blocks = static_cast<size_t>(kernel::BlockSquares::blocks(slot.gradient.size()));
    sum += std::accumulate(squares.begin(), squares.begin() + static_cast<ptrdiff_t>(blocks), 0.0);
    squares = squares.subspan(blocks);
  }
  return std::sqrt(sum);
}

void Optimizer::update(int64_t step, double learning_rate, double gradient_scale) {
  // At first the average follows the weights closely. Otherwise the initial weights would influence it for a
  // long time.
  const double decay =
      std::min(ema_decay_, (1.0 + static_cast<double>(step)) / (10.0 + static_cast<double>(step)));
  for (const auto& slot : slots_)
    backend_->run(kernel::Adam{.weight = slot.weight.tensor.view(),
                               .gradient = slot.gradient.view(),
                               .moment1 = slot.moment1.view(),
                               .moment2 = slot.moment2.view(),
                               .average = slot.average.view(),
                               .learning_rate = learning_rate,
                               .beta1 = options_.beta1,
                               .beta2 = options_.beta2,
                               .epsilon = options_.epsilon,
                               .weight_decay = options_.weight_decay,
                               .average_decay = decay,
                               .gradient_scale = gradient_scale,
                               .step = step});
}

void Optimizer::swap_average() {
  if (!has_average()) return;
  for (const auto& slot : slots_) backend_->run(kernel::Swap{slot.weight.tensor.view(), slot.average.view()});
}

std::vector<Parameter> Optimizer::state() const {
  std::vector<Parameter> state;
  for (const auto& slot : slots_) {
    state.push_back({"moment1." + slot.weight.name, slot.moment1, slot.weight.shape});
    state.push_back({"moment2." + slot.weight.name, slot.moment2, slot.weight.shape});
    if (slot.average) state.push_back({"average." + slot.weight.name, slot.average, slot.weight.shape});
  }
  return state;
}

}  // namespace sixfold
