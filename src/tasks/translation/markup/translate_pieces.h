#pragma once
#include <functional>
#include <string>

#include "tasks/translation/markup/pieces.h"
#include "tasks/translation/markup/translate_markup.h"

namespace sixfold {

/// Translates the text of a document that has been divided into pieces, and returns the translated document.
/// See `translate_html`. In plain documents and cues, the translation of a text has as many lines as the text
/// if it has enough words, and each line has about the same share of the text as in the source.
std::string translate_pieces(const MarkupSource& source, const Pieces& pieces, MarkupLanguage language,
                             const TextTranslator& translate);

/// A translator that translates each text once, however often it is asked for. `translate` must outlive it.
/// `adapt` changes new translations: it gets the text and its result. `name` is that of the document, in
/// errors.
TextTranslator translator_of_once(
    const TextTranslator& translate, const std::string& name,
    const std::function<void(const std::string& text, TranslatedText& result)>& adapt = {});

}  // namespace sixfold
