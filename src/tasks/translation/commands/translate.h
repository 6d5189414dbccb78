#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "program/kit/model_folder.h"
#include "program/kit/text_io.h"
#include "tasks/translation/commands/constraint_files.h"
#include "tasks/translation/commands/translation_writer.h"
#include "tasks/translation/text_translator.h"
#include "train/distributed/processes.h"

namespace sixfold::cli {

/// An option of the command, as it was given.
struct GivenOption {
  std::string name;                 ///< "--beam-size"
  std::vector<std::string> values;  ///< its default where it was not given, if that is a fixed value
  bool file = false;                ///< whether its value is the name of a file
  bool model = false;               ///< or that of a model folder
};

/// What `sixfold translate` was asked for.
struct TranslateSettings {
  std::string model;
  TextPaths paths;
  ConstraintPaths constraints;
  TranslateOptions options;
  GenerationOverrides generation;
  std::vector<std::string> retry;  ///< settings as KEY=VALUE; none: no line is translated again
  WriterOptions writer;
  TextKind markup = TextKind::plain;  ///< lines of text, or a document
  XmlOptions xml;
  bool no_outline_detection = false;
  std::optional<bool> keep_symbols;  ///< default: unless the model is imported
  std::string part;                  ///< "3/16"; empty: all
  RuntimeOptions runtime;
  std::vector<GivenOption> given;  ///< all options, for the description of a translation in parts
};

/// Prints progress to standard error if that is a terminal: a line that is updated, unless translations go to
/// the terminal too, and one line at the end.
class TranslationMeter {
 public:
  explicit TranslationMeter(const std::string& output);
  /// To be called for each sentence. `done` is the share of the input that has been read, from 0 to 1, or 0 if
  /// it is not known.
  void count(double done);
  void finish() const;

 private:
  using Clock = std::chrono::steady_clock;
  double seconds_until(Clock::time_point now) const {
    return std::chrono::duration<double>(now - begun_).count();
  }
  std::string text(double seconds) const;

  bool terminal_, renews_;
  int64_t sentences_ = 0;
  Clock::time_point begun_ = Clock::now(), shown_at_ = begun_;
};

/// Says on standard error that the search is wider than the model's own, if `n_best` asks for that.
void say_widened(const Translator& translator, const TranslateOptions& options);
/// Logs a warning if more than `max_unknown_share` of the tokens are unknown, and one if translations have
/// faults.
void warn_of(const TranslationCounts& counts);

/// Completes the options by what the settings change of the model's search. Throws an input error.
void choose_search(const TranslateSettings& settings, const Translator& translator, TranslateOptions& options);

/// The files that the command reads.
std::vector<std::string> inputs_of(const TranslateSettings& settings);

/// Collective. Translates the input in chunks, which are kept in the folder OUTPUT.parts until all are there;
/// then the root joins them. Chunks that are there already are not translated again. With `settings.part` only
/// those of the part are made, and not joined. Throws an input error for settings that need one process.
void translate_in_parts(const TranslateSettings& settings, Processes& processes);

}  // namespace sixfold::cli
