#include "search/scoring.h"

#include <algorithm>

#include "base/error.h"

namespace sixfold {
namespace {

/// The output layer of the allowed tokens, and the row that each token has there.
struct Output {
  ops::OutputWeights weights;
  std::span<const int32_t> allowed;

  Output(const DecodeWorkspace& decoding, std::span<const int32_t> ids)
      : weights(ids.empty() ? decoding.model.output()
                            : ops::select_outputs(decoding.backend, decoding.model.output(), ids)),
        allowed(ids) {}
  std::vector<int32_t> rows(const std::vector<int32_t>& tokens) const {
    if (allowed.empty()) return tokens;
    std::vector<int32_t> rows;
    for (const int32_t token : tokens) {
      const auto found = std::lower_bound(allowed.begin(), allowed.end(), token);
      require(found != allowed.end() && *found == token, "token {} to score is not among those allowed", token);
      rows.push_back(static_cast<int32_t>(found - allowed.begin()));
    }
    return rows;
  }
};

void score_batch(const DecodeWorkspace& decoding, const Batch& batch, const Output& output,
                 std::vector<std::vector<double>>& scores) {
  Context context(decoding.backend, decoding.arena);
  const Tensor states = decoding.model.states(batch, context);
  const std::vector<double> all =
      ops::log_probability(context, states, output.weights, context.indices(output.rows(batch.labels)))
          .to_doubles(context.backend());
  for (int i = 0; i < batch.target.rows.sequences(); ++i)
    scores.emplace_back(all.begin() + batch.target.rows.begin(i), all.begin() + batch.target.rows.begin(i + 1));
}

}  // namespace

std::vector<std::vector<double>> score_targets(const DecodeWorkspace& decoding,
                                               const std::vector<std::vector<int32_t>>& sources,
                                               const std::vector<std::vector<int32_t>>& targets,
                                               int64_t batch_tokens, std::span<const int32_t> allowed) {
  require(sources.size() == targets.size(), "{} sources and {} targets to score", sources.size(),
          targets.size());
  const ModelConfig& config = decoding.model.config();
  require_encoder_and_decoder(config, "scoring");
  const int ids_per_row = config.source_ids_per_row();
  const Output output(decoding, allowed);
  std::vector<std::vector<double>> scores;
  BatchBuilder builder;
  const auto flush = [&] {
    if (builder.batch().size() > 0) score_batch(decoding, builder.take(), output, scores);
  };
  for (size_t i = 0; i < sources.size(); ++i) {
    require(!sources[i].empty(), "source {} to score is empty; it needs at least the end token", i);
    const int64_t tokens = std::ssize(sources[i]) / ids_per_row + std::ssize(targets[i]) + 1;
    if (builder.batch().tokens() + tokens > batch_tokens) flush();
    builder.source(sources[i], ids_per_row).teacher_forced(targets[i], config.target_ends());
  }
  flush();
  return scores;
}

}  // namespace sixfold
