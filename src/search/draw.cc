#include "search/draw.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sixfold {
namespace {

constexpr float banned_logit = -std::numeric_limits<float>::infinity(),
                largest_float = std::numeric_limits<float>::max();

/// Whether no logit is NaN or +infinity.
bool are_numbers(std::span<const float> logits) {
  return std::ranges::all_of(logits, [](float logit) { return logit <= largest_float; });
}

void penalize(std::span<float> logits, float penalty, std::span<const int32_t> before) {
  for (const int32_t id : before) {
    float& logit = logits[static_cast<size_t>(id)];
    logit = std::clamp(logit > 0 ? logit / penalty : logit * penalty, -largest_float, largest_float);
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

/// The tokens that may be chosen, in the order of their ids, with their weights.
std::vector<Choice> choices_of(std::span<const float> logits, float temperature) {
  std::vector<Choice> choices;
  const auto largest = static_cast<double>(*std::ranges::max_element(logits));
  for (size_t id = 0; id < logits.size(); ++id)
    if (logits[id] > banned_logit)
      choices.push_back(
          {static_cast<int32_t>(id), logits[id],
           std::exp((static_cast<double>(logits[id]) - largest) / static_cast<double>(temperature))});
  return choices;
}

/// Keeps the `count` likeliest choices, likeliest first.
void keep_likeliest(std::vector<Choice>& choices, size_t count) {
  count = std::min(count, choices.size());
  std::ranges::partial_sort(choices, choices.begin() + static_cast<std::ptrdiff_t>(count), is_likelier);
  choices.resize(count);
}

double sum_of(std::span<const Choice> choices) {
  double sum = 0;
  for (const Choice& choice : choices) sum += choice.weight;
  return sum;
}

/// Keeps the likeliest choices, as few as together have the share `top_p` of all weights. Usually these are
/// few, so that only the first choices are sorted.
void keep_share(std::vector<Choice>& choices, double top_p) {
  const double target = top_p * sum_of(choices);
  for (size_t sorted = 64;; sorted *= 8) {
    const size_t count = std::min(sorted, choices.size());
    std::ranges::partial_sort(choices, choices.begin() + static_cast<std::ptrdiff_t>(count), is_likelier);
    double reached = 0;
    for (size_t kept = 1; kept <= count; ++kept) {
      reached += choices[kept - 1].weight;
      if (reached >= target || kept == choices.size()) return choices.resize(kept);
    }
  }
}

int32_t choose(std::span<const Choice> choices, double uniform) {
  double left = uniform * sum_of(choices);
  int32_t chosen = -1;
  for (const Choice& choice : choices) {
    if (choice.weight > 0)
      chosen = choice.id;  // if rounding errors leave `left` at 0 or more, the last one is chosen
    left -= choice.weight;
    if (left < 0) break;
  }
  return chosen;
}

}  // namespace

double log_sum_exp(std::span<const float> logits) {
  const double largest = *std::ranges::max_element(logits);
  if (largest == -std::numeric_limits<double>::infinity()) return 0;
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
  return largest + std::log(sum);
}

Drawn draw(std::span<float> logits, const DrawOptions& options, std::span<const int32_t> before,
           std::span<const int32_t> banned, double uniform) {
  if (!are_numbers(logits)) return {};
  const double normalizer = log_sum_exp(logits);
  const std::vector<float> model_logits(logits.begin(), logits.end());
  if (options.repetition_penalty != 1) penalize(logits, options.repetition_penalty, before);
  for (const int32_t id : banned) logits[static_cast<size_t>(id)] = banned_logit;
  if (std::ranges::max(logits) == banned_logit) return {.id = all_tokens_banned};
  const auto drawn = [&](int32_t id) -> Drawn {
    return {id, static_cast<double>(model_logits[static_cast<size_t>(id)]) - normalizer};
  };
  if (options.temperature == 0)  // greedy search: the first of the likeliest
    return drawn(static_cast<int32_t>(std::ranges::max_element(logits) - logits.begin()));
  std::vector<Choice> choices = choices_of(logits, options.temperature);
  if (options.top_k > 0) keep_likeliest(choices, static_cast<size_t>(options.top_k));
  if (options.top_p < 1) keep_share(choices, static_cast<double>(options.top_p));
  // The weight of the likeliest is 1.
  std::erase_if(choices,
                [&](const Choice& choice) { return choice.weight < static_cast<double>(options.min_p); });
  return drawn(choose(choices, uniform));
}

std::vector<Drawn> likeliest(std::span<const float> logits, int count) {
  if (count == 0 || !are_numbers(logits)) return {};
  const double normalizer = log_sum_exp(logits);
  std::vector<Choice> choices = choices_of(logits, 1);
  keep_likeliest(choices, static_cast<size_t>(count));
  std::vector<Drawn> drawn;
  for (const Choice& choice : choices)
    drawn.push_back({choice.id, static_cast<double>(choice.logit) - normalizer});
  return drawn;
}

}  // namespace sixfold
