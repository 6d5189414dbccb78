#include "train/non_finite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/plural.h"

namespace sixfold {
namespace {

bool finite(const Tensor& tensor, Backend& backend) {
  const auto values = tensor.to_floats(backend);
  return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

/// Checks one batch, op by op. Overwrites the gradients of the weights.
std::optional<NonFiniteReport> replay_batch(const Replay& replay, const Batch& batch, double loss_scale) {
  const auto& backend = replay.model.backend();
  const auto arena = std::make_shared<Arena>(backend);
  std::optional<NonFiniteReport> diverged;
  Tape tape([&](const Tape::Node& node) {
    if (!diverged && node.output && !finite(node.output, *backend))
      diverged = NonFiniteReport{node.module, node.op, /*backward=*/false, {}, {}};
  });
  Context context(backend, arena, tape, replay.seeds);
  ops::LossOptions options = replay.loss;
  options.scale = loss_scale;
  Context inference(backend, arena);
  if (replay.teacher) options.teacher = replay.teacher->of(batch, inference);
  const Tensor loss = replay.task.loss(replay.model, batch, options, context);
  if (diverged) return diverged;
  if (!std::isfinite(loss.item(*backend)))
    return NonFiniteReport{"output", "cross_entropy", /*backward=*/false, {}, {}};
  // Gradients flow from the last op to the first, so that the gradient of an op's output was computed by the op
  // that ran backward before it.
  std::string module = "output", op = "cross_entropy";
  tape.backward([&](const Tape::Node& node) {
    if (diverged) return;
    if (node.output && node.output.gradient() && !finite(node.output.gradient(), *backend))
      diverged = NonFiniteReport{module, op, /*backward=*/true, {}, {}};
    module = node.module;
    op = node.op;
  });
  if (diverged) return diverged;
  for (const Parameter& parameter : replay.model.parameters())
    if (parameter.tensor.gradient() && !finite(parameter.tensor.gradient(), *backend))
      return NonFiniteReport{parameter.name, "gradient", /*backward=*/true, {}, {}};
  return std::nullopt;
}

void clear_gradients(const Transformer& model) {
  for (const Parameter& parameter : model.parameters())
    if (parameter.tensor.gradient()) model.backend()->run(kernel::Fill{parameter.tensor.gradient().view(), 0});
}

/// Adds to the report the samples that give a value that is not finite on their own, or all samples if there
/// are none. With batch norm, samples are not tried on their own, since their values depend on the rest of the
/// batch.
void add_samples(const Replay& replay, const Batch& batch, double loss_scale, NonFiniteReport& report) {
  std::vector<Batch> culprits;
  if (replay.model.config().norm != Norm::batch)
    for (Batch& one : split(batch, 1)) {
      clear_gradients(replay.model);
      if (replay_batch(replay, one, loss_scale)) culprits.push_back(std::move(one));
    }
  if (culprits.empty()) culprits = split(batch, 1);
  for (const Batch& one : culprits) {
    report.samples.push_back(one.samples[0]);
    report.descriptions.push_back(replay.task.training_data().describe(one.samples[0]));
  }
}

/// Returns the name of a sample with its first text: "pair 7 'ein Hund'".
std::string name_of(int32_t sample, const SampleDescription& description) {
  std::string name = fmt::format("{} {}", description.kind, sample);
  if (!description.texts.empty()) name += fmt::format(" '{}'", description.texts[0].second.substr(0, 80));
  return name;
}

}  // namespace

std::string NonFiniteReport::describe() const {
  if (module.empty()) return "repeating the step gave only finite values";
  std::string text =
      fmt::format("it arose in {} ({}), in the {} pass", module, op, backward ? "backward" : "forward");
  text += fmt::format("; {}", counted(std::ssize(samples), "sentence"));
  for (size_t i = 0; i < std::min<size_t>(samples.size(), 2); ++i)
    text += fmt::format("{} {}", i == 0 ? ":" : ",", name_of(samples[i], descriptions[i]));
  return text + (samples.size() > 2 ? ", ..." : "");
}

NonFiniteReport find_non_finite(const Replay& replay, Update& update) {
  clear_gradients(replay.model);
  const double scale = 1 / update.loss_weight();
  for (int64_t shard = 0; shard < update.shards(); ++shard)
    for (int64_t i = 0; i < update.batches(); ++i)
      for (const Batch& part : update.batch(i).shards[static_cast<size_t>(shard)])
        if (auto report = replay_batch(replay, part, scale)) {
          add_samples(replay, part, scale, *report);
          return *report;
        }
  return {};
}

std::string to_json_text(const NonFiniteReport& report, int64_t update) {
  nlohmann::ordered_json json{{"update", update},
                              {"module", report.module},
                              {"op", report.op},
                              {"direction", report.backward ? "backward" : "forward"}};
  json["sentences"] = nlohmann::ordered_json::array();
  for (size_t i = 0; i < report.samples.size(); ++i) {
    nlohmann::ordered_json sample;
    sample[report.descriptions[i].kind] = report.samples[i];
    for (const auto& [name, text] : report.descriptions[i].texts) sample[name] = text;
    json["sentences"].push_back(std::move(sample));
  }
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace sixfold
