#include "search/scoring.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "search/ensemble.h"
#include "search/output_rows.h"

namespace sixfold {
namespace {

/// The rows of the tokens in the output layer.
std::vector<int32_t> rows_of(const OutputRows& output, std::span<const int32_t> tokens) {
  std::vector<int32_t> rows = output.rows_of(tokens);
  for (size_t i = 0; rows.size() < tokens.size(); ++i)
    require(!output.rows_of(tokens.subspan(i, 1)).empty(), "token {} to score is not among those allowed",
            tokens[i]);
  return rows;
}

/// The log-probability of each label of a batch.
std::vector<double> label_scores(const DecodeWorkspace& decoding, const Batch& batch, OutputRows& output,
                                 std::span<const int32_t> allowed) {
  Context context(decoding.backend, decoding.arena);
  const std::vector<int32_t> rows = rows_of(output, batch.labels);
  if (decoding.ensemble) {
    std::vector<Tensor> states;
    for (const Transformer* model : decoding.ensemble->models) states.push_back(model->states(batch, context));
    return ensemble_log_probabilities(*decoding.ensemble, states, batch.labels, allowed, context);
  }
  const Tensor states = decoding.model.states(batch, context);
  return ops::log_probability(context, states, output.weights(), context.indices(rows))
      .to_doubles(context.backend());
}

}  // namespace

std::vector<std::vector<double>> score_batch(const DecodeWorkspace& decoding, const Batch& batch,
                                             std::span<const int32_t> allowed) {
  const ops::OutputWeights& all_tokens = decoding.model.output();
  OutputRows output = allowed.empty() ? OutputRows(all_tokens, decoding.backend)
                                      : OutputRows(all_tokens, allowed, decoding.backend);
  const std::vector<double> all = label_scores(decoding, batch, output, allowed);
  std::vector<std::vector<double>> scores;
  for (int i = 0; i < batch.target.rows.sequences(); ++i)
    scores.emplace_back(all.begin() + batch.target.rows.begin(i), all.begin() + batch.target.rows.begin(i + 1));
  return scores;
}

std::vector<std::vector<double>> score_targets(const DecodeWorkspace& decoding,
                                               const std::vector<std::vector<int32_t>>& sources,
                                               const std::vector<std::vector<int32_t>>& targets,
                                               int64_t batch_tokens, std::span<const int32_t> allowed) {
  require(sources.size() == targets.size(), "{} sources and {} targets to score", sources.size(),
          targets.size());
  const ModelConfig& config = decoding.model.config();
  require_encoder_and_decoder(config, "scoring");
  const int ids_per_row = config.source_ids_per_row();
  std::vector<std::vector<double>> scores;
  BatchBuilder builder;
  const auto flush = [&] {
    if (builder.batch().size() == 0) return;
    std::ranges::move(score_batch(decoding, builder.take(), allowed), std::back_inserter(scores));
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
