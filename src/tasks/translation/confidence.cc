#include "tasks/translation/confidence.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "metrics/calibration.h"
#include "metrics/chrf.h"
#include "metrics/significance.h"
#include "model/attention_weights.h"
#include "tasks/translation/settings.h"
#include "text/utf8.h"
#include "text/words.h"

namespace sixfold {
namespace {

using Features = std::array<double, confidence_features>;

/// The results of teacher forcing a translation, with its end token if it has one.
struct ForcedDecoding {
  std::vector<double> log_probabilities;  // of each target token after the forced prefix
  std::vector<double> attention;          // [target, source], averaged over the heads
  size_t source_tokens = 0, source_words = 0, target_words = 0;
};

std::vector<ForcedDecoding> teacher_force(const DecodeWorkspace& decoding, const Tokenizer& source,
                                          const Tokenizer& target, std::span<const ScoredPair> pairs,
                                          size_t forced) {
  const Transformer& model = decoding.model;
  const ModelConfig& config = model.config();
  const Batch batch = batch_of(pairs, config);
  Context context(decoding.backend, decoding.arena);
  Tensor states;
  const auto weights =
      attention_weights(model, batch, AttentionKind::cross, config.alignment_layer(), context, &states);
  const std::vector<double> scores =
      ops::log_probability(context, states, model.output(), context.indices(batch.labels))
          .to_doubles(context.backend());
  std::vector<ForcedDecoding> results;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const int number = static_cast<int>(i);
    const auto columns = static_cast<size_t>(batch.source.rows.length(number)),
               rows = static_cast<size_t>(batch.target.rows.length(number)), begin = std::min(forced, rows - 1);
    const auto first = scores.begin() + batch.target.rows.begin(number);
    ForcedDecoding& decoded = results.emplace_back();
    decoded.log_probabilities.assign(first + static_cast<ptrdiff_t>(begin),
                                     first + static_cast<ptrdiff_t>(rows));
    const size_t size = rows * columns, heads = weights[i].size() / size;
    std::vector<double> mean_of_heads(size);
    for (size_t at = 0; at < weights[i].size(); ++at)
      mean_of_heads[at % size] += static_cast<double>(weights[i][at]) / static_cast<double>(heads);
    decoded.attention.assign(mean_of_heads.begin() + static_cast<ptrdiff_t>(begin * columns),
                             mean_of_heads.end());
    decoded.source_tokens = columns;
    decoded.source_words = count_words(source.decode(pairs[i].source));
    decoded.target_words = count_words(target.decode(pairs[i].output.ids));
  }
  return results;
}

/// The entropy of a distribution, divided by the entropy of the uniform distribution.
double normalized_entropy(std::span<const double> distribution) {
  double sum = 0;
  for (const double p : distribution)
    if (p > 0) sum -= p * std::log(p);
  return distribution.size() > 1 ? sum / std::log(static_cast<double>(distribution.size())) : 0;
}

double log_ratio(size_t a, size_t b) {
  return std::log(static_cast<double>(std::max<size_t>(a, 1)) / static_cast<double>(std::max<size_t>(b, 1)));
}

/// In the order of the weights in config.json.
Features features_of(const ForcedDecoding& decoded) {
  const std::vector<double>& logs = decoded.log_probabilities;
  const size_t tokens = logs.size(), columns = decoded.source_tokens;
  double probability = 0;
  for (const double log : logs) probability += std::exp(log) / static_cast<double>(tokens);
  std::vector<double> entropies, coverage(columns);
  for (size_t t = 0; t < tokens; ++t) {
    const auto row = std::span(decoded.attention).subspan(t * columns, columns);
    entropies.push_back(normalized_entropy(row));
    for (size_t s = 0; s < columns; ++s) coverage[s] += row[s] / static_cast<double>(tokens);
  }
  return {mean_of(logs),
          std::ranges::min(logs),
          logs.front(),
          probability,
          probability * probability,
          std::log(static_cast<double>(columns)),
          log_ratio(tokens, columns),
          log_ratio(columns, decoded.source_words),  // rare words have many tokens
          log_ratio(tokens, decoded.target_words),
          mean_of(entropies),
          std::ranges::max(entropies),
          normalized_entropy(coverage)};
}

double confidence_of(const Features& features, std::span<const double> weights) {
  double sum = weights[0];
  for (size_t f = 0; f < features.size(); ++f) sum += weights[f + 1] * features[f];
  return std::clamp(sum, 0.0, 1.0);
}

/// Solves a x = b for a symmetric positive definite matrix [n, n] by Cholesky's decomposition.
std::vector<double> solve(std::vector<double> a, std::vector<double> b) {
  const size_t n = b.size();
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j <= i; ++j) {
      double sum = a[i * n + j];
      for (size_t k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
      a[i * n + j] = i == j ? std::sqrt(sum) : sum / a[j * n + j];
    }
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) b[i] -= a[i * n + k] * b[k];
    b[i] /= a[i * n + i];
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) b[i] -= a[k * n + i] * b[k];
    b[i] /= a[i * n + i];
  }
  return b;
}

/// Ridge regression on standardized features. Returns a constant, then the weights of the original features.
std::vector<double> regress(std::span<const Features> rows, std::span<const double> values) {
  constexpr size_t n = confidence_features;
  constexpr double penalty = 0.01;  // per row
  const auto count = static_cast<double>(rows.size());
  Features means{}, scales{};
  for (const Features& row : rows)
    for (size_t f = 0; f < n; ++f) means[f] += row[f] / count;
  for (const Features& row : rows)
    for (size_t f = 0; f < n; ++f) scales[f] += (row[f] - means[f]) * (row[f] - means[f]) / count;
  for (double& scale : scales) scale = scale > 1e-12 ? std::sqrt(scale) : 1;
  std::vector<double> products(n * n), sums(n);
  const double mean_value = mean_of(values);
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t f = 0; f < n; ++f) {
      const double standardized = (rows[i][f] - means[f]) / scales[f];
      sums[f] += standardized * (values[i] - mean_value);
      for (size_t g = 0; g < n; ++g) products[f * n + g] += standardized * (rows[i][g] - means[g]) / scales[g];
    }
  for (size_t f = 0; f < n; ++f) products[f * n + f] += penalty * count;
  const std::vector<double> solved = solve(std::move(products), std::move(sums));
  std::vector<double> weights{mean_value};
  for (size_t f = 0; f < n; ++f) {
    weights.push_back(solved[f] / scales[f]);
    weights[0] -= weights.back() * means[f];
  }
  return weights;
}

}  // namespace

std::vector<double> confidence_weights(const ModelRuntime& runtime, const ExtraOutputs& extra) {
  if (!extra.confidence) return {};
  require(!runtime.is_ensemble(),
          "confidence is fitted to a single model, and an ensemble has none; leave it out, or use one model");
  std::vector<double> weights = settings_of<TranslationSettings>(runtime.config()).confidence;
  require(!weights.empty(),
          "the model has no confidence: it was trained without enough validation text, imported, averaged, or "
          "made by an earlier version; 'sixfold confidence' fits it to a text with references");
  require(
      weights.size() == confidence_features + 1,
      "config.json of the model: translation.confidence has {} numbers, but this version has {}; fit it again "
      "with 'sixfold confidence'",
      weights.size(), confidence_features + 1);
  return weights;
}

std::vector<LineConfidence> confidences(const DecodeWorkspace& decoding, const Tokenizer& source,
                                        const Tokenizer& target, std::span<const ScoredPair> pairs,
                                        size_t forced, std::span<const double> weights) {
  std::vector<LineConfidence> found;
  for (const ForcedDecoding& decoded : teacher_force(decoding, source, target, pairs, forced))
    found.push_back({.value = confidence_of(features_of(decoded), weights),
                     .mean_log_probability = mean_of(decoded.log_probabilities),
                     .tokens = std::ssize(decoded.log_probabilities)});
  return found;
}

std::optional<LineConfidence> mean_confidence(std::span<const std::optional<LineConfidence>> parts) {
  LineConfidence sum;
  for (const auto& part : parts) {
    if (!part) continue;
    const auto tokens = static_cast<double>(part->tokens);
    sum.value += tokens * part->value;
    sum.mean_log_probability += tokens * part->mean_log_probability;
    sum.tokens += part->tokens;
  }
  if (sum.tokens == 0) return {};
  sum.value /= static_cast<double>(sum.tokens);
  sum.mean_log_probability /= static_cast<double>(sum.tokens);
  return sum;
}

std::vector<std::pair<const char*, std::optional<double>>> confidence_fields(
    const std::optional<LineConfidence>& confidence) {
  if (!confidence) return {{"confidence", {}}, {"mean_log_probability", {}}};
  return {{"confidence", confidence->value}, {"mean_log_probability", confidence->mean_log_probability}};
}

std::vector<double> fit_confidence(const DecodeWorkspace& decoding, const Tokenizers& tokenizers,
                                   const ReferencedText& text, SearchOptions options,
                                   const std::atomic<int>* stop) {
  const auto no_weights = [](const std::string& reason) {
    log_info("the model has no confidence of its translations: {}", reason);
    return std::vector<double>();
  };
  const std::vector<MeasuredLine> lines = measured_lines(text);
  if (lines.size() < min_measured_lines)
    return no_weights(fmt::format("fitting it needs {} lines of text with references; found {}",
                                  min_measured_lines, lines.size()));
  const std::vector<Hypothesis> outputs = translations_of(decoding, lines, options, stop);
  const size_t forced = options.rules.forced_first_token >= 0 ? 1 : 0;
  const Chrf chrf;
  std::vector<Features> rows;
  std::vector<double> quality, log_probabilities, predicted;
  for (size_t i = 0; i < lines.size(); ++i) {
    throw_if_stopped(stop);
    const ScoredPair pair{lines[i].source, outputs[i]};
    const ForcedDecoding decoded =
        teacher_force(decoding, *tokenizers.source, *tokenizers.target, {&pair, 1}, forced).front();
    rows.push_back(features_of(decoded));
    log_probabilities.push_back(mean_of(decoded.log_probabilities));
    const std::string output = replace_invalid_utf8(tokenizers.target->decode(outputs[i].ids)),
                      reference = text.reference(lines[i].number);
    quality.push_back(score_of_output(chrf, output, {&reference, 1}) / 100);
  }
  const auto baseline = correlation(log_probabilities, quality);
  if (!baseline) return no_weights("all translations of the text are equally likely, or equally good");
  std::vector<double> weights = regress(rows, quality);
  for (const Features& row : rows) predicted.push_back(confidence_of(row, weights));
  log_info(
      "confidence: fitted to {}; its correlation with their chrF is {:.3f}, that of the mean log-probability "
      "{:.3f}",
      counted(lines.size(), "line"), correlation(predicted, quality).value_or(0), *baseline);
  return weights;
}

}  // namespace sixfold
