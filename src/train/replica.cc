#include "train/replica.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace sixfold {
namespace {

/// Adds numbers, one for each shard, in the order of the tree of shards.
double tree_sum(std::span<const double> numbers) {
  if (numbers.size() == 1) return numbers[0];
  const size_t half = numbers.size() / 2;
  return tree_sum(numbers.first(half)) + tree_sum(numbers.subspan(half));
}

}  // namespace

AdapterConfig adapters_of(const StartOptions& start) {
  return {.rank = start.lora_rank,
          .alpha = start.lora_alpha > 0 ? start.lora_alpha : start.lora_rank,
          .projections = start.lora_projections};
}

ModelConfig with_adapters(ModelConfig config, AdapterConfig adapters) {
  config.adapters = std::move(adapters);
  return config;
}

std::vector<Parameter> trained_parameters(Transformer& model, const StartOptions& start) {
  const AdapterConfig& adapters = model.config().adapters;
  std::vector<Parameter> trained;
  for (Parameter& parameter : model.parameters()) {
    const bool fixed = adapters.rank > 0 ? !parameter.adapter && parameter.part != ModelPart::head &&
                                               std::ranges::count(adapters.trained, parameter.name) == 0
                                         : std::ranges::count(start.freeze, parameter.part) > 0;
    parameter.tensor.set_requires_grad(!fixed);
    if (!fixed) trained.push_back(parameter);
  }
  require(!trained.empty(), "start.freeze: all weights are frozen; leave a part to train");
  return trained;
}

bool StepResult::finite() const { return std::isfinite(loss_sum) && std::isfinite(gradient_norm); }

Replica::Replica(std::shared_ptr<Backend> backend, const Task& task, const TrainOptions& options, DType dtype)
    : Replica(std::move(backend), task, options, Processes::one(), 1, dtype, adapters_of(options.start)) {}

Replica::Replica(std::shared_ptr<Backend> backend, const Task& task, const TrainOptions& options,
                 Processes& processes, int shards, DType dtype, AdapterConfig adapters)
    : task_(task),
      backend_(std::move(backend)),
      arena_(std::make_shared<Arena>(backend_)),
      model_(with_adapters(task.model_config(), std::move(adapters)), backend_, dtype, options.train.seed),
      teacher_(TeacherModel::load(options.teacher, model_.config(), backend_, dtype)),
      trained_(trained_parameters(model_, options.start)),
      exchange_(std::make_shared<WeightExchange>(processes, ShardTree(shards, processes.size()), backend_,
                                                 trained_, options.distributed.wire,
                                                 Optimizer::owns_whole_weights(options.optimizer))),
      optimizer_(backend_, trained_, options.optimizer, options.train.ema_decay, exchange_),
      loss_(loss_options(options.train)),
      clip_norm_(options.train.clip_norm) {
  for (const Parameter& buffer : model_.buffers()) {
    const Tensor& now = buffer.tensor;
    staged_.push_back({now, Tensor(lasting_memory(backend_), now.rows(), now.cols(), now.dtype())});
  }
}

StepResult Replica::gradients(Update& update, Context::Seeds seeds) {
  const int64_t shards = update.shards();
  const int64_t blocks = optimizer_.gradient_blocks();
  if (!sums_ || sums_.cols() != shards + blocks)
    sums_ = Tensor(lasting_memory(backend_), 1, shards + blocks, DType::f64);
  statistics_.clear();
  add_shards(update, seeds, 0, shards);
  exchange_->finish();
  optimizer_.square_gradients(sums_.view().slice_cols(shards, blocks).span<double>());
  const std::vector<double> own_sums =
      sums_.to_host<double>(*backend_);  // the only synchronization in an update
  return combine(own_sums, shards, update.loss_weight());
}

/// Combines the sums of all processes to the result of the step.
StepResult Replica::combine(std::span<const double> own_sums, int64_t shards, double loss_weight) {
  Processes& processes = exchange_->processes();
  std::vector<double> losses, squares, statistics;
  const auto count = static_cast<size_t>(shards);
  if (processes.size() == 1) {
    losses.assign(own_sums.begin(), own_sums.begin() + shards);
    squares.assign(own_sums.begin() + shards, own_sums.end());
    statistics = statistics_;
  } else {
    const std::vector<double> head{static_cast<double>(count), static_cast<double>(own_sums.size() - count)};
    std::vector<double> sent(head);
    sent.insert(sent.end(), own_sums.begin(), own_sums.end());
    sent.insert(sent.end(), statistics_.begin(), statistics_.end());
    for (const std::vector<double>& one : processes.all_gather_numbers(sent)) {
      const auto begin = one.begin() + 2, middle = begin + static_cast<ptrdiff_t>(one.at(0));
      const auto end = middle + static_cast<ptrdiff_t>(one.at(1));
      losses.insert(losses.end(), begin, middle);
      squares.insert(squares.end(), middle, end);
      statistics.insert(statistics.end(), end, one.end());
    }
  }
  stage_buffers(statistics);
  const double loss = tree_sum(losses);
  std::vector<double> by_weight = optimizer_.gradient_squares(squares);
  const double norm = std::sqrt(std::accumulate(by_weight.begin(), by_weight.end(), 0.0));
  return {.loss_sum = loss,
          .loss = loss / loss_weight,
          .gradient_norm = norm,
          .gradient_squares = std::move(by_weight)};
}

void Replica::add_shards(Update& update, Context::Seeds seeds, int64_t begin, int64_t end) {
  if (end - begin == 1) return run_shard(update, seeds, begin);
  const int64_t middle = (begin + end) / 2;
  add_shards(update, seeds, begin, middle);
  optimizer_.push_gradients();
  add_shards(update, seeds, middle, end);
  // When the last shard is computed, `complete_to` adds the gradients on the stack weight by weight.
  if (end < update.shards()) optimizer_.pop_and_add_gradients();
}

void Replica::run_shard(Update& update, Context::Seeds seeds, int64_t shard) {
  optimizer_.clear_gradients();
  const View loss_sum = sums_.view().slice_cols(shard, 1);
  const bool last = shard + 1 == update.shards();
  if (last) {
    exchange_->begin(optimizer_.gradients());
    complete_ = trained_.size();
  }
  backend_->run(kernel::Fill{loss_sum, 0});
  for (int64_t i = 0; i < update.batches(); ++i) {
    const std::vector<Batch>& parts = update.batch(i).shards[static_cast<size_t>(shard)];
    for (const Batch& part : parts)
      run_part(part, update.loss_weight(), seeds, loss_sum,
               last && i + 1 == update.batches() && &part == &parts.back());
  }
  if (!last) return;
  complete_to(0);
  optimizer_.clear_pushed_gradients();
}

void Replica::run_part(const Batch& part, double loss_weight, Context::Seeds seeds, View loss_sum, bool last) {
  holders_.clear();
  for (const Parameter& parameter : trained_) holders_.push_back(parameter.tensor.holders());
  Tape tape;
  Context context(backend_, arena_, tape, seeds);
  ops::LossOptions options = loss_;
  options.scale = 1 / loss_weight;
  Context inference(backend_, arena_);
  if (teacher_) options.teacher = teacher_->of(part, inference);
  const Tensor loss = task_.loss(model_, part, options, context);
  backend_->run(kernel::Sum{loss_sum, loss.view(), /*accumulate=*/true});
  if (last)
    backward_with_exchange(tape);
  else
    tape.backward();
  for (const BufferUpdate& update : context.take_deferred()) record(update);
}

/// The gradients of a weight are complete when the tape does not hold the weight any more. They are exchanged
/// while those of earlier weights are computed.
void Replica::backward_with_exchange(Tape& tape) {
  tape.backward([this](const Tape::Node&) {
    size_t weight = complete_;
    while (weight > 0 && trained_[weight - 1].tensor.holders() == holders_[weight - 1]) --weight;
    if (weight < complete_) complete_to(weight);
  });
}

void Replica::complete_to(size_t weight) {
  while (complete_ > weight) optimizer_.add_pushed_gradients(--complete_);
  exchange_->complete_from(weight);
}

void Replica::update(int64_t step, double learning_rate, double gradient_norm) {
  const bool clip = clip_norm_ > 0 && gradient_norm > clip_norm_;
  optimizer_.update(step, learning_rate, clip ? clip_norm_ / gradient_norm : 1.0);
  for (const Staged& staged : staged_)
    backend_->run(kernel::Scale{staged.buffer.view(), staged.next.view(), 1});
}

/// Appends the update of a buffer to `statistics_` as numbers, which processes can exchange: the number of the
/// buffer, momentum, factor, and the values of the statistic.
void Replica::record(const BufferUpdate& update) {
  const auto staged =
      std::ranges::find_if(staged_, [&](const Staged& s) { return s.buffer.same_as(update.buffer); });
  require(staged != staged_.end(), "a buffer that is to be updated is not one of the model");
  for (const double number : {static_cast<double>(staged - staged_.begin()), update.momentum, update.factor})
    statistics_.push_back(number);
  const std::vector<double> values = update.statistic.to_doubles(*backend_);
  statistics_.insert(statistics_.end(), values.begin(), values.end());
}

/// Computes the next values of the buffers from the updates that all processes have recorded. Earlier staged
/// values that were not applied are dropped.
void Replica::stage_buffers(std::span<const double> statistics) {
  for (const Staged& staged : staged_)
    backend_->run(kernel::Scale{staged.next.view(), staged.buffer.view(), 1});
  while (!statistics.empty()) {
    const View next = staged_[static_cast<size_t>(statistics[0])].next.view();
    const double momentum = statistics[1], factor = statistics[2];
    const auto values = statistics.subspan(3, static_cast<size_t>(next.rows * next.cols));
    Tensor share(arena_, next.rows, next.cols, next.dtype);
    share.copy_from(*backend_, std::vector<double>(values.begin(), values.end()));
    backend_->run(kernel::Scale{share.view(), share.view(), momentum * factor});
    backend_->run(kernel::Scale{next, next, 1 - momentum});
    backend_->run(kernel::Add{next, next, share.view()});
    statistics = statistics.subspan(3 + values.size());
  }
}

}  // namespace sixfold
