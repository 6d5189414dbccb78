#include "infer/answer_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "text/utf8.h"

namespace sixfold {
namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

/// Whether a byte continues a character of well-formed UTF-8.
bool continues(std::string_view text, size_t byte) {
  return byte < text.size() && (static_cast<unsigned char>(text[byte]) & 0xC0) == 0x80;
}

/// The characters that have bytes [begin, end), without white space at both ends.
FoundSpan characters_of(std::string_view text, size_t begin, size_t end) {
  if (begin == end) return {begin, end};
  while (continues(text, begin)) --begin;
  while (continues(text, end)) ++end;
  const std::string_view inner = trim_spaces(text.substr(begin, end - begin));
  if (inner.empty()) return {begin, begin};
  begin = static_cast<size_t>(inner.data() - text.data());
  return {begin, begin + inner.size()};
}

double log_sum_exp(const std::vector<double>& values) {
  const double largest = *std::ranges::max_element(values);
  double sum = 0;
  for (const double value : values) sum += std::exp(value - largest);
  return largest + std::log(sum);
}

void keep_largest(std::vector<double>& best, const std::vector<double>& values, int32_t begin) {
  for (size_t i = 0; i < values.size(); ++i) {
    double& kept = best[static_cast<size_t>(begin) + i];
    kept = std::max(kept, values[i]);
  }
}

}  // namespace

LocatedText::LocatedText(std::string whole, std::vector<LocatedToken> located)
    : text(std::move(whole)), tokens(std::move(located)) {
  for (const LocatedToken& token : tokens) {
    const FoundSpan inner = characters_of(text, token.begin, token.end);
    ids.push_back(token.id);
    visible.push_back(
        has_visible_character(std::string_view(text).substr(inner.begin, inner.end - inner.begin)));
  }
}

int64_t AnswerReader::add(std::shared_ptr<const LocatedText> text, std::span<const int32_t> question) {
  const QuestionWindows windows(options_, std::ssize(question), std::ssize(text->tokens));
  const size_t first = scores_.size();
  for (int64_t i = 0; i < windows.size(); ++i) {
    if (builder_.batch().tokens() + windows.tokens(i) > batch_tokens_ && builder_.batch().size() > 0)
      batches_.push_back(builder_.take());
    builder_.sample(static_cast<int32_t>(scores_.size()));
    windows.add(i, question, text->ids, builder_);
    scores_.emplace_back();
  }
  asked_.push_back({std::move(text), windows, first});
  return windows.cut();
}

std::vector<Batch> AnswerReader::take_batches() {
  if (builder_.batch().size() > 0) batches_.push_back(builder_.take());
  return std::exchange(batches_, {});
}

void AnswerReader::read(const Transformer& model, const Batch& batch, Context& context) {
  const std::vector<double> logits =
      ops::logits(context, model.head_input(batch, context), model.output()).to_doubles(context.backend());
  for (size_t i = 0; i < batch.choices.size(); ++i) {
    Scores& scores = scores_[static_cast<size_t>(batch.samples[i])];
    for (int32_t row = batch.choices[i].begin; row < batch.choices[i].end; ++row) {
      scores.start.push_back(logits[2 * static_cast<size_t>(row)]);
      scores.end.push_back(logits[2 * static_cast<size_t>(row) + 1]);
    }
  }
}

std::optional<FoundSpan> AnswerReader::answer(size_t i) const {
  const Asked& asked = asked_[i];
  const LocatedText& text = *asked.text;
  std::vector<double> starts(text.tokens.size(), minus_infinity), ends = starts;
  double best = minus_infinity;
  size_t first = 0, last = 0;
  const std::span<const Scores> windows = scores_of(asked);
  for (size_t w = 0; w < windows.size(); ++w) {
    const auto& [start, end] = windows[w];
    const auto broken = [](double score) { return !std::isfinite(score); };
    if (std::ranges::any_of(start, broken) || std::ranges::any_of(end, broken))
      return FoundSpan{.probability = std::numeric_limits<double>::quiet_NaN()};
    const int32_t begin = asked.windows.window(static_cast<int64_t>(w)).begin;
    keep_largest(starts, start, begin);
    keep_largest(ends, end, begin);
    const auto visible = [&](size_t token) { return text.visible[static_cast<size_t>(begin) + token]; };
    for (size_t a = 0; a < start.size(); ++a)
      for (size_t b = a; visible(a) && b < std::min(end.size(), a + static_cast<size_t>(max_answer_tokens_));
           ++b)
        if (visible(b) && start[a] + end[b] > best) {
          best = start[a] + end[b];
          first = static_cast<size_t>(begin) + a, last = static_cast<size_t>(begin) + b;
        }
  }
  if (best == minus_infinity) return std::nullopt;
  FoundSpan found = characters_of(text.text, text.tokens[first].begin, text.tokens[last].end);
  found.probability = std::exp(best - log_sum_exp(starts) - log_sum_exp(ends));
  return found;
}

}  // namespace sixfold
