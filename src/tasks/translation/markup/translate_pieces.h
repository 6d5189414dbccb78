#pragma once
#include <string>

#include "tasks/translation/markup/pieces.h"
#include "tasks/translation/markup/translate_markup.h"

namespace sixfold {

/// Translates the text of a document that has been cut into pieces, and returns the document. See
/// `translate_html`. In a plain document, and in cues, the translation of a text has as many lines as the text,
/// if it has enough words, of about the same shares of it.
std::string translate_pieces(const MarkupSource& source, const Pieces& pieces, MarkupLanguage language,
                             const TextTranslator& translate);

}  // namespace sixfold
