#include "tasks/kit/decoding_scores.h"

#include <algorithm>
#include <cstring>

#include "model/decoding_state.h"
#include "runtime/search.h"
#include "search/beam.h"

namespace sixfold {
namespace {

/// The bytes of a pool of keys and values that has held this many rows. Its capacity doubles when it is full,
/// one layer after the other.
int64_t pool_bytes(const ModelConfig& config, int64_t rows) {
  int64_t held = RowStore::min_rows;
  while (held < rows) held *= 2;
  const int64_t row =
      int64_t{config.heads} * (config.key_width() + config.value_width()) * int64_t{sizeof(float)};
  return row * (held * config.decoder_layers + held / 2);
}

}  // namespace

int64_t ScoredDecoding::tokens() const {
  const int64_t usual = SearchOptions{}.batch_tokens;
  return part_tokens > 0 ? std::min(usual, part_tokens) : usual;
}

std::vector<std::vector<int32_t>> decode_outputs(const Transformer& model,
                                                 const std::vector<std::vector<int32_t>>& sources,
                                                 const ScoredDecoding& how, const EvaluationRun& run,
                                                 OutputFacts& facts) {
  const auto rank = static_cast<size_t>(run.processes.rank()), size = static_cast<size_t>(run.processes.size());
  std::vector<std::vector<int32_t>> own;
  for (size_t i = rank; i < sources.size(); i += size) own.push_back(sources[i]);
  SearchOptions options{.rules = model.config().generation, .batch_tokens = how.tokens()};
  options.rules.beam_size = how.beam_size;
  std::vector<std::string> found_by_us(own.size());
  DecodeWorkspace decoding(model);
  decoding.arena = run.arena;
  search(decoding, own, options, [&](size_t i, const std::vector<Hypothesis>& found) {
    std::vector<int32_t> ids = found[0].ids;
    ids.push_back(found[0].reason != FinishReason::end_token || ends_in_a_loop(found[0].ids));
    found_by_us[i].assign(reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(int32_t));
  });
  std::vector<std::vector<int32_t>> outputs;
  for (const std::string& bytes : run.processes.interleave(found_by_us)) {
    auto& ids = outputs.emplace_back(bytes.size() / sizeof(int32_t));
    std::memcpy(ids.data(), bytes.data(), bytes.size());
    const bool endless = ids.back() != 0;
    ids.pop_back();
    facts.add(sources[outputs.size() - 1], ids, endless);
  }
  return outputs;
}

int64_t decoding_bytes(const ModelConfig& config, int64_t sources,
                       const std::function<int64_t(int64_t)>& source_tokens, const ScoredDecoding& how) {
  const int64_t budget = how.tokens() / how.beam_size;
  int64_t source = 0, target = 0, most_source = 0, most_target = 0;
  for (int64_t i = 0; i < sources; ++i) {
    const int64_t tokens = source_tokens(i);
    if (source + tokens > budget) source = target = 0;
    source += tokens;
    target += how.beam_size * max_output_length(config.generation, static_cast<int>(tokens));
    most_source = std::max(most_source, source);
    most_target = std::max(most_target, target);
  }
  return pool_bytes(config, most_source) + pool_bytes(config, most_target);
}

}  // namespace sixfold
