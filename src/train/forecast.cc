#include "train/forecast.h"

#include <algorithm>

#include "backend/dry_backend.h"
#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "data/batcher.h"
#include "train/batch_loss.h"
#include "train/optimizer.h"

namespace sixfold {
namespace {

constexpr int sampled_batches = 12;
constexpr double gaps = 1.06;  // between the buffers of a step

std::string megabytes(int64_t bytes) {
  const double mb = static_cast<double>(bytes) / 1e6;
  return mb < 10'000 ? fmt::format("{:.0f} MB", mb) : fmt::format("{:.1f} GB", mb / 1e3);
}

int64_t longest_pair(const TokenCorpus& corpus) {
  int64_t longest = 0;
  for (int64_t i = 1; i < corpus.size(); ++i)
    if (corpus.tokens(i) > corpus.tokens(longest)) longest = i;
  return longest;
}

/// Batches like those to come, and one of the longest pair, which no budget makes smaller.
std::vector<Batch> sample_batches(const TrainOptions& options, const TokenCorpus& corpus, int64_t most) {
  Batcher batcher(corpus, {options.data.batch_tokens, 0, options.data.shuffle, options.train.seed});
  std::vector<Batch> batches;
  for (int i = 0; i < sampled_batches; ++i) {
    const Batch batch = batcher.next();
    if (most <= 0 || batch.tokens() <= most)
      batches.push_back(batch);
    else
      for (Batch& part : split(batch, most)) batches.push_back(std::move(part));
  }
  const int64_t pair = longest_pair(corpus);
  Batch longest;
  longest.source.add(corpus.source[pair]);
  std::vector<int32_t> target{corpus.target_start};
  target.insert(target.end(), corpus.target[pair].begin(), corpus.target[pair].end());
  longest.target_input.add(target);
  longest.target_output.assign(target.size(), corpus.target_eos);
  longest.sentence_ids = {0};
  batches.push_back(std::move(longest));
  return batches;
}

}  // namespace

std::string MemoryForecast::describe() const {
  return fmt::format(
      "{}: {} weights and gradients, {} optimizer, {} activations of a batch, {} kernels, {} else",
      megabytes(total()), megabytes(weights), megabytes(optimizer), megabytes(activations), megabytes(kernels),
      megabytes(now));
}

MemoryForecast forecast_memory(const ModelConfig& config, const TrainOptions& options,
                               const TokenCorpus& corpus, int64_t micro_batch_tokens) {
  MemoryForecast forecast;
  forecast.now = resident_memory();
  const auto dry = std::make_shared<DryBackend>();
  const Transformer model(config, dry, DType::f32, std::nullopt);
  const auto weights = static_cast<int64_t>(dry->in_use());
  const Optimizer optimizer(dry, model.parameters(), options.optimizer, options.train.ema_decay);
  int64_t gradients = 0;
  for (const Parameter& parameter : model.parameters())
    gradients += static_cast<int64_t>(parameter.tensor.bytes());
  forecast.weights = weights + gradients;
  forecast.optimizer = static_cast<int64_t>(dry->in_use()) - forecast.weights;
  const auto arena = std::make_shared<Arena>(dry);
  for (const Batch& batch : sample_batches(options, corpus, micro_batch_tokens)) {
    Tape tape;
    Pass pass(dry, arena, tape, {});
    batch_loss(model, batch, {}, pass);
    tape.backward();
  }
  forecast.activations = static_cast<int64_t>(gaps * static_cast<double>(arena->peak()));
  forecast.kernels = dry->largest_product() * static_cast<int64_t>(sizeof(float));
  return forecast;
}

int64_t fitting_micro_batch(const ModelConfig& config, const TrainOptions& options, const TokenCorpus& corpus,
                            int64_t available, bool fit) {
  const int64_t asked = options.data.micro_batch_tokens;
  const MemoryForecast forecast = forecast_memory(config, options, corpus, asked);
  log_info("memory: {}", forecast.describe());
  const auto fits = [&](const MemoryForecast& f) { return available == 0 || f.total() - f.now <= available; };
  if (fits(forecast)) return asked;
  const int64_t whole =
      asked > 0 ? std::min<int64_t>(asked, options.data.batch_tokens) : options.data.batch_tokens;
  for (int64_t tokens = whole / 2; tokens >= 16; tokens /= 2) {
    const MemoryForecast smaller = forecast_memory(config, options, corpus, tokens);
    if (!fits(smaller)) continue;
    if (fit) {
      log_info("memory: batches are worked through in parts of {} tokens to fit into {}", tokens,
               megabytes(available + forecast.now));
      return tokens;
    }
    throw_input_error(
        "the run would take {}, but there are {}: parts of {} tokens fit (--fit, or data.micro_batch_tokens: "
        "{})",
        megabytes(forecast.total()), megabytes(available + forecast.now), tokens, tokens);
  }
  throw_input_error(
      "the run would take {}, but there are {}, and no smaller batch makes it fit: take a smaller model",
      megabytes(forecast.total()), megabytes(available + forecast.now));
}

}  // namespace sixfold
