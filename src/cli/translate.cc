#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>

#include "base/plural.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/model_folder.h"
#include "cli/text_io.h"
#include "cli/translation_writer.h"
#include "infer/translator.h"

namespace sixfold::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
  std::string model;
  TextPaths paths;
  TranslateOptions options;
  WriterOptions writer;
  int threads = 0;
  WeightType precision = WeightType::stored;
};

/// Prints progress to standard error if that is a terminal: a line that is updated, unless translations go to
/// the terminal too, and one line at the end.
class Meter {
 public:
  explicit Meter(const std::string& output)
      : terminal_(::isatty(STDERR_FILENO)), renews_(terminal_ && (output != "-" || !::isatty(STDOUT_FILENO))) {}

  /// `done` is the share of the input that has been read, from 0 to 1, or 0 if it is not known.
  void count(double done) {
    ++sentences_;
    const Clock::time_point now = Clock::now();
    if (!renews_ || now - shown_at_ < std::chrono::milliseconds(500)) return;
    shown_at_ = now;
    const double seconds = seconds_until(now);
    const std::string left =
        done > 0 ? fmt::format(", {:.0f} %, {:.0f} s left", 100 * done, seconds * (1 - done) / done) : "";
    fmt::print(stderr, "\r\033[K{}{}", text(seconds), left);
  }

  void finish() const {
    if (terminal_) fmt::print(stderr, "{}{}\n", renews_ ? "\r\033[K" : "", text(seconds_until(Clock::now())));
  }

 private:
  double seconds_until(Clock::time_point now) const {
    return std::chrono::duration<double>(now - begun_).count();
  }
  std::string text(double seconds) const {
    return fmt::format("{}, {:.1f} s, {:.1f} sentences/s", counted(sentences_, "sentence"), seconds,
                       static_cast<double>(sentences_) / std::max(seconds, 1e-3));
  }

  bool terminal_, renews_;
  int64_t sentences_ = 0;
  Clock::time_point begun_ = Clock::now(), shown_at_ = begun_;
};

void run(const Settings& settings) {
  check(settings.writer);
  LineReader input(readable_path(settings.paths.input));
  const Translator translator(settings.model, settings.threads, settings.precision);
  TextOutput output(settings.paths.output, {settings.paths.input, settings.options.shortlist});
  Meter meter(settings.paths.output);
  TranslationWriter writer(output, settings.writer, settings.options.n_best);
  TranslateOptions options = settings.options;
  options.details = settings.writer.details;
  std::atomic<double> done = 0;
  note_interrupts();
  const StopOnInterrupt interrupt;
  options.cancel = interrupt.token();
  const auto next = [&](std::string& line, bool wait) {
    check_interrupt();
    if (!input.ready(std::chrono::milliseconds(wait ? 50 : 0))) return NextLine::none_yet;
    if (!input.next(line)) return NextLine::end;
    make_valid(line, input, settings.paths.invalid);
    done = input.part_read();
    return NextLine::line;
  };
  translator.translate(next, options, [&](const TranslatedLine& line) {
    check_interrupt();
    writer.write(line);
    output.flush();
    meter.count(done);
  });
  writer.finish();
  output.close();
  meter.finish();
}

}  // namespace

void add_translate(CLI::App& app) {
  const auto settings = std::make_shared<Settings>();
  CLI::App& command = *app.add_subcommand("translate", "Translate text line by line");
  add_model_argument(command, settings->model);
  add_text_options(command, settings->paths);
  TranslateOptions& options = settings->options;
  add_writer_options(command, settings->writer);
  command
      .add_option("--n-best", options.n_best,
                  "print this many translations of each line, best first; at most the beam size")
      ->check(CLI::Range(1, 1000))
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option(
          "--split-sentences", options.split_sentences,
          "treat each line as a paragraph: split it into sentences by the rules of this language (en, de, ...)")
      ->type_name("LANGUAGE");
  add_beam_size_option(command, options.beam_size);
  command
      .add_option("--shortlist", options.shortlist,
                  "use only the target tokens that this shortlist allows; made by 'sixfold shortlist'")
      ->type_name("FILE");
  add_translator_options(command, options, settings->precision, settings->threads);
  command.footer(
      "Each input line gives one output line, and an empty line gives an empty line. A line end within a\n"
      "translation becomes a space. Translations are written in the order of the input, each as soon as it is\n"
      "ready.\n"
      "Formats: text has only the translations; tsv has line number, rank, score, text and optional columns;\n"
      "jsonl has an object for each line; json has an array of these objects.\n"
      "Example:\n  sixfold translate run/model --input test.en --output test.de");
  command.callback([settings] { run(*settings); });
}

}  // namespace sixfold::cli
