#pragma once
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tasks/translation/markup/markdown_leaves.h"

namespace sixfold {

enum class MarkdownSpan : uint8_t { emphasis, strong, deleted, link, image, code, other };

/// A token of the text of a block, as reported by md4c.
struct MarkdownToken {
  enum class Kind : uint8_t { enter, leave, text, html, soft_break, hard_break };

  Kind kind;
  MarkdownSpan span = {};     ///< of `enter` and `leave`
  size_t begin = 0, end = 0;  ///< bytes of the document, of `text` and `html`
};

/// Finds the first empty line after a position. Positions must ascend, so that each part of the document is
/// searched once.
class EmptyLines {
 public:
  explicit EmptyLines(std::string_view bytes) : bytes_(bytes) {}

  size_t after(size_t begin) {
    if (begin <= end_) return end_;
    do {
      begin = end_ = std::min(bytes_.find('\n', begin), bytes_.size());
      ++begin;
    } while (begin < bytes_.size() && bytes_[begin] != '\n' && bytes_[begin] != '\r');
    return end_;
  }

 private:
  std::string_view bytes_;
  size_t end_ = 0;
};

/// The parts of a text of Markdown, from its tokens, of which md4c reports the bytes only for texts. Empty if
/// the markup between them is not as expected.
std::vector<PieceRange> find_markdown_parts(std::string_view bytes, const std::vector<MarkdownToken>& tokens,
                                            EmptyLines& empty_lines);

}  // namespace sixfold
