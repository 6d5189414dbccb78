#include "train/forecast.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "backend/meta_backend.h"
#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "data/batch_stream.h"
#include "data/batcher.h"
#include "train/optimizer.h"
#include "train/replica.h"
#include "train/validation.h"

namespace sixfold {
namespace {

constexpr int sampled_batches = 12;
constexpr double gap_factor = 1.06;  // for unused gaps between the buffers of a step

int64_t longest_sample(const Dataset& data) {
  int64_t longest = 0, most = 0;
  const int64_t size = data.size();
  for (int64_t i = 0; i < size; ++i) {
    const int64_t tokens = data.tokens(i, 0);
    if (tokens > most) longest = i, most = tokens;
  }
  return longest;
}

using UsePart = std::function<void(const Batch& part)>;

/// Calls `typical` for the parts, of at most `max_tokens` tokens, of the shards of the first batches of the
/// run, and `extreme` for those of a batch that consists of the longest sample, which may exceed the token
/// limit. Returns the bytes of the largest batch.
int64_t sample_batches(const Dataset& data, const TrainOptions& options, int shards, int64_t max_tokens,
                       const UsePart& typical, const UsePart& extreme) {
  Batcher batcher(
      data,
      {.batch_tokens = options.data.batch_tokens, .shuffle = options.data.shuffle, .seed = options.train.seed});
  int64_t bytes = 0;
  const auto use_parts = [&](const Batch& batch, const UsePart& use) {
    bytes = std::max(bytes, batch.bytes());
    for (const Batch& shard : divide(batch, shards)) {
      if (shard.size() == 0) continue;
      if (max_tokens <= 0 || shard.tokens() <= max_tokens)
        use(shard);
      else
        for (const Batch& part : split(shard, max_tokens)) use(part);
    }
  };
  for (int i = 0; i < sampled_batches; ++i) use_parts(batcher.next(), typical);
  BatchBuilder longest;
  data.add(longest_sample(data), 0, longest.sample(0));
  use_parts(longest.take(), extreme);
  return bytes;
}

/// The memory that validation needs besides that of the activations, which it reuses.
int64_t validation_bytes(const Task& task, Transformer& model, const TrainOptions& options, int64_t part_tokens,
                         MetaBackend& counting_backend, const std::shared_ptr<Arena>& arena) {
  const auto before = static_cast<int64_t>(counting_backend.in_use());
  model.pack();
  const int64_t packed = static_cast<int64_t>(counting_backend.in_use()) - before;
  Batcher batcher(*task.validation_data(),
                  {.batch_tokens = validation_batch_tokens(options.data, part_tokens), .shuffle = false});
  for (int i = 0; i < sampled_batches && batcher.position().epoch == 0; ++i) {
    Context context(model.backend(), arena);
    task.loss(model, batcher.next(), {}, context);
  }
  model.discard_packed();
  return packed + task.score_bytes(part_tokens);
}

}  // namespace

std::string MemoryForecast::describe() const {
  return fmt::format(
      "{}: {} weights and gradients, {} optimizer, {} activations of a batch, {} kernels, {} data of batches, "
      "{} "
      "validation and checkpoints, {} else",
      bytes_text(total()), bytes_text(weights), bytes_text(optimizer), bytes_text(activations),
      bytes_text(kernels), bytes_text(batches), bytes_text(std::max(validation, checkpoint)), bytes_text(now));
}

MemoryForecast forecast_memory(const Task& task, const TrainOptions& options, int64_t part_tokens,
                               BatchDivision division) {
  MemoryForecast forecast;
  forecast.now = resident_memory();
  const auto counting_backend = std::make_shared<MetaBackend>();
  Transformer model(with_adapters(task.model_config(), adapters_of(options.start)), counting_backend,
                    DType::f32, std::nullopt);
  const auto weights = static_cast<int64_t>(counting_backend->in_use());
  const std::vector<Parameter> trained = trained_parameters(model, options.start);
  const Optimizer optimizer(counting_backend, trained, options.optimizer, options.train.ema_decay);
  int64_t gradients = 0;
  for (const Parameter& parameter : trained) gradients += static_cast<int64_t>(parameter.tensor.bytes());
  for (const Parameter& parameter : model.parameters())
    forecast.checkpoint = std::max(forecast.checkpoint, static_cast<int64_t>(parameter.tensor.bytes()));
  const int own_shards = (division.shards + division.processes - 1) / division.processes;
  const int levels =
      std::bit_width(static_cast<unsigned>(own_shards - 1));  // pushed gradients (`Optimizer::push_gradients`)
  const auto before_teacher = static_cast<int64_t>(counting_backend->in_use());
  const auto teacher = TeacherModel::without_weights(options.teacher, model.config(), counting_backend);
  forecast.weights = weights + gradients + static_cast<int64_t>(counting_backend->in_use()) - before_teacher;
  forecast.optimizer = optimizer.state_bytes(division.processes);
  forecast.weights +=
      levels * gradients +
      WeightExchange::max_bytes(division.processes, Optimizer::owns_whole_weights(options.optimizer));
  const auto arena = std::make_shared<Arena>(counting_backend);
  const auto step = [&](const Batch& part) {
    Tape tape;
    Context context(counting_backend, arena, tape, {});
    ops::LossOptions loss = loss_options(options.train);
    Context inference(counting_backend, arena);
    if (teacher) loss.teacher = teacher->of(part, inference);
    task.loss(model, part, loss, context);
    tape.backward();
  };
  double tokens = 0, operations = 0;  // of typical batches: one long sample is no measure of a run
  const int64_t batch_bytes = sample_batches(
      task.training_data(), options, division.shards, part_tokens,
      [&](const Batch& part) {
        const double before = counting_backend->product_operations();
        step(part);
        operations += counting_backend->product_operations() - before;
        tokens += static_cast<double>(part.tokens());
      },
      step);
  forecast.operations_per_token = operations / std::max(tokens, 1.0);
  forecast.batches = BatchStream::bytes(batch_bytes) + batch_bytes;
  if (task.validation_data())
    forecast.validation = validation_bytes(task, model, options, part_tokens, *counting_backend, arena);
  forecast.activations = static_cast<int64_t>(gap_factor * static_cast<double>(arena->peak()));
  forecast.kernels = counting_backend->largest_product() * static_cast<int64_t>(sizeof(float));
  return forecast;
}

FittingParts fitting_parts(const Task& task, const TrainOptions& options, int64_t requested_tokens,
                           int64_t available, bool fit, BatchDivision division) {
  const MemoryForecast forecast = forecast_memory(task, options, requested_tokens, division);
  log_info("memory: {}", forecast.describe());
  const auto fits = [&](const MemoryForecast& f) { return available == 0 || f.total() - f.now <= available; };
  if (fits(forecast)) return {requested_tokens, forecast};
  const int64_t whole = requested_tokens > 0 ? std::min<int64_t>(requested_tokens, options.data.batch_tokens)
                                             : options.data.batch_tokens;
  for (int64_t tokens = whole / 2; tokens >= 16; tokens /= 2) {
    const MemoryForecast smaller = forecast_memory(task, options, tokens, division);
    if (!fits(smaller)) continue;
    if (fit) {
      log_info("memory: batches are processed in parts of {} tokens to fit into {}", tokens,
               bytes_text(available + forecast.now));
      return {tokens, smaller};
    }
    const bool batch_norm = task.model_config().norm == Norm::batch;
    throw_input_error(
        "the run would need {}, but only {} are available; parts of {} tokens fit ({}, or "
        "data.micro_batch_tokens: {}{})",
        bytes_text(forecast.total()), bytes_text(available + forecast.now), tokens,
        batch_norm ? "--fit for a new run" : "--fit", tokens,
        batch_norm ? "; norm: batch normalizes over a part, so that other parts train another model" : "");
  }
  throw_input_error(
      "the run would need {}, but only {} are available, and smaller batches do not suffice; use a smaller "
      "model",
      bytes_text(forecast.total()), bytes_text(available + forecast.now));
}

}  // namespace sixfold
