#include "text/piece_processor.h"

#include <sentencepiece_processor.h>
#include <unicode/utf8.h>

#include <type_traits>

#include "base/error.h"

namespace sixfold {
namespace {

constexpr size_t cut_distance = 4096;  // bytes

std::string_view without_word_mark(std::string_view piece) {
  return piece.starts_with(PieceProcessor::word_mark) ? piece.substr(PieceProcessor::word_mark.size()) : piece;
}

/// The beginning of the character that has the byte at a position.
size_t character_start(std::string_view text, size_t at) {
  auto start = static_cast<int32_t>(at);
  U8_SET_CP_START(reinterpret_cast<const uint8_t*>(text.data()), 0, start);
  return static_cast<size_t>(start);
}

}  // namespace

void PieceProcessor::check(const sentencepiece::util::Status& status) {
  require(status.ok(), "SentencePiece: {}", status.ToString());
}

template <class Result>
std::vector<Result> PieceProcessor::encode_as(std::string_view text) const {
  std::string read;
  if (side_ != TextSide::exact) text = read = read_text(text, side_);
  std::vector<Result> result;
  if (text.size() < 2 * cut_distance) {
    check(library_->Encode(text, &result));
    return result;
  }
  for (TextPiece& piece : pieces_of(text))
    if constexpr (std::is_same_v<Result, std::string>)
      result.push_back(std::move(piece.text));
    else
      result.push_back(piece.token.id);
  return result;
}

std::vector<int32_t> PieceProcessor::encode(std::string_view text) const { return encode_as<int>(text); }
std::vector<std::string> PieceProcessor::split(std::string_view text) const {
  return encode_as<std::string>(text);
}

std::vector<TextPiece> PieceProcessor::locate(std::string_view text) const {
  const NormalizedText read = locate_text(text, side_);
  const size_t end_of_text = read.origins.empty() ? 0 : read.origins.back().end;
  std::vector<TextPiece> pieces = pieces_of(read.text);
  for (size_t i = pieces.size(); i-- > 1;) {
    LocatedToken &before = pieces[i - 1].token, &token = pieces[i].token;
    if (before.begin == before.end && library_->IsByte(before.id) && library_->IsByte(token.id))
      before.begin = token.begin, before.end = token.end;
  }
  for (TextPiece& piece : pieces) {
    const size_t begin = piece.token.begin, end = piece.token.end;
    piece.token.begin = begin < read.origins.size() ? read.origins[begin].begin : end_of_text;
    piece.token.end = end > begin ? read.origins[end - 1].end : piece.token.begin;
  }
  return pieces;
}

/// The pieces of a text. SentencePiece joins successive characters that are not in the vocabulary to one piece,
/// in a time that grows with the square of their number. A long text is therefore cut within runs of them, and
/// the two pieces at a cut become one.
std::vector<TextPiece> PieceProcessor::pieces_of(std::string_view text) const {
  std::vector<TextPiece> all;
  size_t begin = 0;
  do {
    const size_t end = next_cut(text, begin);
    bool continues = begin > 0;
    for (TextPiece& piece : encode_part(text.substr(begin, end - begin))) {
      if (continues && piece.text == word_mark) continue;  // which stands before each text
      piece.token.begin += begin, piece.token.end += begin;
      if (continues) {
        all.back().text += without_word_mark(piece.text);
        all.back().token.end = piece.token.end;
      } else {
        all.push_back(std::move(piece));
      }
      continues = false;
    }
    begin = end;
  } while (begin < text.size());
  return all;
}

std::vector<TextPiece> PieceProcessor::encode_part(std::string_view text) const {
  sentencepiece::ImmutableSentencePieceText located;
  check(library_->Encode(text, located.mutable_proto()));
  std::vector<TextPiece> pieces;
  for (const auto& piece : located.pieces())
    pieces.push_back({piece.piece(), {static_cast<int32_t>(piece.id()), piece.begin(), piece.end()}});
  return pieces;
}

/// The next position after `begin` at which a text can be cut, or its end.
size_t PieceProcessor::next_cut(std::string_view text, size_t begin) const {
  constexpr size_t attempts = 32;  // bytes; not all positions within a character and its marks will do
  for (size_t step = begin + cut_distance; step + cut_distance < text.size(); step += cut_distance)
    for (size_t at = step; at < step + attempts; ++at)
      if (at == character_start(text, at) && is_among_unknown(text, at)) return at;
  return text.size();
}

/// Whether all characters near a position are unknown, and are normalized alike on each side of it alone.
bool PieceProcessor::is_among_unknown(std::string_view text, size_t at) const {
  constexpr size_t near = 32;  // bytes; the rules of normalization read a few characters
  const size_t begin = character_start(text, at - near), end = character_start(text, at + near);
  const auto whole = only_unknown(text.substr(begin, end - begin));
  if (!whole) return false;
  const auto before = only_unknown(text.substr(begin, at - begin)),
             after = only_unknown(text.substr(at, end - at));
  return before && after && *before + *after == *whole;
}

/// The normalized text of a part that has unknown characters only.
std::optional<std::string> PieceProcessor::only_unknown(std::string_view part) const {
  std::vector<TextPiece> pieces = encode_part(part);
  if (pieces.size() == 2 && pieces.front().text == word_mark) pieces.erase(pieces.begin());
  if (pieces.size() != 1 || pieces.front().token.id != library_->unk_id()) return {};
  return std::string(without_word_mark(pieces.front().text));
}

}  // namespace sixfold
