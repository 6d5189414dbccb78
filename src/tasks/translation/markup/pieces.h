#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/translation/markup/character_references.h"
#include "tasks/translation/markup/markup_error.h"

namespace sixfold {

/// The role of a piece of a document in translation.
enum class PieceKind : uint8_t {
  text,      ///< text to translate, without white space at its ends
  space,     ///< white space beside such text
  open,      ///< the start tag of an inline element
  close,     ///< the end tag of an inline element
  mark,      ///< markup within a text without text of its own: an image, a comment, a stray end tag
  boundary,  ///< ends a text, such as a tag of a block element, or is not to be translated
  kept,      ///< represented by a placeholder in the text that is translated
};

/// Whether a piece of this kind is a part of the text that is translated.
inline bool is_in_text(PieceKind kind) { return kind == PieceKind::text || kind == PieceKind::kept; }

/// A range of bytes of a document.
struct Piece {
  static constexpr size_t none = SIZE_MAX;

  PieceKind kind;
  size_t begin, end;
  size_t partner = none;  ///< the index of the end tag of a start tag, and of the start tag of an end tag
  /// Whether it is not translated but stands for words of the text around it, such as code in a sentence. A
  /// placeholder may represent it. `kind` is its kind when no placeholder is used.
  bool stands_for_words = false;
  /// Whether marks like it keep their order in a text, wherever their words go: conversions that consume the
  /// next argument of a program, which would otherwise read its arguments with the wrong types, and times.
  bool keeps_order = false;
};

/// The pieces of a document, in order. Together they cover all of its bytes. The inline elements between two
/// boundaries are properly nested: tags that cross are boundaries. A start tag without a partner belongs to an
/// element that is never closed, or whose end tag crosses others and is a boundary. Every end tag has a
/// partner.
using Pieces = std::vector<Piece>;

/// A part of a text, from which pieces are made.
struct PieceRange {
  PieceKind kind;
  size_t begin, end;
  size_t partner = Piece::none;  ///< the index of its partner among the parts
  bool keeps_space = false;      ///< see `PieceList::add_text`
  bool stands_for_words = false;
};

/// The pieces of an HTML document. Throws an input error with line and column if elements are nested too deep.
Pieces html_pieces(const MarkupSource& source);

/// The pieces of an XML document. `XmlOptions` determine which elements are inline. Throws an input error with
/// line and column if the document is not well-formed or its elements are nested too deep.
struct XmlOptions;
Pieces xml_pieces(const MarkupSource& source, const XmlOptions& options);

/// Collects pieces in order. Bytes between two added pieces become a boundary.
class PieceList {
 public:
  PieceList(const MarkupSource& source, MarkupLanguage language) : source_(source), references_(language) {}

  /// Returns the index of the piece.
  size_t add(PieceKind kind, size_t begin, size_t end);
  /// Adds text as pieces of white space, text and white space. If white space is kept, each line is a separate
  /// text.
  void add_text(size_t begin, size_t end, bool keeps_space);
  /// Adds the parts of a text. Empty parts are left out.
  void add(std::span<const PieceRange> parts);
  void make_partners(size_t open, size_t close);
  /// Replaces all pieces from index `first` on by a single piece of this kind, if all of them are boundaries.
  /// Returns whether they are.
  bool join(size_t first, PieceKind kind);
  /// Sets `Piece::stands_for_words` of the piece that was added last.
  void stands_for_words() { pieces_.back().stands_for_words = true; }
  /// Sets `Piece::keeps_order` of the piece that was added last.
  void keep_order() { pieces_.back().keeps_order = true; }
  size_t size() const { return pieces_.size(); }
  Pieces take();

 private:
  void add_line(size_t begin, size_t end);

  const MarkupSource& source_;
  CharacterReferences references_;
  Pieces pieces_;
};

}  // namespace sixfold
