#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sixfold {

/// The start token that is read before the tokens of a window.
struct WindowStart {
  int32_t token;            ///< negative: none
  bool before_text = true;  ///< false: only if the window has no tokens
};

/// Determines which tokens a decoder reads in each step. When a language model has read as many tokens as its
/// context has, it starts a new window with the last half of them, so that the state of the older ones is
/// dropped. Where windows start depends only on the length of the text.
class ReadingWindow {
 public:
  /// `context`: maximum number of tokens to read, with the start token (`ModelConfig::context_tokens`); 0: no
  /// limit.
  ReadingWindow(int context, const WindowStart& start) : context_(context), start_(start) {}

  struct Step {
    /// Whether the step begins a window: the decoder forgets what it has read, and reads the start token first,
    /// if there is one.
    bool begins = false;
    size_t newest = 1;  ///< number of tokens to read, which are the last ones of the text
  };
  /// The next step, after which a text of `length` tokens is read. The first step reads all tokens; later steps
  /// read those that were added, or begin a window.
  Step next(size_t length);
  /// The number of further tokens that can be read before a window begins.
  size_t room() const {
    const auto limit = static_cast<size_t>(context_);
    return context_ > 0 ? limit - std::min(limit, read_) : SIZE_MAX;
  }
  /// Reports that the last step has also read this many tokens, at most `room()`, that the text has since got.
  void read_ahead(size_t tokens) { seen_ += tokens, read_ += tokens; }
  /// The tokens of a step that begins a window: the start token, if it is read, then the newest of `text`.
  std::vector<int32_t> begin(std::span<const int32_t> text, const Step& step) const;

 private:
  bool reads_start(const Step& step) const { return step.begins && (start_.before_text || step.newest == 0); }

  int context_;
  WindowStart start_;
  size_t seen_ = 0;  ///< number of tokens of the text at the last step
  size_t read_ = 0;  ///< number of tokens read since the window began, with the start token
};

}  // namespace sixfold
