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

constexpr size_t most_lines = 1000, fewest_lines = 200, most_tokens = 30'000;
/// Tokens of sources and translations in a batch, and tokens that are searched at once.
constexpr int64_t batch_tokens = 2048;

/// What the model computes when it reads a source and its translation, with the end token if there is one.
struct Reading {
  std::vector<double> log_probabilities;  // of each token of the translation that is not forced
  std::vector<double> attention;          // [target, source], the mean of the heads
  size_t source_tokens = 0, source_words = 0, target_words = 0;
};

std::vector<Reading> read_pairs(const DecodeWorkspace& decoding, const Tokenizer& source,
                                const Tokenizer& target, std::span<const ScoredPair> pairs, size_t forced) {
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
  std::vector<Reading> readings;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const int number = static_cast<int>(i);
    const auto columns = static_cast<size_t>(batch.source.rows.length(number)),
               rows = static_cast<size_t>(batch.target.rows.length(number)), begin = std::min(forced, rows - 1);
    const auto first = scores.begin() + batch.target.rows.begin(number);
    Reading& reading = readings.emplace_back();
    reading.log_probabilities.assign(first + static_cast<ptrdiff_t>(begin),
                                     first + static_cast<ptrdiff_t>(rows));
    const size_t size = rows * columns, heads = weights[i].size() / size;
    std::vector<double> mean_of_heads(size);
    for (size_t at = 0; at < weights[i].size(); ++at)
      mean_of_heads[at % size] += static_cast<double>(weights[i][at]) / static_cast<double>(heads);
    reading.attention.assign(mean_of_heads.begin() + static_cast<ptrdiff_t>(begin * columns),
                             mean_of_heads.end());
    reading.source_tokens = columns;
    reading.source_words = count_words(source.decode(pairs[i].source));
    reading.target_words = count_words(target.decode(pairs[i].output.ids));
  }
  return readings;
}

/// The entropy of shares that add up to 1, divided by the largest that there can be.
double entropy(std::span<const double> shares) {
  double sum = 0;
  for (const double share : shares)
    if (share > 0) sum -= share * std::log(share);
  return shares.size() > 1 ? sum / std::log(static_cast<double>(shares.size())) : 0;
}

double log_ratio(size_t a, size_t b) {
  return std::log(static_cast<double>(std::max<size_t>(a, 1)) / static_cast<double>(std::max<size_t>(b, 1)));
}

/// In the order of the weights in config.json.
Features features_of(const Reading& reading) {
  const std::vector<double>& logs = reading.log_probabilities;
  const size_t tokens = logs.size(), columns = reading.source_tokens;
  double probability = 0;
  for (const double one : logs) probability += std::exp(one) / static_cast<double>(tokens);
  std::vector<double> entropies, covered(columns);
  for (size_t t = 0; t < tokens; ++t) {
    const auto row = std::span(reading.attention).subspan(t * columns, columns);
    entropies.push_back(entropy(row));
    for (size_t s = 0; s < columns; ++s) covered[s] += row[s] / static_cast<double>(tokens);
  }
  return {mean_of(logs),
          std::ranges::min(logs),
          logs.front(),
          probability,
          probability * probability,
          std::log(static_cast<double>(columns)),
          log_ratio(tokens, columns),
          log_ratio(columns, reading.source_words),  // words of many tokens are rare ones
          log_ratio(tokens, reading.target_words),
          mean_of(entropies),
          std::ranges::max(entropies),
          entropy(covered)};
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

/// Ridge regression of standardised features: a constant, then the weights of the features as they are.
std::vector<double> regress(std::span<const Features> rows, std::span<const double> values) {
  constexpr size_t n = confidence_features;
  constexpr double penalty = 0.01;  // for each row
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
      const double own = (rows[i][f] - means[f]) / scales[f];
      sums[f] += own * (values[i] - mean_value);
      for (size_t g = 0; g < n; ++g) products[f * n + g] += own * (rows[i][g] - means[g]) / scales[g];
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

void require_running(const std::atomic<int>* stop) {
  if (stop && stop->load() != 0) throw Cancelled();
}

/// A line of a text, and how the encoder reads it.
struct ChosenLine {
  size_t number = 0;
  std::vector<int32_t> source;
};

/// Lines that are spread over a text.
std::vector<ChosenLine> chosen_lines(const ReferencedText& text) {
  const size_t wanted = std::min(text.lines, most_lines);
  std::vector<ChosenLine> lines;
  size_t tokens = 0;
  for (size_t i = 0; i < wanted; ++i) {
    const size_t number = i * text.lines / wanted;
    ChosenLine line{number, text.source(number)};
    tokens += line.source.size();
    if (tokens > most_tokens) break;
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

std::vector<double> confidence_weights(const ModelRuntime& open, const ExtraOutputs& wanted) {
  if (!wanted.confidence) return {};
  std::vector<double> weights = settings_of<TranslationSettings>(open.config()).confidence;
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
  for (const Reading& reading : read_pairs(decoding, source, target, pairs, forced))
    found.push_back({.value = confidence_of(features_of(reading), weights),
                     .mean_log_probability = mean_of(reading.log_probabilities),
                     .tokens = std::ssize(reading.log_probabilities)});
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

int64_t fit_tokens(const ReferencedText& text, int beam_size) {
  const std::vector<ChosenLine> lines = chosen_lines(text);
  if (lines.size() < fewest_lines) return 0;
  int64_t tokens = 0;
  for (const ChosenLine& line : lines) tokens += std::ssize(line.source);
  return (1 + beam_size) * tokens;
}

std::vector<double> fit_confidence(const DecodeWorkspace& decoding, const Tokenizers& tokenizers,
                                   const ReferencedText& text, SearchOptions how,
                                   const std::atomic<int>* stop) {
  const auto none = [](const std::string& why) {
    log_info("the model has no confidence of its translations: {}", why);
    return std::vector<double>();
  };
  const std::vector<ChosenLine> lines = chosen_lines(text);
  if (lines.size() < fewest_lines)
    return none(
        fmt::format("fitting it needs {} lines of text with references; found {}", fewest_lines, lines.size()));
  how.n_best = 1;
  how.batch_tokens = batch_tokens;
  constexpr size_t at_once = 50;  // lines, between two looks at `stop`
  std::vector<Hypothesis> outputs(lines.size());
  for (size_t begin = 0; begin < lines.size(); begin += at_once) {
    require_running(stop);
    std::vector<std::vector<int32_t>> sources;
    for (size_t i = begin; i < std::min(begin + at_once, lines.size()); ++i) sources.push_back(lines[i].source);
    search(decoding, sources, how,
           [&](size_t i, std::vector<Hypothesis> found) { outputs[begin + i] = std::move(found.front()); });
  }
  const size_t forced = how.rules.forced_first_token >= 0 ? 1 : 0;
  const Chrf chrf;
  std::vector<Features> rows;
  std::vector<double> quality, log_probabilities, predicted;
  for (size_t i = 0; i < lines.size(); ++i) {
    require_running(stop);
    const ScoredPair pair{lines[i].source, outputs[i]};
    const Reading reading =
        read_pairs(decoding, *tokenizers.source, *tokenizers.target, {&pair, 1}, forced).front();
    rows.push_back(features_of(reading));
    log_probabilities.push_back(mean_of(reading.log_probabilities));
    const std::string output = replace_invalid_utf8(tokenizers.target->decode(outputs[i].ids)),
                      reference = text.reference(lines[i].number);
    quality.push_back(score_of_output(chrf, output, {&reference, 1}) / 100);
  }
  const auto by_probability = correlation(log_probabilities, quality);
  if (!by_probability) return none("all translations of the text are equally likely, or equally good");
  std::vector<double> weights = regress(rows, quality);
  for (const Features& row : rows) predicted.push_back(confidence_of(row, weights));
  log_info(
      "confidence: fitted to {}; its correlation with their chrF is {:.3f}, that of the mean log-probability "
      "{:.3f}",
      counted(lines.size(), "line"), correlation(predicted, quality).value_or(0), *by_probability);
  return weights;
}

}  // namespace sixfold
