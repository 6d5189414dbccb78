#include "data/question_windows.h"

#include <algorithm>

namespace sixfold {

QuestionWindows::QuestionWindows(const WindowOptions& options, int64_t question_tokens, int64_t text_tokens)
    : options_(options), text_tokens_(text_tokens) {
  const int64_t special = (options.bos >= 0 ? 2 : 1) + options.separators,
                max_tokens = options.tokens - special;
  const int64_t question_kept = std::min(question_tokens, max_tokens / 2);
  cut_ = question_tokens - question_kept;
  before_ = question_kept + special - 1;
  window_tokens_ = max_tokens - question_kept;
  step_ = std::clamp<int64_t>(options.stride, 1, std::max<int64_t>(window_tokens_ / 2, 1));
  if (text_tokens > 0) count_ = 1 + (std::max<int64_t>(text_tokens - window_tokens_, 0) + step_ - 1) / step_;
}

RowRange QuestionWindows::window(int64_t i) const {
  const int64_t begin = i * step_;
  return {static_cast<int32_t>(begin), static_cast<int32_t>(std::min(begin + window_tokens_, text_tokens_))};
}

void QuestionWindows::add(int64_t i, std::span<const int32_t> question, std::span<const int32_t> text,
                          BatchBuilder& batch, std::span<const int32_t> answer) const {
  const RowRange range = window(i);
  std::vector<int32_t> ids;
  const auto append = [&](std::span<const int32_t> some) { ids.insert(ids.end(), some.begin(), some.end()); };
  if (options_.bos >= 0) ids.push_back(options_.bos);
  append(question.first(question.size() - static_cast<size_t>(cut_)));
  ids.insert(ids.end(), static_cast<size_t>(options_.separators), options_.eos);
  const auto first = static_cast<int32_t>(ids.size());
  append(text.subspan(static_cast<size_t>(range.begin), static_cast<size_t>(range.size())));
  ids.push_back(options_.eos);
  std::vector<int32_t> labels;
  for (const int32_t token : answer) labels.push_back(token - range.begin);
  batch.source(ids);
  batch.choose({first, first + range.size()}, labels);
}

RowRange tokens_of_bytes(std::span<const LocatedToken> tokens, size_t begin, size_t end) {
  RowRange found{static_cast<int32_t>(tokens.size()), 0};
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].end <= begin || tokens[i].begin >= end) continue;
    found.begin = std::min(found.begin, static_cast<int32_t>(i));
    found.end = static_cast<int32_t>(i) + 1;
  }
  return found;
}

}  // namespace sixfold
