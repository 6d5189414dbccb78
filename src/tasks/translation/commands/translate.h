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

/// An option of the command and its values.
struct GivenOption {
  std::string name;                 ///< "--beam-size"
  std::vector<std::string> values;  ///< as given, or else the default, if that is a fixed value
  bool file = false;                ///< whether its values are names of files
  bool model = false;               ///< whether its values are model folders
};

/// The arguments of `sixfold translate`.
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
  std::string part;  ///< such as "3/16"; empty: the whole input
  RuntimeOptions runtime;
  std::vector<GivenOption> given;  ///< all options, for the description of a translation in parts
};

/// Prints progress to standard error if that is a terminal. One line is updated as the translation goes on,
/// unless translations are written to the terminal as well. The last line is printed at the end.
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

  bool terminal_, updates_line_;
  int64_t sentences_ = 0;
  Clock::time_point begun_ = Clock::now(), shown_at_ = begun_;
};

/// Logs that the beam is wider than the model's beam size, if `n_best` or `mbr` require that.
void log_wider_beam(const Translator& translator, const TranslateOptions& options);
/// Logs a warning if more than `max_unknown_share` of the tokens are unknown, and one if translations have
/// faults.
void warn_of(const TranslationCounts& counts);

/// Sets `options.generation` and `options.retry`: the generation settings of the model with the changes of
/// `settings`. Throws an input error if a setting is invalid.
void set_generation(const TranslateSettings& settings, const Translator& translator, TranslateOptions& options);

/// The files that the command reads.
std::vector<std::string> inputs_of(const TranslateSettings& settings);

/// Collective. Translates the input in chunks. They are stored in the folder OUTPUT.parts until it has all of
/// them; then the root process joins them. Chunks that already exist are not translated again. With
/// `settings.part`, translates only the chunks of this part and does not join them. Throws an input error for
/// settings that need a single process.
void translate_in_parts(const TranslateSettings& settings, Processes& processes);

}  // namespace sixfold::cli
