#include "train/optimizer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/error.h"

namespace sixfold {
namespace {

constexpr std::array kind_names{"moment1.", "moment2.", "rows.", "columns.", "average."};

/// The elements of a part of a tensor, as a row.
View slice(const Tensor& tensor, const WeightPart& part) {
  const View whole = tensor.view();
  return View{whole.data, whole.dtype, 1, tensor.size(), tensor.size()}.slice_cols(part.begin, part.count);
}

int64_t blocks_of(const WeightPart& part) { return kernel::BlockSquares::blocks(part.count); }

}  // namespace

bool rate_is_step(const OptimizerOptions& options) {
  return options.kind == OptimizerKind::adam ||
         (options.kind == OptimizerKind::adafactor && !options.scale_parameter);
}

bool Optimizer::owns_whole_weights(const OptimizerOptions& options) {
  return options.kind == OptimizerKind::adafactor;
}

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
      gradient_stack_(parameters.size()) {
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
  for (size_t weight = 0; weight < parameters_.size(); ++weight)
    for (const Kind kind : {moment1, moment2, rows, columns, average})
      if (has(kind, weight)) entries_.push_back({weight, kind});
  for (const WeightPart& place : exchange_->own_parts()) {
    Part& part = parts_.emplace_back(Part{place, {}});
    for (const Entry& entry : entries_)
      if (entry.weight == place.weight)
        part.state[entry.kind] =
            zeros(1, extent(entry.kind, place).count, parameters_[place.weight].tensor.dtype());
  }
  restart_average();
}

/// Whether the state of a weight has this kind of tensor.
bool Optimizer::has(Kind kind, size_t weight) const {
  const Tensor& w = parameters_[weight].tensor;
  const bool factored = options_.kind == OptimizerKind::adafactor && w.rows() > 1 && w.cols() > 1;
  switch (kind) {
    case moment1:
      return options_.kind == OptimizerKind::adam || options_.momentum > 0;
    case moment2:
      return options_.kind != OptimizerKind::sgd && !factored;
    case rows:
    case columns:
      return factored;
    case average:
      return has_average();
  }
  throw_unknown("kind of state", kind);
}

/// Which elements of a tensor of the state a part of a weight has. Only whole weights have rows and columns.
WeightPart Optimizer::extent(Kind kind, const WeightPart& part) const {
  const Tensor& w = parameters_[part.weight].tensor;
  if (kind == rows) return {part.weight, 0, w.rows()};
  if (kind == columns) return {part.weight, 0, w.cols()};
  return part;
}

View Optimizer::weight(const WeightPart& part) const { return slice(parameters_[part.weight].tensor, part); }

View Optimizer::gradient(const WeightPart& part) const { return slice(gradients_[part.weight], part); }

void Optimizer::restart_average() {
  for (const Part& part : parts_)
    if (has_average()) backend_->run(kernel::Scale{part.state[average].view(), weight(part.place), 1});
}

int64_t Optimizer::trained_weights() const {
  int64_t count = 0;
  for (const Parameter& parameter : parameters_) count += parameter.tensor.size();
  return count;
}

void Optimizer::clear_gradients() {
  for (const Tensor& gradient : gradients_) backend_->run(kernel::Fill{gradient.view(), 0});
}

void Optimizer::push_gradients() {
  const auto memory = lasting_memory(backend_);
  for (size_t weight = 0; weight < parameters_.size(); ++weight) {
    const Tensor& g = gradients_[weight];
    auto& stack = gradient_stack_[weight];
    if (stack.size() == stacked_) stack.emplace_back(memory, g.rows(), g.cols(), g.dtype());
    std::swap(gradients_[weight], stack[stacked_]);
    parameters_[weight].tensor.set_gradient(gradients_[weight]);
  }
  ++stacked_;
}

void Optimizer::pop_and_add_gradients() {
  --stacked_;
  for (size_t weight = 0; weight < parameters_.size(); ++weight) {
    const View sum = gradients_[weight].view();
    backend_->run(kernel::Add{sum, gradient_stack_[weight][stacked_].view(), sum});
  }
}

void Optimizer::add_pushed_gradients(size_t weight) {
  const View sum = gradients_[weight].view();
  for (size_t i = stacked_; i-- > 0;) backend_->run(kernel::Add{sum, gradient_stack_[weight][i].view(), sum});
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
  for (const Part& part : parts_) this->step(part, step, learning_rate, gradient_scale, decay);
  share_weights();
}

void Optimizer::step(const Part& part, int64_t step, double learning_rate, double gradient_scale,
                     double average_decay) {
  const OptimizerOptions& o = options_;
  const auto state = [&](Kind kind) { return part.state[kind].view(); };
  switch (o.kind) {
    case OptimizerKind::adam:
      return backend_->run(kernel::Adam{.weight = weight(part.place),
                                        .gradient = gradient(part.place),
                                        .moment1 = state(moment1),
                                        .moment2 = state(moment2),
                                        .average = state(average),
                                        .learning_rate = learning_rate,
                                        .beta1 = o.beta1,
                                        .beta2 = o.beta2,
                                        .epsilon = o.epsilon,
                                        .weight_decay = o.weight_decay,
                                        .average_decay = average_decay,
                                        .gradient_scale = gradient_scale,
                                        .step = step});
    case OptimizerKind::adafactor:
      return backend_->run(kernel::Adafactor{.weight = parameters_[part.place.weight].tensor.view(),
                                             .gradient = gradients_[part.place.weight].view(),
                                             .rows = state(rows),
                                             .columns = state(columns),
                                             .squares = state(moment2),
                                             .moment1 = state(moment1),
                                             .average = state(average),
                                             .learning_rate = learning_rate,
                                             .beta1 = o.momentum,
                                             .beta2 = 1 - std::pow(static_cast<double>(step), -o.decay_rate),
                                             .clip_threshold = o.clip_threshold,
                                             .weight_decay = o.weight_decay,
                                             .average_decay = average_decay,
                                             .scale_parameter = o.scale_parameter,
                                             .gradient_scale = gradient_scale});
    case OptimizerKind::sgd:
      return backend_->run(kernel::Sgd{.weight = weight(part.place),
                                       .gradient = gradient(part.place),
                                       .velocity = state(moment1),
                                       .average = state(average),
                                       .learning_rate = learning_rate,
                                       .momentum = o.momentum,
                                       .weight_decay = o.weight_decay,
                                       .average_decay = average_decay,
                                       .nesterov = o.nesterov,
                                       .gradient_scale = gradient_scale});
  }
  throw_unknown("optimizer", o.kind);
}

void Optimizer::share_weights() {
  std::vector<Tensor> weights;
  for (const Parameter& parameter : parameters_) weights.push_back(parameter.tensor);
  exchange_->share(std::move(weights));
}

void Optimizer::swap_average() {
  if (!has_average()) return;
  for (const Part& part : parts_) backend_->run(kernel::Swap{weight(part.place), part.state[average].view()});
  share_weights();
}

std::vector<NamedShape> Optimizer::state() const {
  std::vector<NamedShape> state;
  for (const auto& [weight, kind] : entries_) {
    const Parameter& parameter = parameters_[weight];
    const bool factor = kind == rows || kind == columns;
    state.push_back({kind_names[kind] + parameter.name,
                     factor ? std::vector<int64_t>{extent(kind, {.weight = weight}).count} : parameter.shape});
  }
  return state;
}

int64_t Optimizer::state_bytes(int processes) const {
  const WeightDivision division =
      WeightExchange::division(parameters_, processes, owns_whole_weights(options_));
  int64_t largest = 0;
  for (int process = 0; process < processes; ++process) {
    int64_t bytes = 0;
    for (const WeightPart& part : division.parts_of(process))
      for (const auto& [weight, kind] : entries_)
        if (weight == part.weight)
          bytes += extent(kind, part).count * static_cast<int64_t>(size_of(parameters_[weight].tensor.dtype()));
    largest = std::max(largest, bytes);
  }
  return largest;
}

void Optimizer::save(const std::string& path) const {
  if (exchange_->processes().is_root())
    return write_values(path, state(), [this](size_t i) { return values(entries_[i]); });
  for (const Entry& entry : entries_) values(entry);
}

void Optimizer::load(const std::string& path) {
  read_values(path, state(),
              [this](size_t i, const std::vector<float>& values) { set_values(entries_[i], values); });
}

/// Collective: the elements of a tensor of the state, on the root; nothing on other processes.
std::vector<float> Optimizer::values(const Entry& entry) const {
  Processes& processes = exchange_->processes();
  std::string own_bytes;
  for (const Part& part : parts_) {
    if (part.place.weight != entry.weight) continue;
    const std::vector<float> values = part.state[entry.kind].to_floats(*backend_);
    own_bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  }
  const std::vector<std::string> all = processes.gather(own_bytes);
  std::vector<float> whole;
  if (!processes.is_root()) return whole;
  const int64_t size = parameters_[entry.weight].tensor.size();
  whole.resize(static_cast<size_t>(extent(entry.kind, {entry.weight, 0, size}).count));
  for (int process = 0; process < processes.size(); ++process) {
    const char* next = all[static_cast<size_t>(process)].data();
    for (const WeightPart& part : exchange_->parts_of(process)) {
      if (part.weight != entry.weight) continue;
      const WeightPart place = extent(entry.kind, part);
      const size_t bytes = static_cast<size_t>(place.count) * sizeof(float);
      std::memcpy(whole.data() + place.begin, next, bytes);
      next += bytes;
    }
  }
  return whole;
}

void Optimizer::set_values(const Entry& entry, std::span<const float> values) {
  for (Part& part : parts_) {
    if (part.place.weight != entry.weight) continue;
    const WeightPart place = extent(entry.kind, part.place);
    const auto own = values.subspan(static_cast<size_t>(place.begin), static_cast<size_t>(place.count));
    part.state[entry.kind].copy_from(*backend_, std::vector<float>(own.begin(), own.end()));
  }
}

}  // namespace sixfold
