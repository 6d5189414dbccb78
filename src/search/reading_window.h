#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sixfold {

/// What is read before the tokens of a window.
struct WindowStart {
  int32_t token;
  bool before_text = true;  ///< false: only if the window has no tokens
};

/// What a decoder reads in each step. A language model that has read as many tokens as in its training begins
/// anew with the latter half of them: that depends on the length of the text alone.
class ReadingWindow {
 public:
  /// `context`: most tokens to read, start token included (`ModelConfig::context_tokens`); 0: no limit.
  ReadingWindow(int context, const WindowStart& start) : context_(context), start_(start) {}

  struct Step {
    bool begins = false;  ///< forget what was read, and read the start token first, if there is one
    size_t newest = 1;    ///< then this many of the newest tokens of the text
  };
  /// The next step, with a text of `length` tokens: at first all of them, then those that were added.
  Step next(size_t length);
  /// The tokens of a step that begins a window: the start token, if it is read, then the newest of `text`.
  std::vector<int32_t> begin(std::span<const int32_t> text, const Step& step) const;

 private:
  bool reads_start(const Step& step) const { return step.begins && (start_.before_text || step.newest == 0); }

  int context_;
  WindowStart start_;
  size_t seen_ = 0;  ///< tokens of the text that the last step ended with
  size_t read_ = 0;  ///< tokens read since the window began, start token included
};

}  // namespace sixfold
