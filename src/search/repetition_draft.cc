#include "search/repetition_draft.h"

#include <algorithm>

#include "base/error.h"

namespace sixfold {
namespace {

constexpr size_t first_count = 3, min_match = 2, max_match = 16;

}  // namespace

RepetitionDraft::RepetitionDraft(int limit)
    : limit_(static_cast<size_t>(limit)), count_(std::min(first_count, limit_)) {
  require(limit >= 0 && limit <= max_guesses, "a draft has from 0 to {} tokens, not {}", max_guesses, limit);
}

std::span<const int32_t> RepetitionDraft::guess(std::span<const int32_t> text, size_t room) {
  guesses_.clear();
  const size_t count = std::min(count_, room);
  if (count == 0 || text.size() <= match_) return guesses_;
  const auto last = text.last(match_);
  for (size_t end = text.size() - 1; end >= match_; --end) {
    if (text[end - 1] != last.back() || !std::ranges::equal(text.subspan(end - match_, match_), last)) continue;
    // Where the tokens that followed reach the end of the text, the repetition goes on with its beginning.
    for (size_t i = 0; i < count; ++i) guesses_.push_back(text[end + i % (text.size() - end)]);
    break;
  }
  return guesses_;
}

void RepetitionDraft::learn(size_t right) {
  count_ = right == guesses_.size() ? std::max(count_, std::min(2 * right, limit_)) : right + 1;
  count_ = std::min(count_, limit_);
  match_ = right > 0 ? std::max(match_ - 1, min_match) : std::min(match_ + 1, max_match);
}

}  // namespace sixfold
