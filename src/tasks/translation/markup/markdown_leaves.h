#pragma once
#include <string>
#include <vector>

#include "tasks/translation/markup/pieces.h"

namespace sixfold {

/// The text of a block: of a paragraph, heading, item or cell.
struct MarkdownLeaf {
  std::vector<PieceRange> parts;  ///< none if it is not understood; it is not translated then
  /// What a translation keeps: links with their targets, images, code and HTML, sorted.
  std::vector<std::string> spans;
  std::vector<std::string> emphases;  ///< sorted; those without words are left out of a translation
  size_t stray = 0;                   ///< the number of characters that could be marks of emphasis and are text
};

/// A document of Markdown.
struct MarkdownDocument {
  std::vector<MarkdownLeaf> leaves;
  /// The blocks before each leaf and behind the last, with their properties and what is in code and HTML.
  std::vector<std::string> blocks;
};

/// Reads Markdown by md4c: CommonMark with tables, strikethrough, task lists and addresses as GitHub has them.
/// Front matter is no part of it. Throws bad_alloc.
MarkdownDocument read_markdown(std::string_view bytes);

}  // namespace sixfold
