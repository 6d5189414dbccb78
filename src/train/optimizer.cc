#include "train/optimizer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

namespace sixfold {
namespace {

constexpr std::array kind_names{"moment1.", "moment2.", "average."};

/// The elements of a part of a tensor, as a row.
View slice(const Tensor& tensor, const WeightPart& part) {
  const View whole = tensor.view();
  return View{whole.data, whole.dtype, 1, tensor.size(), tensor.size()}.slice_cols(part.begin, part.count);
}

int64_t blocks_of(const WeightPart& part) { return kernel::BlockSquares::blocks(part.count); }

}  // namespace

Optimizer::Optimizer(std::shared_ptr<Backend> backend, const std::vector<Parameter>& parameters,
                     const OptimizerOptions& options, double ema_decay,
                     std::shared_ptr<WeightExchange> exchange)
    : backend_(std::move(backend)),
      options_(options),
      ema_decay_(ema_decay),
      exchange_(exchange ? std::move(exchange)
                         : std::make_shared<WeightExchange>(Processes::one(), ShardTree(1, 1), backend_,
                                                            parameters, WireType::fp32)),
      parameters_(parameters),
      set_aside_(parameters.size()) {
  const auto memory = lasting_memory(backend_);
  const auto zeros = [&](int64_t rows, int64_t cols, DType dtype) {
    Tensor t(memory, rows, cols, dtype);
    backend_->run(kernel::Fill{t.view(), 0});
    return t;
  };
  for (const Parameter& parameter : parameters_) {
    const Tensor& w = parameter.tensor;
    gradients_.push_back(zeros(w.rows(), w.cols(), w.dtype()));
    w.set_gradient(gradients_.back());
  }
  for (const WeightPart& place : exchange_->own_parts()) {
    const auto like = [&] { return zeros(1, place.count, parameters_[place.weight].tensor.dtype()); };
    parts_.push_back({place, like(), like(), has_average() ? like() : Tensor()});
  }
  restart_average();
}

View Optimizer::weight(const WeightPart& part) const { return slice(parameters_[part.weight].tensor, part); }

View Optimizer::gradient(const WeightPart& part) const { return slice(gradients_[part.weight], part); }

void Optimizer::restart_average() {
  for (const Part& part : parts_)
    if (part.average) backend_->run(kernel::Scale{part.average.view(), weight(part.place), 1});
}

int64_t Optimizer::trained_weights() const {
  int64_t count = 0;
  for (const Parameter& parameter : parameters_) count += parameter.tensor.size();
  return count;
}

void Optimizer::clear_gradients() {
  for (const Tensor& gradient : gradients_) backend_->run(kernel::Fill{gradient.view(), 0});
}

void Optimizer::set_gradients_aside() {
  const auto memory = lasting_memory(backend_);
  for (size_t weight = 0; weight < parameters_.size(); ++weight) {
    const Tensor& g = gradients_[weight];
    auto& aside = set_aside_[weight];
    if (aside.size() == aside_) aside.emplace_back(memory, g.rows(), g.cols(), g.dtype());
    std::swap(gradients_[weight], aside[aside_]);
    parameters_[weight].tensor.set_gradient(gradients_[weight]);
  }
  ++aside_;
}

void Optimizer::add_gradients_aside() {
  --aside_;
  for (size_t weight = 0; weight < parameters_.size(); ++weight) {
    const View sum = gradients_[weight].view();
    backend_->run(kernel::Add{sum, set_aside_[weight][aside_].view(), sum});
  }
}

void Optimizer::add_all_aside(size_t weight) {
  const View sum = gradients_[weight].view();
  for (size_t i = aside_; i-- > 0;) backend_->run(kernel::Add{sum, set_aside_[weight][i].view(), sum});
}

std::vector<Tensor> Optimizer::gradients() const { return gradients_; }

int64_t Optimizer::gradient_blocks() const {
  int64_t blocks = 0;
  for (const Part& part : parts_) blocks += blocks_of(part.place);
  return blocks;
}

void Optimizer::square_gradients(DeviceSpan<double> sums) const {
  for (const Part& part : parts_) {
    const int64_t blocks = blocks_of(part.place);
    backend_->run(kernel::BlockSquares{gradient(part.place), sums.subspan(0, blocks)});
    sums = sums.subspan(blocks, sums.size - blocks);
  }
}

/// The sums are added weight by weight, and within a weight block by block, as with one process.
std::vector<double> Optimizer::gradient_squares(std::span<const double> squares) const {
  struct Piece {
    WeightPart place;
    std::span<const double> sums;
  };
  std::vector<Piece> pieces;
  for (int process = 0; process < exchange_->processes().size(); ++process)
    for (const WeightPart& place : exchange_->parts_of(process)) {
      const auto blocks = static_cast<size_t>(blocks_of(place));
      pieces.push_back({place, squares.first(blocks)});
      squares = squares.subspan(blocks);
    }
  std::ranges::sort(pieces, [](const Piece& a, const Piece& b) {
    return a.place.weight != b.place.weight ? a.place.weight < b.place.weight : a.place.begin < b.place.begin;
  });
  std::vector<double> by_weight(parameters_.size());
  for (const Piece& piece : pieces) {
    double& sum = by_weight[piece.place.weight];
    sum = std::accumulate(piece.sums.begin(), piece.sums.end(), sum);
  }
  return by_weight;
}

double Optimizer::weight_size() const {
  double squares = 0;
  for (const Parameter& parameter : parameters_) {
    const Tensor sums(lasting_memory(backend_), 1, kernel::BlockSquares::blocks(parameter.tensor.size()),
                      DType::f64);
    backend_->run(kernel::BlockSquares{parameter.tensor.view(), sums.view().span<double>()});
    for (const double sum : sums.to_host<double>(*backend_)) squares += sum;
  }
  return std::sqrt(squares / static_cast<double>(trained_weights()));
}

void Optimizer::update(int64_t step, double learning_rate, double gradient_scale) {
  // At first the average follows the weights closely. Otherwise the initial weights would influence it for a
  // long time.
  const double decay =
      std::min(ema_decay_, (1.0 + static_cast<double>(step)) / (10.0 + static_cast<double>(step)));
  for (const Part& part : parts_)
    backend_->run(kernel::Adam{.weight = weight(part.place),
                               .gradient = gradient(part.place),
                               .moment1 = part.moment1.view(),
                               .moment2 = part.moment2.view(),
                               .average = part.average.view(),
                               .learning_rate = learning_rate,
                               .beta1 = options_.beta1,
                               .beta2 = options_.beta2,
                               .epsilon = options_.epsilon,
                               .weight_decay = options_.weight_decay,
                               .average_decay = decay,
                               .gradient_scale = gradient_scale,
                               .step = step});
  share_weights();
}

void Optimizer::share_weights() {
  std::vector<Tensor> weights;
  for (const Parameter& parameter : parameters_) weights.push_back(parameter.tensor);
  exchange_->share(std::move(weights));
}

void Optimizer::swap_average() {
  if (!has_average()) return;
  for (const Part& part : parts_) backend_->run(kernel::Swap{weight(part.place), part.average.view()});
  share_weights();
}

std::vector<NamedShape> Optimizer::state() const {
  std::vector<NamedShape> state;
  for (const Parameter& parameter : parameters_)
    for (int kind = 0; kind < kinds(); ++kind)
      state.push_back({kind_names[static_cast<size_t>(kind)] + parameter.name, parameter.shape});
  return state;
}

void Optimizer::save(const std::string& path) const {
  const auto gathered = [this](size_t i) {
    const auto kinds = static_cast<size_t>(this->kinds());
    return values(i / kinds, static_cast<int>(i % kinds));
  };
  if (exchange_->processes().is_root()) return write_values(path, state(), gathered);
  for (size_t i = 0; i < state().size(); ++i) gathered(i);
}

void Optimizer::load(const std::string& path) {
  read_values(path, state(), [this](size_t i, const std::vector<float>& values) {
    const auto kinds = static_cast<size_t>(this->kinds());
    set_values(i / kinds, static_cast<int>(i % kinds), values);
  });
}

/// Collective: the elements of a tensor of the state, on the root; nothing on other processes.
std::vector<float> Optimizer::values(size_t weight, int kind) const {
  Processes& processes = exchange_->processes();
  std::string own;
  for (const Part& part : parts_) {
    if (part.place.weight != weight) continue;
    const std::vector<float> values = part.state(kind).to_floats(*backend_);
    own.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  }
  const std::vector<std::string> all = processes.gather_at_root(own);
  std::vector<float> whole;
  if (!processes.is_root()) return whole;
  whole.resize(static_cast<size_t>(parameters_[weight].tensor.size()));
  for (int process = 0; process < processes.size(); ++process) {
    const char* next = all[static_cast<size_t>(process)].data();
    for (const WeightPart& part : exchange_->parts_of(process)) {
      if (part.weight != weight) continue;
      const size_t bytes = static_cast<size_t>(part.count) * sizeof(float);
      std::memcpy(whole.data() + part.begin, next, bytes);
      next += bytes;
    }
  }
  return whole;
}

void Optimizer::set_values(size_t weight, int kind, std::span<const float> values) {
  for (Part& part : parts_) {
    if (part.place.weight != weight) continue;
    const auto own =
        values.subspan(static_cast<size_t>(part.place.begin), static_cast<size_t>(part.place.count));
    part.state(kind).copy_from(*backend_, std::vector<float>(own.begin(), own.end()));
  }
}

}  // namespace sixfold
