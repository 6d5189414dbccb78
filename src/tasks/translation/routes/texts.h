#pragma once
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "tasks/translation/markup/translate_markup.h"
#include "tasks/translation/routes/served.h"
#include "tasks/translation/translation.h"
#include "text/glossary.h"

namespace sixfold::serve {

/// Where a text is cut into parts that are translated each on its own.
enum class LineBreaks {
  lines_and_sentences,  ///< at the end of lines and of sentences
  lines,                ///< at the end of lines
  sentences,            ///< at the end of sentences; line ends are spaces
  none,                 ///< nowhere; line ends are spaces
};

struct TextOptions {
  TextKind kind = TextKind::plain;  ///< a document has no sentences in its result
  XmlOptions xml = {};
  LineBreaks breaks = LineBreaks::lines_and_sentences;
  /// How each sentence is translated: `n_best`, `beam_size`, `details`, `caller` and `cancel`. The others are
  /// the server's.
  TranslateOptions translation = {};
  /// What each sentence must contain and so on; for `TextKind::plain` alone.
  OutputConstraints constraints = {};
  std::shared_ptr<const Glossary> glossary = {};  ///< null: none
  std::string client = {};  ///< for whom the characters are counted (`Service::client_of`)
};

/// A text and its translation.
struct TextResult {
  std::string text;                       ///< with the line ends and the spacing of the source
  std::vector<std::string> alternatives;  ///< the second best of each sentence, joined, and so on; each once
  std::vector<TranslatedLine> sentences;
  size_t cut = 0;  ///< number of sentences that were too long for the model, which has not read their ends
};

/// Translates texts of several lines with a model between two languages. A text without visible characters
/// stays as it is; with `keep_symbols` a sentence without a letter or digit does too. The result of a text does
/// not depend on the other texts. Throws `Cancelled` when stop is requested, and an input error for a sentence
/// that the model can't read, or a document that is not well-formed.
std::vector<TextResult> translate_texts(const ServedPair& pair, std::span<const std::string> texts,
                                        const TextOptions& options, bool keep_symbols = true);

/// Translates texts as `translate_texts`, within the limits of the service, to which the constraints count as
/// well, and counts what was done. Throws an `HttpError`: 413 for too much text, 503 if too much waits.
std::vector<TextResult> translate(Service& service, const ServedPair& pair, std::span<const std::string> texts,
                                  const TextOptions& options);

}  // namespace sixfold::serve
