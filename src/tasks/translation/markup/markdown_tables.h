#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace sixfold {

/// A Markdown document in which md4c finds the tables that GitHub finds. md4c wants three dashes in each cell
/// of a delimiter row, and an empty line before a table that follows a paragraph; GitHub wants neither.
class MarkdownWithTables {
 public:
  explicit MarkdownWithTables(std::string_view markdown);

  const std::string& text() const { return text_; }
  /// The position in the document of a position in `text()`.
  size_t original(size_t position) const;

 private:
  void insert(size_t at, std::string_view what);

  /// From `begin` in the text on, positions are `added` greater than in the document.
  struct Shift {
    size_t begin, added;
  };
  std::string_view markdown_;
  std::string text_;
  size_t written_ = 0;  ///< bytes of the document that `text_` has
  std::vector<Shift> shifts_;
};

}  // namespace sixfold
