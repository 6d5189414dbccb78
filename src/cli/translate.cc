#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/model_folder.h"
#include "cli/named_option.h"
#include "cli/text_io.h"
#include "translate/translator.h"

namespace sixfold::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
  std::string model;
  TextPaths paths;
  TranslateOptions options;
  int threads = 0;
  WeightType precision = WeightType::stored;
};

/// How far the work is, on standard error if that is a terminal: a line that renews itself, unless translations
/// go to the terminal as well, and one at the end.
class Meter {
 public:
  explicit Meter(const std::string& output)
      : terminal_(::isatty(STDERR_FILENO)), renews_(terminal_ && (output != "-" || !::isatty(STDOUT_FILENO))) {}

  void count() {
    ++sentences_;
    const Clock::time_point now = Clock::now();
    if (!renews_ || now - shown_at_ < std::chrono::milliseconds(500)) return;
    shown_at_ = now;
    fmt::print(stderr, "\r\033[K{}", text(now));
  }

  void finish() const {
    if (terminal_) fmt::print(stderr, "{}{}\n", renews_ ? "\r\033[K" : "", text(Clock::now()));
  }

 private:
  std::string text(Clock::time_point now) const {
    const double seconds = std::chrono::duration<double>(now - begun_).count();
    return fmt::format("{} sentences, {:.1f} s, {:.1f} sentences/s", sentences_, seconds,
                       static_cast<double>(sentences_) / std::max(seconds, 1e-3));
  }

  bool terminal_, renews_;
  int64_t sentences_ = 0;
  Clock::time_point begun_ = Clock::now(), shown_at_ = begun_;
};

/// The lines to translate next: waits for one, and takes with it what comes within an instant, up to a bound.
/// So a file comes in large blocks, and a line that is typed is answered at once. Empty at the end.
std::vector<std::string> read_block(LineReader& input, InvalidUtf8 invalid) {
  constexpr size_t most_lines = 4096, most_bytes = 1 << 22;
  constexpr auto instant = std::chrono::milliseconds(50);
  std::vector<std::string> block;
  Clock::time_point deadline{};
  size_t bytes = 0;
  std::string line;
  while (block.size() < most_lines && bytes < most_bytes) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (!block.empty() && !input.ready(std::max(left, std::chrono::milliseconds(0)))) break;
    if (!input.next(line)) break;
    if (block.empty()) deadline = Clock::now() + instant;
    make_valid(line, input, invalid);
    bytes += line.size();
    block.push_back(line);
  }
  return block;
}

void run(const Settings& settings) {
  LineReader input(readable_path(settings.paths.input));
  TextOutput output(settings.paths.output);
  const Translator translator(settings.model, settings.threads, settings.precision);
  Meter meter(settings.paths.output);
  TranslateOptions options = settings.options;
  for (;;) {
    const std::vector<std::string> block = read_block(input, settings.paths.invalid);
    if (block.empty()) break;
    translator.translate(block, options, [&](size_t, const std::string& translation) {
      output.write(translation + "\n");
      output.flush();
      meter.count();
    });
    options.first_line += block.size();
  }
  output.close();
  meter.finish();
}

}  // namespace

void add_translate(CLI::App& app) {
  const auto settings = std::make_shared<Settings>();
  CLI::App& command = *app.add_subcommand("translate", "Translate text, a line at a time");
  add_model_argument(command, settings->model);
  add_text_options(command, settings->paths);
  TranslateOptions& options = settings->options;
  command
      .add_option("--beam-size", options.beam_size, "hypotheses kept; 1 is greedy search [as the model says]")
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  command
      .add_option("--batch-tokens", options.batch_tokens,
                  "tokens that a thread decodes at once [as suits the model's size]")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  command
      .add_option("--max-source-length", options.max_source_length,
                  "symbols; a longer line is cut, with a warning")
      ->check(CLI::PositiveNumber)
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--target-language", options.target_language,
                  "for models of several: deu puts >>deu<< before each line; info lists them")
      ->type_name("CODE");
  command
      .add_option("--shortlist", options.shortlist,
                  "put out only what a source's symbols may become: a file of sixfold shortlist")
      ->type_name("FILE");
  add_named_option(command, "--precision", settings->precision,
                   "products in fp32 or int8, which takes less time and memory [as the model is stored]");
  command.add_option("--threads", settings->threads, "0: as many as there are")
      ->check(CLI::Range(0, 1024))
      ->type_name("N")
      ->capture_default_str();
  command.footer(
      "An empty line gives an empty line. Translations come in the order of the input, each as soon as\n"
      "it is ready, also while the input goes on.\n"
      "Example:\n  sixfold translate run/model --input test.en --output test.de");
  command.callback([settings] { run(*settings); });
}

}  // namespace sixfold::cli
