#pragma once
#include <string>
#include <vector>

#include "tasks/translation/markup/pieces.h"

namespace sixfold {

/// The text of a paragraph, heading, list item or table cell.
struct MarkdownLeaf {
  std::vector<PieceRange> parts;  ///< empty if the text can't be divided into parts; it is not translated then
  /// The markup that a translation must keep: links with their targets, images, code and HTML. Sorted.
  std::vector<std::string> spans;
  std::vector<std::string> emphases;  ///< sorted; those without words are left out of a translation
  size_t stray = 0;                   ///< number of characters in text that could be markup of emphasis
};

/// A document of Markdown.
struct MarkdownDocument {
  std::vector<MarkdownLeaf> leaves;
  /// The beginnings and ends of blocks before each leaf and after the last one, with their properties and the
  /// contents of code and HTML blocks.
  std::vector<std::string> blocks;
};

/// Reads Markdown by md4c: CommonMark with the tables, strikethrough, task lists and autolinks of GitHub. Skips
/// front matter. Throws std::bad_alloc.
MarkdownDocument read_markdown(std::string_view bytes);

}  // namespace sixfold
