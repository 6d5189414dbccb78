#include "train/optimizer.h"

#include <algorithm>
#include <cmath>

namespace sixfold {

Optimizer::Optimizer(std::shared_ptr<Backend> backend, const std::vector<Parameter>& parameters,
                     const OptimizerOptions& options, double ema_decay)
    : backend_(std::move(backend)), options_(options), ema_decay_(ema_decay) {
  const auto memory = lasting_memory(backend_);
  for (const auto& parameter : parameters) {
    const Tensor& w = parameter.tensor;
    const auto like = [&] {
      Tensor t(memory, w.rows(), w.cols(), w.dtype());
      backend_->fill(t.view(), 0);
      return t;
    };
    Slot slot{parameter, like(), like(), like(), has_average() ? like() : Tensor()};
    if (slot.average) backend_->scale(slot.average.view(), w.view(), 1);
    w.set_gradient(slot.gradient);
    slots_.push_back(std::move(slot));
  }
}

void Optimizer::restart_average() {
  for (const auto& slot : slots_)
    if (slot.average) backend_->scale(slot.average.view(), slot.weight.tensor.view(), 1);
}

int64_t Optimizer::trained_weights() const {
  int64_t count = 0;
  for (const auto& slot : slots_) count += slot.weight.tensor.size();
  return count;
}

void Optimizer::clear_gradients() {
  for (const auto& slot : slots_) backend_->fill(slot.gradient.view(), 0);
}

double Optimizer::gradient_norm() const {
  double sum = 0;
  for (const auto& slot : slots_) sum += backend_->sum_of_squares(slot.gradient.view());
  return std::sqrt(sum);
}

void Optimizer::update(int64_t step, double learning_rate, double gradient_scale) {
  // Early on the average follows the weights closely, or it would long remember how they began.
  const double decay =
      std::min(ema_decay_, (1.0 + static_cast<double>(step)) / (10.0 + static_cast<double>(step)));
  for (const auto& slot : slots_)
    backend_->adam({.weight = slot.weight.tensor.view(),
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
  for (auto& slot : slots_) {
    const auto weight = slot.weight.tensor.to_doubles(*backend_), average = slot.average.to_doubles(*backend_);
    slot.weight.tensor.copy_from(*backend_, average);
    slot.average.copy_from(*backend_, weight);
  }
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
