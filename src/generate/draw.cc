#include "generate/draw.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace sixfold {
namespace {

constexpr float never = -std::numeric_limits<float>::infinity();

/// log(sum(exp(logits))), added in order.
double log_sum(std::span<const float> logits) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
  return largest + std::log(sum);
}

void penalize(std::span<float> logits, float penalty, std::span<const int32_t> before) {
  std::vector<int32_t> once(before.begin(), before.end());
  std::sort(once.begin(), once.end());
  once.erase(std::unique(once.begin(), once.end()), once.end());
  for (const int32_t id : once) {
    float& logit = logits[static_cast<size_t>(id)];
    logit = logit > 0 ? logit / penalty : logit * penalty;
  }
}

/// A token that may be chosen, with its weight: its probability times a constant.
struct Choice {
  int32_t id;
  float logit;
  double weight = 0;
};

bool is_likelier(const Choice& a, const Choice& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

/// The tokens to choose among, likeliest first.
std::vector<Choice> choices_of(std::span<const float> logits, int top_k) {
  std::vector<Choice> choices;
  for (size_t id = 0; id < logits.size(); ++id)
    if (logits[id] > never) choices.push_back({static_cast<int32_t>(id), logits[id]});
  const auto most = top_k > 0 ? std::min(choices.size(), static_cast<size_t>(top_k)) : choices.size();
  std::ranges::partial_sort(choices, choices.begin() + static_cast<std::ptrdiff_t>(most), is_likelier);
  choices.resize(most);
  return choices;
}

/// Removes the choices beyond `top_p` and below `min_p`.
void restrict_choices(std::vector<Choice>& choices, const DrawOptions& options) {
  double sum = 0;
  for (const Choice& choice : choices) sum += choice.weight;
  size_t kept = choices.size();
  if (options.top_p < 1) {
    double reached = 0;
    for (kept = 0; kept < choices.size() && (kept == 0 || reached < static_cast<double>(options.top_p) * sum);
         ++kept)
      reached += choices[kept].weight;
  }
  const double least = static_cast<double>(options.min_p) * choices.front().weight;
  while (kept > 1 && choices[kept - 1].weight < least) --kept;
  choices.resize(kept);
}

int32_t choose(const std::vector<Choice>& choices, double uniform) {
  double sum = 0;
  for (const Choice& choice : choices) sum += choice.weight;
  double left = uniform * sum;
  for (const Choice& choice : choices) {
    left -= choice.weight;
    if (left < 0) return choice.id;
  }
  return choices.back().id;  // where rounding has left a little
}

}  // namespace

Drawn draw(std::span<float> logits, const DrawOptions& options, std::span<const int32_t> before,
           std::span<const int32_t> banned, double uniform) {
  for (const float logit : logits)
    if (std::isnan(logit)) return {};
  const double normalizer = log_sum(logits);
  const std::vector<float> own(logits.begin(), logits.end());
  if (options.repetition_penalty != 1) penalize(logits, options.repetition_penalty, before);
  for (const int32_t id : banned) logits[static_cast<size_t>(id)] = never;
  const bool greedy = options.temperature == 0;
  std::vector<Choice> choices = choices_of(logits, greedy ? 1 : options.top_k);
  if (choices.empty()) return {};
  const auto temperature = static_cast<double>(greedy ? 1 : options.temperature);
  const auto largest = static_cast<double>(choices.front().logit);
  for (Choice& choice : choices)
    choice.weight = std::exp((static_cast<double>(choice.logit) - largest) / temperature);
  restrict_choices(choices, options);
  const int32_t id = choose(choices, uniform);
  return {id, static_cast<double>(own[static_cast<size_t>(id)]) - normalizer};
}

void validate(const DrawOptions& o) {
  const auto check = [](bool fits, const char* name, float value, const char* expected) {
    require(fits, "{} is {}; it must be {}", name, value, expected);
  };
  check(o.temperature >= 0 && std::isfinite(o.temperature), "temperature", o.temperature, "at least 0");
  check(o.repetition_penalty > 0 && std::isfinite(o.repetition_penalty), "repetition_penalty",
        o.repetition_penalty, "above 0");
  require(o.top_k >= 0, "top_k is {}; it must be at least 0 (0: all tokens)", o.top_k);
  check(o.top_p > 0 && o.top_p <= 1, "top_p", o.top_p, "above 0 and at most 1");
  check(o.min_p >= 0 && o.min_p < 1, "min_p", o.min_p, "at least 0 and below 1");
}

}  // namespace sixfold
