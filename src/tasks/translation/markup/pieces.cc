#include "tasks/translation/markup/pieces.h"

#include <algorithm>

#include "text/utf8.h"
#include "text/words.h"

namespace sixfold {

size_t PieceList::add(PieceKind kind, size_t begin, size_t end) {
  const size_t last = pieces_.empty() ? 0 : pieces_.back().end;
  if (last < begin) pieces_.push_back({PieceKind::boundary, last, begin});
  pieces_.push_back({kind, begin, end});
  return pieces_.size() - 1;
}

void PieceList::add_text(size_t begin, size_t end, bool keeps_space) {
  while (keeps_space && begin < end) {
    const size_t line = std::min(source_.bytes.find_first_of("\r\n", begin), end);
    const size_t next = std::min(source_.bytes.find_first_not_of("\r\n", line), end);
    add_line(begin, line);
    if (line < next) add(PieceKind::boundary, line, next);
    begin = next;
  }
  add_line(begin, end);
}

void PieceList::add_line(size_t begin, size_t end) {
  const std::string_view bytes = source_.bytes.substr(0, end);
  size_t first = end, last = begin;  // the text without white space at its ends
  for (size_t i = begin; i < end;) {
    const size_t at = i;
    bool space;
    if (bytes[i] == '&') {
      const size_t size = CharacterReferences::length(bytes.substr(i));
      i += size;
      // Without ";" the reference could merge with the text after it.
      space = bytes[i - 1] == ';' && count_words(references_.decode(bytes.substr(at, size))) == 0;
    } else {
      space = next_is_space(bytes, i);
    }
    if (space) continue;
    first = std::min(first, at);
    last = i;
  }
  if (first > last) first = last = end;  // white space only
  if (begin < first) add(PieceKind::space, begin, first);
  if (first < last) add(PieceKind::text, first, last);
  if (last < end) add(PieceKind::space, last, end);
}

void PieceList::add(std::span<const PieceRange> parts) {
  std::vector<size_t> added(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    const PieceRange& part = parts[i];
    if (part.kind == PieceKind::text) {
      add_text(part.begin, part.end, part.keeps_space);
    } else if (part.begin < part.end) {
      added[i] = add(part.kind, part.begin, part.end);
      if (part.stands_for_words) stands_for_words();
      if (part.kind == PieceKind::close) make_partners(added[part.partner], added[i]);
    }
  }
}

void PieceList::make_partners(size_t open, size_t close) {
  pieces_[open].partner = close;
  pieces_[close].partner = open;
}

bool PieceList::join(size_t first, PieceKind kind) {
  const auto begin = pieces_.begin() + static_cast<std::ptrdiff_t>(first);
  if (std::any_of(begin, pieces_.end(), [](const Piece& piece) { return piece.kind != PieceKind::boundary; }))
    return false;
  const Piece joined{kind, begin->begin, pieces_.back().end};
  pieces_.erase(begin, pieces_.end());
  pieces_.push_back(joined);
  return true;
}

Pieces PieceList::take() {
  const size_t last = pieces_.empty() ? 0 : pieces_.back().end;
  if (last < source_.bytes.size()) pieces_.push_back({PieceKind::boundary, last, source_.bytes.size()});
  return std::move(pieces_);
}

}  // namespace sixfold
