#include "text/piece_processor.h"

#include <sentencepiece_processor.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <type_traits>

#include "base/error.h"

namespace sixfold {
namespace {

constexpr size_t cut_distance = 4096;  // bytes

std::string_view without_word_mark(std::string_view piece) {
  return piece.starts_with(PieceProcessor::word_mark) ? piece.substr(PieceProcessor::word_mark.size()) : piece;
}

/// The normalized text of pieces, without the sign for the space before it.
std::string text_of(const std::vector<LocatedPiece>& pieces) {
  std::string text;
  for (const LocatedPiece& piece : pieces) text += piece.text;
  return std::string(without_word_mark(text));
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
  if (text.size() < 2 * cut_distance || next_cut(text, 0, longest_piece()) == text.size()) {
    check(library_->Encode(text, &result));
    return result;
  }
  for (LocatedPiece& piece : pieces_of(text))
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

std::vector<LocatedPiece> PieceProcessor::locate(std::string_view text) const {
  const NormalizedText read = locate_text(text, side_);
  const size_t end_of_text = read.origins.empty() ? 0 : read.origins.back().end;
  std::vector<LocatedPiece> pieces = pieces_of(read.text);
  for (size_t i = pieces.size(); i-- > 1;) {
    LocatedToken &before = pieces[i - 1].token, &token = pieces[i].token;
    if (before.begin == before.end && library_->IsByte(before.id) && library_->IsByte(token.id))
      before.begin = token.begin, before.end = token.end;
  }
  for (LocatedPiece& piece : pieces) {
    const size_t begin = piece.token.begin, end = piece.token.end;
    piece.token.begin = begin < read.origins.size() ? read.origins[begin].begin : end_of_text;
    piece.token.end = end > begin ? read.origins[end - 1].end : piece.token.begin;
  }
  return pieces;
}

/// The pieces of a text. SentencePiece joins successive characters that are not in the vocabulary to one piece,
/// in a time that grows with the square of their number. A long text is therefore cut before some of them,
/// which are no part of any longer piece, and two unknown pieces at a cut become one.
std::vector<LocatedPiece> PieceProcessor::pieces_of(std::string_view text) const {
  std::vector<LocatedPiece> all;
  const size_t near = text.size() < 2 * cut_distance ? 0 : longest_piece();
  size_t begin = 0;
  do {
    const size_t end = next_cut(text, begin, near);
    bool is_first = begin > 0;  // behind a cut
    for (LocatedPiece& piece : encode_part(text.substr(begin, end - begin))) {
      if (is_first && piece.text == word_mark) continue;  // which stands before each text
      piece.token.begin += begin, piece.token.end += begin;
      if (is_first) piece.text = without_word_mark(piece.text);
      if (is_first && !all.empty() && all.back().token.id == library_->unk_id()) {
        all.back().text += piece.text;
        all.back().token.end = piece.token.end;
      } else {
        all.push_back(std::move(piece));
      }
      is_first = false;
    }
    begin = end;
  } while (begin < text.size());
  return all;
}

std::vector<LocatedPiece> PieceProcessor::encode_part(std::string_view text) const {
  sentencepiece::ImmutableSentencePieceText located;
  check(library_->Encode(text, located.mutable_proto()));
  std::vector<LocatedPiece> pieces;
  for (const auto& piece : located.pieces())
    pieces.push_back({piece.piece(), {static_cast<int32_t>(piece.id()), piece.begin(), piece.end()}});
  return pieces;
}

/// The number of bytes of the longest piece of the vocabulary.
size_t PieceProcessor::longest_piece() const {
  size_t longest = 32;  // the rules of normalization read a few characters
  for (int id = 0; id < library_->GetPieceSize(); ++id)
    longest = std::max(longest, library_->IdToPiece(id).size());
  return std::min(longest, cut_distance / 2);
}

/// The next position, some way behind `begin`, at which a text can be cut, or its end. `near`: the longest
/// piece.
size_t PieceProcessor::next_cut(std::string_view text, size_t begin, size_t near) const {
  const size_t step = 4 * near;
  constexpr int enough = 8;  // known characters, which end a run, or attempts: marks must not be cut off
  for (size_t place = begin + cut_distance; place + cut_distance < text.size(); place += step) {
    int known = 0, attempts = 0;
    const size_t last = std::min(place + step, text.size());
    for (size_t at = character_start(text, place), next; at < last; at = next) {
      next = at;
      U8_FWD_1(text.data(), next, text.size());
      const std::string_view character = text.substr(at, next - at);
      if (library_->PieceToId(character) != library_->unk_id()) {
        if (++known == enough) break;
      } else if (!encode_part(character).empty()) {  // and not dropped by normalization
        if (is_before_unknown(text, at, near)) return at;
        if (++attempts == enough) break;
      }
    }
  }
  return text.size();
}

/// Whether the character at a position is unknown, and no piece and no rule of normalization reaches across its
/// beginning.
bool PieceProcessor::is_before_unknown(std::string_view text, size_t at, size_t near) const {
  const size_t begin = character_start(text, at - near),
               end = character_start(text, std::min(at + near, text.size()));
  const std::vector<LocatedPiece> whole = encode_part(text.substr(begin, end - begin));
  const auto covering = std::ranges::find_if(whole, [&](const LocatedPiece& piece) {
    return piece.token.begin <= at - begin && at - begin < piece.token.end;
  });
  if (covering == whole.end() || covering->token.id != library_->unk_id()) return false;
  const std::vector<LocatedPiece> after = encode_part(text.substr(at, end - at));
  const auto first =
      std::ranges::find_if(after, [](const LocatedPiece& piece) { return piece.text != word_mark; });
  if (first == after.end() || first->token.id != library_->unk_id()) return false;
  return text_of(whole) == text_of(encode_part(text.substr(begin, at - begin))) + text_of(after);
}

}  // namespace sixfold
