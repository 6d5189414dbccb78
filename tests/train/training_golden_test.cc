// Short training runs against the same ones in PyTorch (tests/goldens/make_training_golden.py): which samples
// make an update, the learning rates, what the first update sees, every gradient, the losses and norms of all
// updates, and the weights and their moving average at the end; once update by update on each machine, in fp64
// too, and once through the trainer as a whole.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "base/file.h"
#include "close.h"
#include "data/batch_stream.h"
#include "model_folder/model_folder.h"
#include "ops/run_op.h"
#include "temporary_folder.h"
#include "train/golden_run.h"
#include "train/replica.h"
#include "train/schedule.h"
#include "train/trainer.h"

namespace sixfold {
namespace {

/// Relative tolerances for what one forward and one backward pass give. In fp32 PyTorch itself is off by up to
/// 1.1e-6 there.
constexpr double fp64_tolerance = 1e-12, fp32_tolerance = 4e-6;
/// How many times larger the tolerance of later losses and of the weights at the end is: rounding grows with
/// each update.
constexpr double growth = 5;

void set_initial_weights(const GoldenRun& golden, Transformer& model) {
  for (Parameter& parameter : model.parameters())
    parameter.tensor.copy_from(*model.backend(), golden.file.matrix(parameter.name).values);
}

/// Adam divides by the gradient's size: what is only rounding in the gradient of a key's bias moves that bias.
bool follows_rounding(const std::string& name) { return name.ends_with("k_proj.bias"); }

/// The weights of a run at its end, or their moving average: `what` is "final" or "average".
template <class Read>
void expect_weights(const GoldenRun& golden, const Transformer& model, const std::string& what,
                    double tolerance, const Read& read) {
  for (const Parameter& parameter : model.parameters())
    if (!follows_rounding(parameter.name))
      expect_close(read(parameter), golden.file.matrix(what + "/" + parameter.name), growth * tolerance,
                   what + " " + parameter.name);
}

void expect_measured(const nlohmann::json& actual, const nlohmann::json& expected, double tolerance) {
  for (const char* figure : {"loss", "gradient_norm"}) {
    const double value = expected.at(figure);
    EXPECT_NEAR(actual.at(figure), value, growth * tolerance * value) << figure;
  }
  EXPECT_NEAR(actual.at("learning_rate"), expected.at("learning_rate"), 1e-15);
}

/// The run update by update: what the trainer is made of, without its loop.
class Replay {
 public:
  Replay(const GoldenRun& golden, const Machine& machine, double tolerance)
      : golden_(golden),
        tolerance_(tolerance),
        backend_(*machine.backend),
        task_(golden),
        replica_(machine.backend, task_, golden.options, machine.dtype),
        batcher_(task_.training_data(), {.batch_tokens = golden.options.data.batch_tokens,
                                         .shuffle = golden.options.data.shuffle,
                                         .seed = golden.options.train.seed}),
        stream_(batcher_, golden.options.data.micro_batch_tokens) {
    set_initial_weights(golden, replica_.model());
    replica_.optimizer().restart_average();
  }

  /// Without dropout, of all samples.
  void check_first_pass() const {
    BatchBuilder builder;
    const Dataset& data = task_.training_data();
    for (int32_t i = 0; i < data.size(); ++i) data.add(i, 0, builder.sample(i));
    const Batch batch = builder.take();
    const Transformer& model = replica_.model();
    Context context(model.backend(), replica_.arena());
    const auto check = [&](const Tensor& tensor, const char* name) {
      expect_close(host(tensor), golden_.file.matrix(name), tolerance_, name);
    };
    check(model.encode(batch.source, context.token_rows(batch.source.rows), context), "encoder_output");
    const Tensor states = model.states(batch, context);
    check(states, "decoder_states");
    check(ops::logits(context, states, model.output()), "logits");
  }

  void update(int64_t step) {
    const UpdateBatch batch = next_update();
    std::vector<int32_t> samples;
    for (const Batch& part : batch.shards[0])
      samples.insert(samples.end(), part.samples.begin(), part.samples.end());
    EXPECT_EQ(samples, golden_.update(step).at("samples").get<std::vector<int32_t>>());
    const StepResult result = replica_.gradients(
        batch, {static_cast<uint32_t>(golden_.options.train.seed), static_cast<uint32_t>(step - 1)});
    if (step == 1) check_gradients();
    const double rate =
        Schedule(golden_.options.schedule, golden_.config.d_model, golden_.options.train.updates).rate(step);
    expect_measured({{"loss", result.loss}, {"gradient_norm", result.gradient_norm}, {"learning_rate", rate}},
                    golden_.update(step), tolerance_);
    replica_.update(step, rate, result.gradient_norm);
  }

  void check_end() {
    const auto weight = [&](const Parameter& parameter) { return host(parameter.tensor); };
    expect_weights(golden_, replica_.model(), "final", tolerance_, weight);
    replica_.optimizer().swap_average();
    expect_weights(golden_, replica_.model(), "average", tolerance_, weight);
  }

 private:
  HostMatrix host(const Tensor& tensor) const { return host_copy(tensor, backend_); }

  UpdateBatch next_update() {
    UpdateBatch batch;
    for (int i = 0; i < golden_.options.train.accumulate; ++i) {
      BatchStream::Next next = stream_.next();
      for (Batch& part : next.batch.shards[0]) batch.add(std::move(part));
    }
    return batch;
  }

  void check_gradients() const {
    // The gradient of a key's bias is zero in exact arithmetic: the floor is a share of the global norm.
    const double global = golden_.update(1).at("gradient_norm");
    for (const Parameter& parameter : replica_.model().parameters())
      expect_close(host(parameter.tensor.gradient()), golden_.file.matrix("grad/" + parameter.name), tolerance_,
                   "gradient of " + parameter.name, 0.01 * global);
  }

  const GoldenRun& golden_;
  double tolerance_;
  Backend& backend_;
  GoldenTask task_;
  Replica replica_;
  Batcher batcher_;
  BatchStream stream_;
};

void check_replay(const std::string& name, const Machine& machine, double tolerance) {
  const GoldenRun golden(name);
  Replay replay(golden, machine, tolerance);
  replay.check_first_pass();
  for (int64_t step = 1; step <= golden.options.train.updates; ++step) {
    SCOPED_TRACE("update " + std::to_string(step));
    replay.update(step);
  }
  replay.check_end();
}

/// The lines of a run's log, one for each update.
std::vector<nlohmann::json> log_of(const std::string& run) {
  std::vector<nlohmann::json> lines;
  std::istringstream text(read_file(run + "/train.jsonl"));
  for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

/// The whole trainer, from a model folder with the initial weights to the model that it writes.
void check_trainer(const std::string& name, int threads, double tolerance) {
  const GoldenRun golden(name);
  const TemporaryFolder folder;
  Transformer model(golden.config, make_backend(), DType::f32, std::nullopt);
  set_initial_weights(golden, model);
  write_model_folder(folder / "start", model, [](const std::string&) {});

  TrainOptions options = golden.options;
  options.start.model = folder / "start";
  options.train.precision = Precision::fp32;
  options.train.threads = threads;
  options.log.every_updates = 1;
  const TrainOutcome outcome = train(GoldenConfig(golden, options), {.run = folder / "run"});

  const std::vector<nlohmann::json> lines = log_of(folder / "run");
  ASSERT_EQ(std::ssize(lines), options.train.updates);
  for (int64_t step = 1; step <= options.train.updates; ++step) {
    SCOPED_TRACE("update " + std::to_string(step));
    expect_measured(lines[static_cast<size_t>(step - 1)], golden.update(step), tolerance);
  }
  for (const auto& [written, what] : {std::pair(outcome.checkpoint, "final"), {outcome.model, "average"}}) {
    load_weights(written + "/model.safetensors", model);
    expect_weights(golden, model, what, tolerance,
                   [&](const Parameter& parameter) { return host_copy(parameter.tensor, *model.backend()); });
  }
}

class TrainingGolden : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Runs, TrainingGolden,
                         testing::Values("training", "training_untied", "training_two_ways"));

TEST_P(TrainingGolden, ReferenceInFp64) { check_replay(GetParam(), reference_f64(), fp64_tolerance); }
TEST_P(TrainingGolden, ReferenceInFp32) { check_replay(GetParam(), reference_f32(), fp32_tolerance); }
TEST_P(TrainingGolden, DiscreteInFp64) { check_replay(GetParam(), discrete(DType::f64), fp64_tolerance); }
TEST_P(TrainingGolden, DiscreteWithoutFusedKernels) {
  check_replay(GetParam(), discrete(DType::f64, /*fused=*/false), fp64_tolerance);
}
TEST_P(TrainingGolden, CpuWithOneThread) { check_replay(GetParam(), cpu(1), fp32_tolerance); }
TEST_P(TrainingGolden, CpuWithTwoThreads) { check_replay(GetParam(), cpu(2), fp32_tolerance); }
TEST_P(TrainingGolden, TrainerWithOneThread) { check_trainer(GetParam(), 1, fp32_tolerance); }
TEST_P(TrainingGolden, TrainerWithTwoThreads) { check_trainer(GetParam(), 2, fp32_tolerance); }

}  // namespace
}  // namespace sixfold
