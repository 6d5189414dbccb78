#include "search/reading_window.h"

#include <algorithm>

namespace sixfold {

ReadingWindow::Step ReadingWindow::next(size_t length) {
  const size_t added = length - seen_;
  const auto limit = static_cast<size_t>(context_);
  Step step{.newest = added};
  if (read_ == 0) {
    step.begins = true;
  } else if (limit > 0 && read_ + added > limit) {
    step = {.begins = true, .newest = std::min(std::max(limit / 2, added), length)};
    read_ = 0;
  }
  read_ += step.newest + (reads_start(step) ? 1 : 0);
  seen_ = length;
  return step;
}

std::vector<int32_t> ReadingWindow::begin(std::span<const int32_t> text, const Step& step) const {
  std::vector<int32_t> tokens;
  if (reads_start(step)) tokens.push_back(start_.token);
  const auto newest = text.last(step.newest);
  tokens.insert(tokens.end(), newest.begin(), newest.end());
  return tokens;
}

}  // namespace sixfold
