#include "tasks/question_answering/answer_reader.h"

#include <algorithm>
#include <cmath>
#include <iterator>
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

void keep_largest(std::vector<double>& best, std::span<const double> values, int32_t begin) {
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

int64_t AnswerReader::add(std::shared_ptr<const LocatedText> text, std::vector<int32_t> question) {
  const QuestionWindows windows(options_, std::ssize(question), std::ssize(text->tokens));
  const std::vector<double> lowest(text->tokens.size(), minus_infinity);
  questions_.push_back({std::move(text), std::move(question), windows, windows_, lowest, lowest});
  windows_ += windows.size();
  return windows.cut();
}

std::vector<Batch> AnswerReader::next_batches(size_t max_batches) {
  std::vector<Batch> batches;
  for (; next_ < questions_.size(); ++next_, next_window_ = 0) {
    const Question& question = questions_[next_];
    for (; next_window_ < question.windows.size(); ++next_window_) {
      if (builder_.batch().size() > 0 &&
          builder_.batch().tokens() + question.windows.tokens(next_window_) > batch_tokens_)
        batches.push_back(builder_.take());
      if (batches.size() == max_batches) return batches;
      builder_.sample(static_cast<int32_t>(question.first_window + next_window_));
      question.windows.add(next_window_, question.ids, question.text->ids, builder_);
    }
  }
  if (builder_.batch().size() > 0) batches.push_back(builder_.take());
  return batches;
}

/// The best span of a window; the first of several.
AnswerReader::Span AnswerReader::best_span(const Question& question, int64_t window,
                                           std::span<const double> starts, std::span<const double> ends) const {
  Span best{.window = window};
  const auto begin = static_cast<size_t>(question.windows.window(window).begin);
  const auto visible = [&](size_t token) { return question.text->visible[begin + token]; };
  for (size_t a = 0; a < starts.size(); ++a)
    for (size_t b = a; visible(a) && b < std::min(ends.size(), a + static_cast<size_t>(max_answer_tokens_));
         ++b)
      if (visible(b) && starts[a] + ends[b] > best.score)
        best = {starts[a] + ends[b], window, begin + a, begin + b};
  return best;
}

/// Keeps the scores of a window that the answer depends on. The order of the windows does not matter.
void AnswerReader::keep(Question& question, int64_t window, std::span<const double> starts,
                        std::span<const double> ends) {
  const auto broken = [](double score) { return !std::isfinite(score); };
  const bool finite = std::ranges::none_of(starts, broken) && std::ranges::none_of(ends, broken);
  const Span best = finite ? best_span(question, window, starts, ends) : Span();
  const std::scoped_lock lock(*mutex_);
  question.finite &= finite;
  if (!finite) return;
  const int32_t begin = question.windows.window(window).begin;
  keep_largest(question.starts, starts, begin);
  keep_largest(question.ends, ends, begin);
  if (best.score > question.best.score ||
      (best.score == question.best.score && best.window < question.best.window))
    question.best = best;
}

void AnswerReader::read(const Transformer& model, const Batch& batch, Context& context) {
  const std::vector<double> logits =
      ops::logits(context, model.head_input(batch, context), model.output()).to_doubles(context.backend());
  for (size_t i = 0; i < batch.choices.size(); ++i) {
    const int64_t number = batch.samples[i];
    Question& question = *std::prev(std::ranges::upper_bound(questions_, number, {}, &Question::first_window));
    std::vector<double> starts, ends;
    for (int32_t row = batch.choices[i].begin; row < batch.choices[i].end; ++row) {
      starts.push_back(logits[2 * static_cast<size_t>(row)]);
      ends.push_back(logits[2 * static_cast<size_t>(row) + 1]);
    }
    keep(question, number - question.first_window, starts, ends);
  }
}

std::optional<FoundSpan> AnswerReader::answer(size_t i) const {
  const Question& question = questions_[i];
  const LocatedText& text = *question.text;
  if (!question.finite) return FoundSpan{.probability = std::numeric_limits<double>::quiet_NaN()};
  if (question.best.score == minus_infinity) return std::nullopt;
  FoundSpan found =
      characters_of(text.text, text.tokens[question.best.first].begin, text.tokens[question.best.last].end);
  found.probability = std::exp(question.best.score - log_sum_exp(question.starts) - log_sum_exp(question.ends));
  return found;
}

}  // namespace sixfold
