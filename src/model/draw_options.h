#pragma once
#include <optional>

namespace sixfold {

class OptionVisitor;

/// The options of sampling: how a token is drawn from the distribution of a model. They are applied in the
/// order of the fields, as in Hugging Face's transformers.
struct DrawOptions {
  /// Divide the positive logits of tokens that have occurred by this, and multiply their negative ones by it
  /// (Keskar et al. 2019, CTRL); 1: no change.
  float repetition_penalty = 1;
  /// Divide all logits by this before the softmax; 0: always choose the likeliest token.
  float temperature = 1;
  int top_k = 0;  ///< keep only this many tokens, the likeliest; 0: all
  /// Then keep the smallest set of likeliest tokens with this total probability (nucleus sampling, Holtzman et
  /// al. 2020); 1: all.
  float top_p = 1;
  /// Then keep the tokens with at least this share of the probability of the likeliest one (Nguyen et al.
  /// 2024); 0: all.
  float min_p = 0;
};

/// The options of sampling that a call sets. The others are those that are stored with the model.
struct DrawChoice {
  std::optional<float> repetition_penalty, temperature;
  std::optional<int> top_k;
  std::optional<float> top_p, min_p;

  /// Returns `others` with the options that are set here.
  DrawOptions over(const DrawOptions& others) const {
    return {.repetition_penalty = repetition_penalty.value_or(others.repetition_penalty),
            .temperature = temperature.value_or(others.temperature),
            .top_k = top_k.value_or(others.top_k),
            .top_p = top_p.value_or(others.top_p),
            .min_p = min_p.value_or(others.min_p)};
  }
};

void visit(OptionVisitor& v, DrawOptions& o);
/// Visits all fields but `repetition_penalty`.
void visit_choice(OptionVisitor& v, DrawOptions& o);
void visit(OptionVisitor& v, DrawChoice& o);

}  // namespace sixfold
