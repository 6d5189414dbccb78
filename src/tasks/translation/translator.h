#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/api.h"
#include "model/layers/attention_kind.h"
#include "runtime/predictor.h"
#include "tasks/translation/translation.h"

namespace sixfold {

/// Translates text with the model in a model folder. Safe to share between threads.
class SIXFOLD_API Translator final : public Predictor {
 public:
  /// Throws an input error if the model is not a translation model.
  explicit Translator(std::shared_ptr<ModelRuntime> model);
  /// The same for a model folder. Throws as `open_model` as well.
  explicit Translator(const std::string& model_folder, const RuntimeOptions& options = {})
      : Translator(open_model(model_folder, options)) {}

  /// Translates each line, in order. A line without visible characters gives an empty translation.
  std::vector<std::string> translate(const std::vector<std::string>& lines,
                                     const TranslateOptions& options = {}) const;
  std::string translate(const std::string& line) const;
  /// Translates lines and passes each, with all outputs, to `emit`, as soon as it and all lines before it are
  /// ready. `emit` is called on this thread, once for each line, in order. An exception of `emit` ends the
  /// translation and is rethrown. Concurrent calls share the translator's threads, and short calls do not wait
  /// for long ones.
  void translate(const std::vector<std::string>& lines, const TranslateOptions& options,
                 const TranslatedLineReceiver& emit) const;
  /// The same for a stream of lines. At most 4,096 lines are read ahead of the lines emitted. An exception of
  /// `next` is rethrown when all lines before it have been emitted. The translation of a line does not depend
  /// on other lines, on batches or on the number of threads.
  void translate(const LineSource& next, const TranslateOptions& options,
                 const TranslatedLineReceiver& emit) const;

  /// Scores given translations, with the same outputs as for the model's own. The search settings in `options`
  /// have no effect. Throws an input error if the numbers of lines differ.
  std::vector<Translation> score(std::span<const std::string> sources, std::span<const std::string> targets,
                                 const TranslateOptions& options = {}) const;

  /// Returns the attention weights of a layer (negative: counted from the last) for `source` and `target`, by
  /// default the model's translation. A row of cross-attention belongs to one target token and holds the
  /// weights used to predict it. For self-attention both sides are the tokens that the encoder reads, or those
  /// that the decoder reads, start token included. Of the options, `details` are
  /// ignored. Throws an input error if there is no such layer.
  SentenceAttention attention(const std::string& source, std::optional<std::string> target = {}, int layer = -1,
                              AttentionKind kind = AttentionKind::cross,
                              const TranslateOptions& options = {}) const;

  /// The codes of the languages of a multilingual model that selects its languages by tokens, in ascending
  /// order. Each call chooses two of them (`TranslateOptions::source_language` and `target_language`). Empty
  /// for other models.
  std::vector<std::string> languages() const;

  /// Returns a placeholder for the parts of a document's text that must not be translated: a word that the
  /// model usually copies unchanged. Empty if there is none. The first call finds it by translating
  /// (tasks/translation/placeholder.h). Of the options, only the languages, `shortlist`, `caller` and `cancel`
  /// are used.
  std::string placeholder(const TranslateOptions& options = {}) const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared by copies
};

}  // namespace sixfold
