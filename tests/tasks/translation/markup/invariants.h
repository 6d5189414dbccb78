#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/translation/markup/fake_translators.h"
#include "tasks/translation/markup/segment.h"
#include "tasks/translation/markup/translate_markup.h"

namespace sixfold {

/// What lies between two boundaries of a document.
struct Run {
  std::string boundary;           ///< the bytes before it
  std::vector<std::string> tags;  ///< inline tags and marks, sorted
  /// Where each start tag and mark is: the start tag that it is in, and how many elements that began before the
  /// run it is in. Tags of the same bytes are left out.
  std::map<std::string, std::pair<std::string, int>> places;
  std::string text;  ///< decoded, with single spaces between words
};

inline std::string single_spaced(std::string_view text) {
  std::string result;
  for (const std::string& word : words_of(text)) result += (result.empty() ? "" : " ") + word;
  return result;
}

/// The place of each tag of the pieces from `first` to `last`, whose bytes `bytes` gives.
template <class Bytes>
std::map<std::string, std::pair<std::string, int>> places_of(const Pieces& pieces, size_t first, size_t last,
                                                             Bytes bytes) {
  const auto outside = [&](const Piece& piece) {
    return piece.kind == PieceKind::close && (piece.partner < first || piece.partner >= last);
  };
  std::map<std::string, std::pair<std::string, int>> places;
  std::map<std::string, int> count;
  std::vector<size_t> open;
  int begun_before = 0;
  for (size_t i = first; i < last; ++i) begun_before += outside(pieces[i]);
  for (size_t i = first; i < last; ++i) {
    const Piece& piece = pieces[i];
    if (piece.kind == PieceKind::open || piece.kind == PieceKind::mark) {
      places[bytes(i)] = {open.empty() ? "" : bytes(open.back()), begun_before};
      ++count[bytes(i)];
      if (piece.kind == PieceKind::open) open.push_back(i);
    } else if (outside(piece)) {
      --begun_before;
    } else if (piece.kind == PieceKind::close) {
      if (open.empty() || open.back() != piece.partner) places["crossing"] = {bytes(i), 0};
      if (!open.empty()) open.pop_back();
    }
  }
  std::erase_if(places, [&](const auto& place) { return count[place.first] > 1; });
  return places;
}

inline std::vector<Run> runs_of(std::string_view source, const Pieces& pieces, MarkupLanguage language) {
  CharacterReferences references(language);
  std::vector<Run> runs(1);
  const auto bytes = [&](size_t i) {
    return std::string(source.substr(pieces[i].begin, pieces[i].end - pieces[i].begin));
  };
  size_t first = 0;
  for (size_t i = 0; i <= pieces.size(); ++i) {
    if (i == pieces.size() || pieces[i].kind == PieceKind::boundary) {
      runs.back().places = places_of(pieces, first, i, bytes);
      runs.back().text = single_spaced(runs.back().text);
      std::sort(runs.back().tags.begin(), runs.back().tags.end());
      if (i == pieces.size()) break;
      runs.push_back({.boundary = bytes(i), .tags = {}, .places = {}, .text = {}});
      first = i + 1;
    } else if (pieces[i].kind == PieceKind::text || pieces[i].kind == PieceKind::space) {
      runs.back().text += references.decode_text(bytes(i));
    } else {
      runs.back().tags.push_back(bytes(i));
    }
  }
  return runs;
}

/// Whether pieces follow each other without a gap, and partners name each other.
inline bool are_whole(const Pieces& pieces, size_t size) {
  size_t end = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    if (piece.begin != end || piece.end <= piece.begin) return false;
    end = piece.end;
    if (piece.kind == PieceKind::close && piece.partner == Piece::none) return false;
    if (piece.partner != Piece::none && pieces[piece.partner].partner != i) return false;
  }
  return end == size;
}

/// Without runs that have neither tags nor text, whose boundary becomes part of the next.
inline std::vector<Run> without_empty(std::vector<Run> runs) {
  std::vector<Run> result;
  std::string boundary;
  for (Run& run : runs) {
    boundary += run.boundary;
    if (run.tags.empty() && run.text.empty() && &run != &runs.back()) continue;
    run.boundary = std::exchange(boundary, {});
    result.push_back(std::move(run));
  }
  return result;
}

/// What is broken between the runs of a source, whose text is already the expected one, and those of its
/// translation.
inline std::string difference(const std::vector<Run>& from, const std::vector<Run>& to) {
  if (from.size() != to.size()) return fmt::format("{} texts became {}", from.size(), to.size());
  for (size_t i = 0; i < from.size(); ++i) {
    const std::string place = fmt::format("run {}, of '{}': ", i, from[i].text);
    if (from[i].boundary != to[i].boundary) return place + "its boundary became " + to[i].boundary;
    if (from[i].tags != to[i].tags) return place + "its tags changed";
    if (from[i].places != to[i].places) return place + "a tag is in another element";
    if (from[i].text != to[i].text) return place + "its text became '" + to[i].text + "'";
  }
  return "";
}

/// Checks what every translation of a document keeps: `output` has the boundaries of `source`, byte for byte;
/// between two of them the same tags, each in the same element; and the text there is what `translate` makes of
/// it. Returns what is broken, or nothing.
inline std::string broken_invariant(const MarkupSource& source, const MarkupSource& output,
                                    MarkupLanguage language,
                                    const std::function<Pieces(const MarkupSource&)>& pieces_of,
                                    const TextTranslator& translate) {
  const Pieces before = pieces_of(source), after = pieces_of(output);
  if (!are_whole(before, source.bytes.size())) return "the pieces have gaps";
  CharacterReferences references(language);
  std::vector<std::string> texts;
  for (const Segment& segment : segments_of(source.bytes, before, references)) texts.push_back(segment.text);
  const std::vector<TranslatedText> translations = translate(texts);
  std::vector<Run> expected = runs_of(source.bytes, before, language);
  size_t next = 0;
  for (Run& run : expected)
    if (next < texts.size() && run.text == texts[next]) {
      const std::string& text = translations[next].text;
      if (text != texts[next++])  // control characters are written as U+FFFD
        run.text = single_spaced(references.decode_text(escape_markup(text)));
    }
  if (next != texts.size()) return "a text is in no run";
  return difference(without_empty(expected), without_empty(runs_of(output.bytes, after, language)));
}

inline std::string broken_html_invariant(const std::string& html, const TextTranslator& translate) {
  const std::string output = translate_html(html, translate);
  return broken_invariant({html, "the source"}, {output, "the output"}, MarkupLanguage::html, html_pieces,
                          translate);
}

inline std::string broken_xml_invariant(const std::string& xml, const TextTranslator& translate,
                                        const XmlOptions& options) {
  const std::string output = translate_xml(xml, translate, options);
  const auto pieces_of = [&](const MarkupSource& source) { return xml_pieces(source, options); };
  return broken_invariant({xml, "the source"}, {output, "the output"}, MarkupLanguage::xml, pieces_of,
                          translate);
}

}  // namespace sixfold
