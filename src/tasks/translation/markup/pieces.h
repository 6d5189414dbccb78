#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/translation/markup/character_references.h"
#include "tasks/translation/markup/markup_error.h"

namespace sixfold {

/// What a piece of a document is to its translation.
enum class PieceKind : uint8_t {
  text,      ///< text to translate, without white space at its ends
  space,     ///< white space beside such text
  open,      ///< the start tag of an inline element
  close,     ///< the end tag of an inline element
  mark,      ///< what stands within text and has none to translate: an image, a comment, a stray end tag
  boundary,  ///< what ends a text, such as a tag of a block element, and what is not to be translated
  kept,      ///< what a placeholder stands for in a text that is translated
};

/// Whether a piece of this kind is a part of the text that is translated.
inline bool is_in_text(PieceKind kind) { return kind == PieceKind::text || kind == PieceKind::kept; }

/// A part of a document, in bytes.
struct Piece {
  static constexpr size_t none = SIZE_MAX;

  PieceKind kind;
  size_t begin, end;
  size_t partner = none;  ///< the index of the end tag of a start tag, and of the start tag of an end tag
  /// Whether it is no text to translate but stands for words of the text around it, such as code in a sentence:
  /// a placeholder may take its place. Its kind is that of a document that is translated without placeholders.
  bool stands_for_words = false;
};

/// The pieces of a document: each begins where the one before ends, the first at byte 0 and the last ends at
/// the end. The inline elements between two boundaries are properly nested: only boundaries lie between tags
/// that cross. A start tag without a partner is that of an element that is never closed, or whose end tag
/// crosses others and is a boundary; every end tag has a partner.
using Pieces = std::vector<Piece>;

/// A part of a text as it becomes pieces.
struct PieceRange {
  PieceKind kind;
  size_t begin, end;
  size_t partner = Piece::none;  ///< its index among the parts
  bool keeps_space = false;      ///< see `PieceList::add_text`
  bool stands_for_words = false;
};

/// Throws an input error with its place if elements are nested too deep.
Pieces html_pieces(const MarkupSource& source);

/// The document as pieces, and which elements of XML are inline; see `XmlOptions`. Throws an input error with
/// its place if the document is not well-formed or its elements are nested too deep.
struct XmlOptions;
Pieces xml_pieces(const MarkupSource& source, const XmlOptions& options);

/// Collects pieces in order. What lies between two of them becomes a boundary.
class PieceList {
 public:
  PieceList(const MarkupSource& source, MarkupLanguage language) : source_(source), references_(language) {}

  /// Returns the index of the piece.
  size_t add(PieceKind kind, size_t begin, size_t end);
  /// Adds text as white space, text and white space. If white space is kept, each line is a text of its own.
  void add_text(size_t begin, size_t end, bool keeps_space);
  /// Adds the parts of a text that have bytes.
  void add(std::span<const PieceRange> parts);
  void make_partners(size_t open, size_t close);
  /// Replaces all pieces from index `first` on by one of this kind if they are boundaries. Returns whether they
  /// are.
  bool join(size_t first, PieceKind kind);
  /// Of the piece that was added last.
  void stands_for_words() { pieces_.back().stands_for_words = true; }
  size_t size() const { return pieces_.size(); }
  Pieces take();

 private:
  void add_line(size_t begin, size_t end);

  const MarkupSource& source_;
  CharacterReferences references_;
  Pieces pieces_;
};

}  // namespace sixfold
