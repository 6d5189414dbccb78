#include "tasks/kit/decoding_scores.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "model/decoding_state.h"
#include "runtime/search.h"
#include "search/beam.h"

namespace sixfold {
namespace {

/// The size in bytes of a key-value cache that has held this many rows. Its capacity doubles when it is full,
/// one layer after the other.
int64_t cache_bytes(const ModelConfig& config, int64_t rows) {
  int64_t capacity = RowStore::min_rows;
  while (capacity < rows) capacity *= 2;
  const Architecture a = config.of_decoder();
  const int64_t row = int64_t{a.key_value_heads()} * (a.key_width() + a.value_width()) * int64_t{sizeof(float)};
  return row * (capacity * a.decoder_layers + capacity / 2);
}

}  // namespace

int64_t ScoredDecoding::tokens() const {
  const int64_t default_tokens = SearchOptions{}.batch_tokens;
  return part_tokens > 0 ? std::min(default_tokens, part_tokens) : default_tokens;
}

std::vector<std::vector<int32_t>> decode_outputs(const Transformer& model,
                                                 const std::vector<std::vector<int32_t>>& sources,
                                                 std::span<const std::string> references,
                                                 const ScoredDecoding& options, const EvaluationRun& run,
                                                 OutputFacts& facts) {
  const auto rank = static_cast<size_t>(run.processes.rank()), size = static_cast<size_t>(run.processes.size());
  std::vector<std::vector<int32_t>> local_sources;
  for (size_t i = rank; i < sources.size(); i += size) local_sources.push_back(sources[i]);
  SearchOptions search_options{.rules = model.config().generation, .batch_tokens = options.tokens()};
  search_options.rules.beam_size = options.beam_size;
  std::vector<std::string> local_outputs(local_sources.size());
  DecodeWorkspace decoding(model);
  decoding.arena = run.arena;
  GenerationConfig unlimited = search_options.rules;
  const bool limits_length = std::exchange(unlimited.max_new_tokens, 0) > 0;
  const auto model_limit = [&](int source_tokens) { return max_output_length(unlimited, source_tokens); };
  search(decoding, local_sources, search_options, [&](size_t i, const std::vector<Hypothesis>& found) {
    std::vector<int32_t> ids = found[0].ids;
    // An output that only generation.max_new_tokens has ended may be as it should be.
    const bool is_short = std::ssize(found[0].ids) + 1 < model_limit(static_cast<int>(local_sources[i].size()));
    const bool has_end = found[0].reason == FinishReason::end_token || (limits_length && is_short);
    ids.push_back(!has_end || ends_in_a_loop(found[0].ids));
    local_outputs[i].assign(reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(int32_t));
  });
  std::vector<std::vector<int32_t>> outputs;
  for (const std::string& bytes : run.processes.interleave(local_outputs)) {
    auto& ids = outputs.emplace_back(bytes.size() / sizeof(int32_t));
    std::memcpy(ids.data(), bytes.data(), bytes.size());
    const bool endless = ids.back() != 0;
    ids.pop_back();
    facts.add(sources[outputs.size() - 1], ids, references[outputs.size() - 1], endless);
  }
  return outputs;
}

int64_t decoding_bytes(const ModelConfig& config, int64_t sources,
                       const std::function<int64_t(int64_t)>& source_tokens, const ScoredDecoding& options) {
  const int64_t budget = options.tokens() / options.beam_size;
  int64_t source = 0, target = 0, max_source = 0, max_target = 0;
  for (int64_t i = 0; i < sources; ++i) {
    const int64_t tokens = source_tokens(i);
    if (source + tokens > budget) source = target = 0;
    source += tokens;
    target += options.beam_size * max_output_length(config.generation, static_cast<int>(tokens));
    max_source = std::max(max_source, source);
    max_target = std::max(max_target, target);
  }
  return cache_bytes(config, max_source) + cache_bytes(config, max_target);
}

}  // namespace sixfold
