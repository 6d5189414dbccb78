#pragma once
#include "base/api.h"
#include "tasks/translation/markup/translate_markup.h"
#include "tasks/translation/translator.h"

namespace sixfold {

/// A `TextTranslator` for `translate_html` and `translate_xml` that translates with a model. Of the options,
/// `n_best` is ignored, and so are `details` except for `layer`. The translator must outlive the result.
/// Several threads may use the result at the same time. `see` is called for each text that is translated, in
/// order.
SIXFOLD_API TextTranslator text_translator(const Translator& translator, TranslateOptions options = {},
                                           const TranslatedLineReceiver& see = {});

}  // namespace sixfold
