#include "search/restricted_output.h"

#include <algorithm>
#include <limits>

namespace sixfold {
namespace {

std::vector<int32_t> suppressed_tokens(const ModelConfig& config, const GenerationConfig& rules) {
  std::vector<int32_t> tokens(rules.suppress_tokens.begin(), rules.suppress_tokens.end());
  if (config.bos >= 0 && config.bos != config.eos) tokens.push_back(config.bos);
  return tokens;
}

void insert(std::vector<int32_t>& sorted, int32_t id) {
  const auto place = std::lower_bound(sorted.begin(), sorted.end(), id);
  if (place == sorted.end() || *place != id) sorted.insert(place, id);
}

/// The bias of the output, minus infinity for some rows: softmax then gives them nothing.
Tensor bias_without(const ops::OutputWeights& output, const std::vector<int32_t>& rows,
                    const std::shared_ptr<Backend>& backend) {
  std::vector<float> values(static_cast<size_t>(output.weight.rows()));
  if (output.bias) values = output.bias.to_floats(*backend);
  for (const int32_t row : rows) values[static_cast<size_t>(row)] = -std::numeric_limits<float>::infinity();
  const DType dtype = output.weight.dtype() == DType::f64 ? DType::f64 : DType::f32;
  Tensor bias(lasting_memory(backend), 1, std::ssize(values), dtype);
  bias.copy_from(*backend, values);
  return bias;
}

}  // namespace

RestrictedOutput::RestrictedOutput(const ModelConfig& config, const GenerationConfig& rules,
                                   const ops::OutputWeights& output, const std::shared_ptr<Backend>& backend)
    : weights_(output), min_new_tokens_(rules.min_new_tokens) {
  restrict(config, rules, backend);
}

RestrictedOutput::RestrictedOutput(const ModelConfig& config, const GenerationConfig& rules,
                                   const ops::OutputWeights& output, const std::shared_ptr<Backend>& backend,
                                   std::vector<int32_t> ids, int k)
    : ids_(std::move(ids)), min_new_tokens_(rules.min_new_tokens) {
  insert(ids_, config.eos);
  const size_t suppressed = suppressed_tokens(config, rules).size() + (min_new_tokens_ > 0 ? 1 : 0);
  const size_t enough = std::min(static_cast<size_t>(config.target_vocab), static_cast<size_t>(k) + suppressed);
  for (int32_t id = 0; ids_.size() < enough; ++id) insert(ids_, id);
  weights_ = ops::select_outputs(backend, output, ids_);
  restrict(config, rules, backend);
}

void RestrictedOutput::restrict(const ModelConfig& config, const GenerationConfig& rules,
                                const std::shared_ptr<Backend>& backend) {
  eos_ = rows_of({config.eos}).front();
  std::vector<int32_t> tokens = suppressed_tokens(config, rules);
  long_enough_ = without(tokens, rules.renormalize_logits, backend);
  if (min_new_tokens_ == 0) return;
  tokens.push_back(config.eos);
  too_short_ = without(tokens, rules.renormalize_logits, backend);
}

RestrictedOutput::Restriction RestrictedOutput::without(const std::vector<int32_t>& tokens, bool renormalize,
                                                        const std::shared_ptr<Backend>& backend) const {
  Restriction restriction{weights_, rows_of(tokens)};
  if (renormalize && !restriction.suppressed.empty())
    restriction.weights.bias = bias_without(weights_, restriction.suppressed, backend);
  return restriction;
}

/// Of those that are there.
std::vector<int32_t> RestrictedOutput::rows_of(const std::vector<int32_t>& tokens) const {
  if (ids_.empty()) return tokens;
  std::vector<int32_t> rows;
  for (const int32_t id : tokens)
    if (const auto found = std::lower_bound(ids_.begin(), ids_.end(), id); found != ids_.end() && *found == id)
      rows.push_back(static_cast<int32_t>(found - ids_.begin()));
  return rows;
}

ops::Candidates RestrictedOutput::top_k(Context& context, const Tensor& states, int k, int length) const {
  const Restriction& restriction = may_end(length) ? long_enough_ : too_short_;
  ops::Candidates best = ops::top_k(context, states, restriction.weights, k, restriction.suppressed);
  if (!ids_.empty())
    for (int32_t& id : best.ids) id = ids_[static_cast<size_t>(id)];
  return best;
}

std::vector<float> RestrictedOutput::log_probability_of_end(Context& context, const Tensor& states) const {
  const std::vector<int32_t> end(static_cast<size_t>(states.rows()), eos_);
  return ops::log_probability(context, states, weights_, context.indices(end)).to_floats(context.backend());
}

}  // namespace sixfold
