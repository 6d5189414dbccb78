#include "tasks/translation/markup/translate_pieces.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/error.h"
#include "tasks/translation/markup/punctuation.h"
#include "tasks/translation/markup/segment_writer.h"
#include "text/sentences.h"
#include "text/utf8.h"
#include "text/words.h"

namespace sixfold {
namespace {

/// Returns the pieces with the kind `kept` for those that a placeholder can represent. These must not be next
/// to a letter or digit, since the placeholder would become part of a word. Empty if there are no such pieces.
Pieces with_placeholders(std::string_view source, const Pieces& pieces) {
  bool any = false, touches = false;
  const auto pass = [&](const Piece& piece, bool (*is_within)(std::string_view)) {
    if (piece.kind == PieceKind::text)
      touches = is_within(source.substr(piece.begin, piece.end - piece.begin));
    else if (piece.kind == PieceKind::space || piece.kind == PieceKind::boundary)
      touches = false;
  };
  Pieces kept = pieces;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].stands_for_words && !touches) kept[i].kind = PieceKind::kept;
    pass(kept[i], ends_within_word);
    if (kept[i].kind == PieceKind::kept) touches = true;
  }
  touches = false;
  for (size_t i = pieces.size(); i-- > 0;) {
    if (kept[i].kind == PieceKind::kept && touches) kept[i].kind = pieces[i].kind;
    any = any || kept[i].kind == PieceKind::kept;
    pass(kept[i], begins_within_word);
  }
  return any ? kept : Pieces();
}

/// The index of the word that contains each placeholder.
std::vector<size_t> words_with(const std::vector<SegmentPlaceholder>& placeholders, std::string_view text) {
  const std::vector<TextRange> words = word_parts(text);
  std::vector<size_t> numbers;
  size_t word = 0;
  for (const SegmentPlaceholder& one : placeholders) {
    while (word < words.size() && words[word].end <= one.begin) ++word;
    numbers.push_back(word);
  }
  return numbers;
}

/// The placeholders of a segment in its translation, in order; empty unless the translation has all of them.
/// The word alignment determines the piece of each placeholder. Without a complete alignment they keep their
/// order.
std::vector<SegmentPlaceholder> placeholders_in(const Segment& segment, const TranslatedText& translation,
                                                std::string_view placeholder) {
  const std::vector<SegmentPlaceholder>& source = segment.placeholders;
  if (source.empty()) return {};
  const std::vector<size_t> places = places_of_word(translation.text, placeholder);
  if (places.size() != source.size()) return {};
  std::vector<SegmentPlaceholder> found;
  for (size_t i = 0; i < places.size(); ++i) found.push_back({places[i], source[i].piece});
  std::map<size_t, size_t> by_word, found_by_word;
  const std::vector<size_t> words = words_with(source, segment.text),
                            found_words = words_with(found, translation.text);
  for (size_t i = 0; i < words.size(); ++i) {
    by_word.emplace(words[i], i);
    found_by_word.emplace(found_words[i], i);
  }
  std::map<size_t, size_t> aligned;  // from indices in the translation to indices in the source
  std::set<size_t> used;
  for (const auto& [from, to] : translation.alignment) {
    const auto one = by_word.find(static_cast<size_t>(from)),
               other = found_by_word.find(static_cast<size_t>(to));
    if (one == by_word.end() || other == found_by_word.end() || used.contains(one->second)) continue;
    if (aligned.emplace(other->second, one->second).second) used.insert(one->second);
  }
  if (aligned.size() == found.size())
    for (const auto& [to, from] : aligned) found[to].piece = source[from].piece;
  return found;
}

/// The translation of a part of a document.
struct Rewritten {
  size_t last;  ///< the piece after it
  std::string bytes;
};

/// A segment to translate, and its document.
struct SegmentToTranslate {
  const DocumentPieces* document;
  Segment segment;
};

/// The segments with placeholders, and all segments of the document without placeholders, in order. The latter
/// are used where the translation of a segment lacks a placeholder; they come after the segment that contains
/// them.
std::vector<SegmentToTranslate> segments_to_translate(const DocumentPieces& with,
                                                      const DocumentPieces& without) {
  CharacterReferences references(without.language);
  std::vector<SegmentToTranslate> all;
  std::vector<Segment> segments = segments_of(without.source, without.pieces, references);
  for (Segment& segment : segments_of(with.source, with.pieces, references, with.placeholder)) {
    const auto inner = std::ranges::lower_bound(segments, segment.first, {}, &Segment::first);
    const bool has_text = inner != segments.end() && inner->first < segment.last;
    if (has_text && !segment.placeholders.empty() &&
        places_of_word(segment.text, with.placeholder).size() == segment.placeholders.size())
      all.push_back({&with, std::move(segment)});
  }
  for (Segment& segment : segments) all.push_back({&without, std::move(segment)});
  std::ranges::stable_sort(all, {}, [](const SegmentToTranslate& text) { return text.segment.first; });
  return all;
}

/// Separates a translated part from code beside it, from which punctuation separated it in the source, such as
/// the bracket of "f (`x`)", that the translation does not have.
void separate_from_code(const Pieces& pieces, size_t first, std::string_view source, Rewritten& part) {
  const auto is_code = [&](size_t i) {
    return i < pieces.size() && pieces[i].kind == PieceKind::boundary && pieces[i].stands_for_words;
  };
  std::string& bytes = part.bytes;
  if (is_code(first - 1) && !begins_within_word(behind_markup(source)) &&
      begins_within_word(behind_markup(bytes)))
    bytes.insert(0, " ");
  if (!is_code(part.last)) return;
  const std::string_view before = before_markup(source), after = before_markup(bytes);
  if (before.empty() || after.empty() || ends_within_word(before) || before.back() == after.back()) return;
  if (ends_within_word(after) || std::string_view(".,;:!?").find(after.back()) != after.npos) bytes += ' ';
}

}  // namespace

TextTranslator translator_of_once(const TextTranslator& translate, const std::string& name,
                                  const std::function<void(const std::string&, TranslatedText&)>& adapt) {
  const auto known = std::make_shared<std::map<std::string, TranslatedText>>();
  TextTranslator once = [&translate, name, adapt, known](const std::vector<std::string>& texts) {
    std::vector<std::string> missing;
    for (const std::string& text : texts)
      if (known->emplace(text, TranslatedText()).second) missing.push_back(text);
    if (!missing.empty()) {
      const std::vector<TranslatedText> translations = translate(missing);
      require(translations.size() == missing.size(),
              "{}: {} texts were to be translated, but there are {} translations", name, missing.size(),
              translations.size());
      for (size_t i = 0; i < missing.size(); ++i) {
        TranslatedText& result = (*known)[missing[i]] = translations[i];
        if (adapt) adapt(missing[i], result);
      }
    }
    std::vector<TranslatedText> all;
    for (const std::string& text : texts) all.push_back((*known)[text]);
    return all;
  };
  once.placeholder = translate.placeholder;
  once.source_language = translate.source_language;
  once.target_language = translate.target_language;
  return once;
}

std::string translate_pieces(const MarkupSource& source, const Pieces& pieces, MarkupLanguage language,
                             const TextTranslator& translate) {
  const DocumentPieces without{source.bytes, language, pieces, {}};
  DocumentPieces with{source.bytes, language, {}, {}};
  if (translate.placeholder) with.pieces = with_placeholders(source.bytes, pieces);
  if (!with.pieces.empty()) with.placeholder = translate.placeholder();
  if (with.placeholder.empty()) with.pieces.clear();
  const std::vector<SegmentToTranslate> all = segments_to_translate(with, without);
  std::string output;
  if (all.empty()) return output = source.bytes;
  std::vector<std::string> texts;
  for (const SegmentToTranslate& text : all) texts.push_back(text.segment.text);
  const std::vector<TranslatedText> translations = translate(texts);
  require(translations.size() == texts.size(),
          "{}: {} texts were to be translated, but there are {} translations", source.name, texts.size(),
          translations.size());
  std::map<size_t, Rewritten> parts;  // by their first pieces
  for (size_t i = 0; i < all.size(); ++i) {
    const auto& [document, segment] = all[i];
    auto placeholders = placeholders_in(segment, translations[i], document->placeholder);
    if (placeholders.size() != segment.placeholders.size()) continue;
    const auto before = parts.upper_bound(segment.first);
    if (before != parts.begin() && segment.first < std::prev(before)->second.last)
      continue;  // it is within a segment with placeholders
    const size_t begin = pieces[segment.first].begin, end = pieces[segment.last - 1].end;
    parts[segment.first] = {segment.last,
                            translations[i].text == texts[i]
                                ? std::string(source.bytes.substr(begin, end - begin))
                                : write_segment(*document, segment, translations[i], std::move(placeholders))};
    separate_from_code(pieces, segment.first, source.bytes.substr(begin, end - begin), parts[segment.first]);
  }
  size_t written = 0;
  for (const auto& [first, part] : parts) {
    const size_t begin = pieces[first].begin;
    output += source.bytes.substr(written, begin - written);
    output += part.bytes;
    written = pieces[part.last - 1].end;
  }
  return output += source.bytes.substr(written);
}

}  // namespace sixfold
