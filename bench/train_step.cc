// The rate of whole training steps over given batches, the same that bench/peers/train_step.py runs on PyTorch.
// usage: bench_train_step BATCHES.jsonl [--preset tiny|small|base] [--mixer KIND] [--threads N] [--precision
// fp32|bf16]
// [--updates N] [--vocab N]
// [--micro-batch-tokens N] prints one line of JSON: real source+target tokens a second (median over the
// updates), peak memory, and what part that is of the fp32 products that the machine can do, measured in the
// same run.

#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "model/transformer.h"
#include "train/optimizer.h"
#include "train/precision.h"

using namespace sixfold;

namespace {

constexpr int32_t bos = 1, eos = 2;
constexpr int warm_up = 3;

std::vector<Batch> read_batches(const std::string& path) {
  std::ifstream file(path);
  require(file.good(), "{}: can't be read; bench/peers/make_batches.py makes it", path);
  std::vector<Batch> batches;
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line);
    BatchBuilder batch;
    for (const auto& source : json.at("source")) batch.source(source.get<std::vector<int32_t>>());
    for (const auto& target : json.at("target"))
      batch.teacher_forced(target.get<std::vector<int32_t>>(), {.start = bos, .eos = eos});
    batches.push_back(batch.take());
  }
  return batches;
}

double peak_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// A step over a batch in parts, as `data.micro_batch_tokens` has the trainer take it.
int64_t train_on(const std::vector<Batch>& parts, const Transformer& model, Optimizer& optimizer,
                 const std::shared_ptr<Arena>& arena, uint32_t update, double& loss) {
  optimizer.clear_gradients();
  double loss_weight = 0;
  int64_t tokens = 0;
  for (const Batch& part : parts) {
    loss_weight += part.loss_weight();
    tokens += part.tokens();
  }
  loss = 0;
  for (const Batch& part : parts) {
    Tape tape;
    Context context(model.backend(), arena, tape, {1, update});
    const Tensor sum = model.loss(part, {.label_smoothing = 0.1, .scale = 1 / loss_weight}, context);
    loss += sum.item(*model.backend()) / loss_weight;
    tape.backward();
  }
  optimizer.update(update + 1, 1e-4, 1);
  return tokens;
}

/// Operations of a batch's products, forward and back: 6 for each weight and token that meets it.
double operations(const std::vector<Batch>& parts, const ModelConfig& config) {
  double source = 0, target = 0;
  for (const auto& part : parts) {
    source += part.source.rows.tokens();
    target += part.target.rows.tokens();
  }
  const double d = config.d_model, ff = config.d_ff;
  const double encoder = config.encoder_layers * (4 * d * d + 2 * d * ff),
               memory = config.decoder_layers * 2 * d * d;
  const double decoder = config.decoder_layers * (6 * d * d + 2 * d * ff) + config.target_vocab * d;
  return 6 * (source * (encoder + memory) + target * decoder);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("training steps a second");
  std::string path, name = "small", precision = "fp32", mixer = "attention";
  int threads = 2, updates = 20, vocab = 8000;
  int64_t micro = 4096;
  app.add_option("batches", path)->required();
  app.add_option("--preset", name);
  app.add_option("--mixer", mixer, "of encoder and decoder, as model.encoder_mixer");
  app.add_option("--threads", threads);
  app.add_option("--precision", precision)->check(CLI::IsMember({"fp32", "bf16"}));
  app.add_option("--updates", updates);
  app.add_option("--vocab", vocab);
  app.add_option("--micro-batch-tokens", micro);
  CLI11_PARSE(app, argc, argv);

  std::vector<std::vector<Batch>> batches;
  for (const auto& batch : read_batches(path)) batches.push_back(split(batch, micro));
  const double baseline = peak_mb();
  ModelConfig config;
  for (const auto& [value, text] : EnumNames<Preset>::names)
    if (text == name) static_cast<Architecture&>(config) = preset(value);
  for (const auto& [value, text] : EnumNames<MixerKind>::names)
    if (text == mixer) config.encoder_mixer = config.decoder_mixer = value;
  config.source_vocab = config.target_vocab = vocab;
  const std::shared_ptr<Backend> backend = make_backend(
      {.threads = threads, .products = precision == "bf16" ? MatmulPrecision::bf16 : MatmulPrecision::fp32});
  const Transformer model(config, backend, DType::f32, 1);
  Optimizer optimizer(backend, {model.parameters().begin(), model.parameters().end()}, {}, 0);
  const auto arena = std::make_shared<Arena>(backend);
  std::vector<double> rates, operation_rates;
  double loss = 0;
  for (int i = 0; i < warm_up + updates; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const auto& batch = batches[static_cast<size_t>(i) % batches.size()];
    const int64_t tokens = train_on(batch, model, optimizer, arena, static_cast<uint32_t>(i), loss);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (i < warm_up) continue;
    rates.push_back(static_cast<double>(tokens) / seconds);
    operation_rates.push_back(operations(batch, config) / seconds);
  }
  std::sort(rates.begin(), rates.end());
  std::sort(operation_rates.begin(), operation_rates.end());
  const double peak = peak_mb(), rate = measure_product_rates(threads).fp32;
  std::cout << nlohmann::json{{"preset", name},
                              {"mixer", mixer},
                              {"threads", threads},
                              {"backend", backend->name()},
                              {"tokens_per_second", rates[rates.size() / 2]},
                              {"peak_mb", peak},
                              {"fp32_product_gflops", rate / 1e9},
                              {"part_of_fp32_product_rate", operation_rates[operation_rates.size() / 2] / rate},
                              {"baseline_mb", baseline},
                              {"arena_peak_mb", static_cast<double>(arena->peak()) / (1 << 20)},
                              {"loss", loss}}
            << "\n";
}
