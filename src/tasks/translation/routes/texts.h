#pragma once
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "tasks/translation/markup/translate_markup.h"
#include "tasks/translation/routes/served.h"
#include "tasks/translation/translation.h"

namespace sixfold::serve {

/// Where a text is split into parts that are translated separately.
enum class LineBreaks {
  lines_and_sentences,  ///< at the end of lines and of sentences
  lines,                ///< at the end of lines
  sentences,            ///< at the end of sentences; line ends are spaces
  none,                 ///< nowhere: the text is one part; line ends are spaces
};

struct TextOptions {
  TextKind kind = TextKind::plain;  ///< a document has no sentences in its result
  XmlOptions xml = {};
  LineBreaks breaks = LineBreaks::lines_and_sentences;
  /// Options of the translation of each sentence. Languages, `keep_symbols` and constraints are set by the
  /// server.
  TranslateOptions translation = {};
  /// The constraints of each sentence; only for `TextKind::plain`.
  OutputConstraints constraints = {};
  std::string client = {};  ///< whose characters are counted (`Service::client_of`)
};

/// A text and its translation.
struct TextResult {
  std::string text;  ///< with the line ends and the spacing of the source
  std::vector<std::string>
      alternatives;  ///< the joined n-best translations from the second on, without repetition
  std::vector<TranslatedLine> sentences;
  size_t cut = 0;  ///< number of sentences that were too long for the model and were cut
};

/// Translates texts, which may have several lines. A text without visible characters stays unchanged; with
/// `keep_symbols` so does a sentence without a letter or digit. The result of a text does
/// not depend on the other texts. Throws `Cancelled` when stop is requested, and an input error for a sentence
/// that the model can't read, or a document that is not well-formed.
std::vector<TextResult> translate_texts(const ServedPair& pair, std::span<const std::string> texts,
                                        const TextOptions& options, bool keep_symbols = true);

/// The texts of a document that would be translated, one in each line. `number`: of the document in messages,
/// from 0. Throws an input error as `translate_texts`.
std::string text_of(const std::string& document, size_t number, const TextOptions& options);

/// Calls `translate_texts` within the limits of the service, and counts the translated characters. The
/// constraints count towards the limits. Throws an `HttpError`: 413 for too much text, 503 if too much text is
/// waiting.
std::vector<TextResult> translate(Service& service, const ServedPair& pair, std::span<const std::string> texts,
                                  const TextOptions& options);

}  // namespace sixfold::serve
