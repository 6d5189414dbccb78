#include "train/non_finite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace sixfold {
namespace {

bool finite(const Tensor& tensor, Backend& backend) {
  const auto values = tensor.to_floats(backend);
  return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

/// One batch, step by step. Leaves gradients in the weights.
std::optional<NonFiniteReport> replay_batch(const Replay& replay, const Batch& batch) {
  const auto& backend = replay.model.backend();
  NonFiniteReport found;
  const auto arena = std::make_shared<Arena>(backend);
  Tape tape;
  Context context(backend, arena, tape, replay.seeds);
  const Tensor states = replay.model.states(batch, context);
  for (const Tape::Node& node : tape.nodes())
    if (node.output && !finite(node.output, *backend))
      return NonFiniteReport{node.module, node.op, false, {}, {}, {}};
  const double loss = ops::cross_entropy(
      context, states, replay.model.output(), context.indices(batch.labels),
      {.label_smoothing = static_cast<float>(replay.label_smoothing), .scale = replay.loss_scale});
  if (!std::isfinite(loss)) return NonFiniteReport{"output", "cross_entropy", false, {}, {}, {}};
  // Gradients flow from the last op to the first: what an op is given was made by the one that ran before it.
  std::string module = "output", op = "cross_entropy";
  std::optional<NonFiniteReport> diverged;
  tape.backward([&](const Tape::Node& node) {
    if (diverged) return;
    if (node.output && node.output.gradient() && !finite(node.output.gradient(), *backend))
      diverged = NonFiniteReport{module, op, true, {}, {}, {}};
    module = node.module;
    op = node.op;
  });
  if (diverged) return diverged;
  for (const Parameter& parameter : replay.model.parameters())
    if (parameter.tensor.gradient() && !finite(parameter.tensor.gradient(), *backend))
      return NonFiniteReport{parameter.name, "gradient", true, {}, {}, {}};
  return std::nullopt;
}

void clear_gradients(const Transformer& model) {
  for (const Parameter& parameter : model.parameters())
    if (parameter.tensor.gradient()) model.backend()->fill(parameter.tensor.gradient().view(), 0);
}

/// The sentences that are enough to break it, or all.
void add_sentences(const Replay& replay, const Batch& batch, NonFiniteReport& divergence) {
  std::vector<Batch> culprits;
  for (Batch& one : split(batch, 1)) {
    clear_gradients(replay.model);
    if (replay_batch(replay, one)) culprits.push_back(std::move(one));
  }
  if (culprits.empty()) culprits = split(batch, 1);
  for (const Batch& one : culprits) {
    divergence.sentences.push_back(one.samples[0]);
    divergence.sources.push_back(replay.tokenizers.source->decode(one.source.ids));
    divergence.targets.push_back(replay.tokenizers.target->decode(one.labels));
  }
}

}  // namespace

std::string NonFiniteReport::describe() const {
  if (module.empty()) return "a replay of the step was finite";
  std::string text =
      fmt::format("it arose in {} ({}), {}", module, op, backward ? "going backward" : "going forward");
  text += fmt::format("; {} sentence{}", sentences.size(), sentences.size() == 1 ? "" : "s");
  for (size_t i = 0; i < std::min<size_t>(sentences.size(), 2); ++i)
    text += fmt::format("{} pair {} '{}'", i == 0 ? ":" : ",", sentences[i], sources[i].substr(0, 80));
  return text + (sentences.size() > 2 ? ", ..." : "");
}

NonFiniteReport find_non_finite(const Replay& replay, const std::vector<Batch>& batches) {
  clear_gradients(replay.model);
  for (const Batch& batch : batches)
    if (auto divergence = replay_batch(replay, batch)) {
      add_sentences(replay, batch, *divergence);
      return *divergence;
    }
  return {};
}

std::string to_json_text(const NonFiniteReport& d, int64_t update) {
  nlohmann::ordered_json json{{"update", update},
                              {"module", d.module},
                              {"op", d.op},
                              {"direction", d.backward ? "backward" : "forward"}};
  json["sentences"] = nlohmann::ordered_json::array();
  for (size_t i = 0; i < d.sentences.size(); ++i)
    json["sentences"].push_back({{"pair", d.sentences[i]}, {"source", d.sources[i]}, {"target", d.targets[i]}});
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace sixfold
