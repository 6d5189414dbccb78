#pragma once
#include "base/api.h"
#include "tasks/translation/markup/translate_markup.h"
#include "tasks/translation/translator.h"

namespace sixfold {

/// What `translate_html` and `translate_xml` need, by a model: translates texts with their word alignments. Of
/// the options, the number of translations and the extra outputs but their layer are set here. The translator
/// must live as long as the result, which may be used by several threads at once.
SIXFOLD_API TextTranslator text_translator(const Translator& translator, TranslateOptions options = {});

}  // namespace sixfold
