#include "train/forecast.h"

#include <algorithm>

#include "backend/meta_backend.h"
#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "data/batcher.h"
#include "model/decoding_state.h"
#include "search/beam.h"
#include "train/optimizer.h"
#include "train/validate.h"

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
std::vector<Batch> sample_batches(const ModelConfig& config, const TrainOptions& options,
                                  const TokenCorpus& corpus, int64_t most) {
  Batcher batcher(corpus, {.batch_tokens = options.data.batch_tokens,
                           .shuffle = options.data.shuffle,
                           .seed = options.train.seed,
                           .decoder_start = config.decoder_start_token});
  std::vector<Batch> batches;
  for (int i = 0; i < sampled_batches; ++i) {
    const Batch batch = batcher.next();
    if (most <= 0 || batch.tokens() <= most)
      batches.push_back(batch);
    else
      for (Batch& part : split(batch, most)) batches.push_back(std::move(part));
  }
  const int64_t pair = longest_pair(corpus);
  BatchBuilder longest;
  longest.sample(0).source(corpus.source[pair]).teacher_forced(corpus.target[pair], config.target_ends());
  batches.push_back(longest.take());
  return batches;
}

/// The bytes of a pool of keys and values that has had to hold so many rows: it doubles, one layer after the
/// other.
int64_t pool_bytes(const ModelConfig& config, int64_t rows) {
  int64_t held = KVStore::fewest_rows;
  while (held < rows) held *= 2;
  const int64_t row =
      int64_t{config.heads} * (config.key_width() + config.value_width()) * int64_t{sizeof(float)};
  return row * (held * config.decoder_layers + held / 2);
}

/// Keys and values of the sentences that are translated at a time.
int64_t translation_bytes(const ModelConfig& config, const TrainOptions& options, const TokenCorpus& valid,
                          int64_t part_tokens) {
  const int beam = options.validation.beam_size;
  const int64_t budget = validation_search_tokens(part_tokens) / beam;
  int64_t source = 0, target = 0, most_source = 0, most_target = 0;
  const int64_t most = options.validation.max_sentences,
                sentences = most > 0 ? std::min(most, valid.size()) : valid.size();
  for (int64_t i = 0; i < sentences; ++i) {
    const auto tokens = std::ssize(valid.source[i]);
    if (source + tokens > budget) source = target = 0;
    source += tokens;
    target += beam * longest_output(config.generation, static_cast<int>(tokens));
    most_source = std::max(most_source, source);
    most_target = std::max(most_target, target);
  }
  return pool_bytes(config, most_source) + pool_bytes(config, most_target);
}

/// What validation takes besides the activations, whose memory it uses.
int64_t validation_bytes(Transformer& model, const TrainOptions& options, const TokenCorpus& valid,
                         int64_t part_tokens, MetaBackend& dry, const std::shared_ptr<Arena>& arena) {
  const auto before = static_cast<int64_t>(dry.in_use());
  model.pack();
  const int64_t packed = static_cast<int64_t>(dry.in_use()) - before;
  Batcher batcher(valid, {.batch_tokens = validation_batch_tokens(options.data.batch_tokens, part_tokens),
                          .shuffle = false,
                          .decoder_start = model.config().decoder_start_token});
  for (int i = 0; i < sampled_batches && batcher.position().epoch == 0; ++i) {
    Context context(model.backend(), arena);
    model.loss(batcher.next(), {}, context);
  }
  model.discard_packed();
  return packed +
         (translates(options.validation) ? translation_bytes(model.config(), options, valid, part_tokens) : 0);
}

}  // namespace

std::string MemoryForecast::describe() const {
  return fmt::format(
      "{}: {} weights and gradients, {} optimizer, {} activations of a batch, {} kernels, {} validation and "
      "checkpoints, "
      "{} else",
      megabytes(total()), megabytes(weights), megabytes(optimizer), megabytes(activations), megabytes(kernels),
      megabytes(std::max(validation, checkpoint)), megabytes(now));
}

MemoryForecast forecast_memory(const ModelConfig& config, const TrainOptions& options, const ForecastText& text,
                               int64_t part_tokens) {
  MemoryForecast forecast;
  forecast.now = resident_memory();
  const auto dry = std::make_shared<MetaBackend>();
  Transformer model(config, dry, DType::f32, std::nullopt);
  const auto weights = static_cast<int64_t>(dry->in_use());
  const Optimizer optimizer(dry, {model.parameters().begin(), model.parameters().end()}, options.optimizer,
                            options.train.ema_decay);
  int64_t gradients = 0;
  for (const Parameter& parameter : model.parameters()) {
    const auto bytes = static_cast<int64_t>(parameter.tensor.bytes());
    gradients += bytes;
    forecast.checkpoint = std::max(forecast.checkpoint, bytes);
  }
  forecast.weights = weights + gradients;
  forecast.optimizer = static_cast<int64_t>(dry->in_use()) - forecast.weights;
  const auto arena = std::make_shared<Arena>(dry);
  for (const Batch& batch : sample_batches(config, options, text.train, part_tokens)) {
    Tape tape;
    Context context(dry, arena, tape, {});
    model.loss(batch, {}, context);
    tape.backward();
  }
  if (text.valid && text.valid->size() > 0)
    forecast.validation = validation_bytes(model, options, *text.valid, part_tokens, *dry, arena);
  forecast.activations = static_cast<int64_t>(gaps * static_cast<double>(arena->peak()));
  forecast.kernels = dry->largest_product() * static_cast<int64_t>(sizeof(float));
  return forecast;
}

int64_t fitting_parts(const ModelConfig& config, const TrainOptions& options, const ForecastText& text,
                      int64_t asked, int64_t available, bool fit) {
  const MemoryForecast forecast = forecast_memory(config, options, text, asked);
  log_info("memory: {}", forecast.describe());
  const auto fits = [&](const MemoryForecast& f) { return available == 0 || f.total() - f.now <= available; };
  if (fits(forecast)) return asked;
  const int64_t whole =
      asked > 0 ? std::min<int64_t>(asked, options.data.batch_tokens) : options.data.batch_tokens;
  for (int64_t tokens = whole / 2; tokens >= 16; tokens /= 2) {
    const MemoryForecast smaller = forecast_memory(config, options, text, tokens);
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
