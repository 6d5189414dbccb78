// A short training run against the same one in PyTorch (tests/goldens/make_training_golden.py): what the first
// update sees, every gradient, ten losses and the weights at the end.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "close.h"
#include "golden_file.h"
#include "model/small_model.h"

namespace sixfold {
namespace {

/// A run of make_training_golden.py.
struct GoldenRun {
  GoldenFile file;
  nlohmann::json facts;
  ModelConfig config;
  Batch batch;
  std::vector<int32_t> targets;

  explicit GoldenRun(const std::string& name)
      : file(name),
        facts(nlohmann::json::parse(std::ifstream(SIXFOLD_TEST_GOLDENS "/" + name + ".json"))),
        targets(file.ids("target_output")) {
    for (const auto& [key, value] : {std::pair("d_model", &config.d_model),
                                     {"heads", &config.heads},
                                     {"d_k", &config.d_k},
                                     {"d_v", &config.d_v},
                                     {"d_ff", &config.d_ff},
                                     {"encoder_layers", &config.encoder_layers},
                                     {"decoder_layers", &config.decoder_layers},
                                     {"source_vocab", &config.source_vocab},
                                     {"target_vocab", &config.target_vocab}})
      *value = facts.at(key);
    for (const auto& [value, text] : EnumNames<TiedEmbeddings>::names)
      if (facts.at("tied_embeddings") == text) config.tied_embeddings = value;
    config.dropout = 0;
    batch.source = {file.ids("source"), file.ragged("source_offsets")};
    batch.target = {file.ids("target_input"), file.ragged("target_offsets")};
  }

  /// Equation 3 of section 5.3, scaled as the file says.
  double learning_rate(int step) const {
    const double warmup = facts.at("warmup"), scale = facts.at("learning_rate_scale");
    return scale * std::pow(config.d_model, -0.5) *
           std::min(std::pow(step, -0.5), step * std::pow(warmup, -1.5));
  }
};

/// The run once more, on a machine of ours.
class Rerun {
 public:
  Rerun(const GoldenRun& golden, const Machine& machine)
      : golden_(golden),
        backend_(*machine.backend),
        model_(golden.config, machine.backend, machine.dtype, 1),
        arena_(std::make_shared<Arena>(machine.backend)) {
    const auto memory = lasting_memory(machine.backend);
    for (Parameter& parameter : model_.parameters()) {
      Tensor& tensor = parameter.tensor;
      tensor.copy_from(backend_, golden.file.matrix(parameter.name).values);
      for (auto* moments : {&moments1_, &moments2_}) {
        moments->emplace_back(memory, tensor.rows(), tensor.cols(), tensor.dtype());
        backend_.fill(moments->back().view(), 0);
      }
    }
  }

  const Transformer& model() const { return model_; }
  HostMatrix host(const Tensor& tensor) const { return host_copy(tensor, backend_); }

  /// The loss of a token; gradients are in the parameters after it.
  double loss() {
    Tape tape;
    Context context(model_.backend(), arena_, tape, {});
    for (const auto& parameter : model_.parameters()) parameter.tensor.set_gradient({});
    const auto tokens = static_cast<double>(golden_.targets.size());
    const Tensor states = model_.states(golden_.batch, context);
    const double sum =
        ops::cross_entropy(context, states, model_.output(), context.indices(golden_.targets),
                           {.label_smoothing = golden_.facts.at("label_smoothing"), .scale = 1 / tokens});
    tape.backward();
    return sum / tokens;
  }

  void update(int step) {
    for (size_t i = 0; i < moments1_.size(); ++i) {
      const Tensor& tensor = model_.parameters()[i].tensor;
      backend_.adam({.weight = tensor.view(),
                     .gradient = tensor.gradient().view(),
                     .moment1 = moments1_[i].view(),
                     .moment2 = moments2_[i].view(),
                     .average = {},
                     .learning_rate = golden_.learning_rate(step),
                     .beta1 = 0.9,
                     .beta2 = 0.98,
                     .epsilon = 1e-9,
                     .weight_decay = 0,
                     .average_decay = 0,
                     .step = step});
    }
  }

 private:
  const GoldenRun& golden_;
  Backend& backend_;
  Transformer model_;
  std::shared_ptr<Arena> arena_;
  std::vector<Tensor> moments1_, moments2_;
};

void check_first_pass(const GoldenRun& golden, const Rerun& rerun, double tolerance, const std::string& what) {
  const Transformer& model = rerun.model();
  Context context(model.backend(), std::make_shared<Arena>(model.backend()));
  const Tensor encoded =
      model.encode(golden.batch.source, context.token_rows(golden.batch.source.rows), context);
  const Tensor states = model.states(golden.batch, context);
  const auto check = [&](const Tensor& tensor, const char* name) {
    expect_close(rerun.host(tensor), golden.file.matrix(name), tolerance, what + ": " + name);
  };
  check(encoded, "encoder_output");
  check(states, "decoder_states");
  check(ops::logits(context, states, model.output()), "logits");
}

void check_run(const std::string& name, const Machine& machine, double tolerance) {
  const std::string what = name + ", " + machine.name;
  const GoldenRun golden(name);
  Rerun rerun(golden, machine);
  check_first_pass(golden, rerun, tolerance, what);
  const auto& losses = golden.facts.at("losses");
  ASSERT_EQ(losses.size(), 10u);
  for (int step = 1; step <= 10; ++step) {
    EXPECT_NEAR(golden.learning_rate(step), golden.facts.at("learning_rates").at(step - 1), 1e-15);
    const double expected = losses.at(step - 1), loss = rerun.loss();
    EXPECT_NEAR(loss, expected, tolerance * expected) << what << ": loss of update " << step;
    if (step == 1) {
      // The gradient of a key's bias is zero in exact arithmetic: the floor is a share of the global norm.
      double global = 0;
      for (const auto& parameter : rerun.model().parameters())
        global = std::hypot(global, norm_of(golden.file.matrix("grad/" + parameter.name)));
      for (const auto& parameter : rerun.model().parameters())
        expect_close(rerun.host(parameter.tensor.gradient()), golden.file.matrix("grad/" + parameter.name),
                     tolerance, what + ": gradient of " + parameter.name, 0.01 * global);
    }
    rerun.update(step);
  }
  // Adam divides by the gradient's size: what is only rounding in the gradient of a key's bias moves that bias.
  for (const auto& parameter : rerun.model().parameters())
    if (!parameter.name.ends_with("k_proj.bias"))
      expect_close(rerun.host(parameter.tensor), golden.file.matrix("final/" + parameter.name), 10 * tolerance,
                   what + ": " + parameter.name + " at the end");
}

class TrainingGolden : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Runs, TrainingGolden,
                         testing::Values("training", "training_untied", "training_two_ways"));

TEST_P(TrainingGolden, ReferenceInFp64) { check_run(GetParam(), reference_f64(), 1e-9); }
TEST_P(TrainingGolden, ReferenceInFp32) { check_run(GetParam(), reference_f32(), 1e-5); }
TEST_P(TrainingGolden, CpuWithOneThread) { check_run(GetParam(), cpu(1), 1e-5); }
TEST_P(TrainingGolden, CpuWithTwoThreads) { check_run(GetParam(), cpu(2), 1e-5); }

}  // namespace
}  // namespace sixfold
