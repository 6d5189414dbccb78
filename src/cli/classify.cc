#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/model_folder.h"
#include "cli/text_io.h"
#include "infer/classifier.h"

namespace sixfold::cli {
namespace {

constexpr size_t block_lines = 2048;

struct Settings {
  std::string model;
  TextPaths text;
  bool json = false;
  int threads = 0;
  WeightType precision = WeightType::stored;
};

std::string json_of(const Classification& result, const std::vector<std::string>& labels) {
  if (result.error) return nlohmann::ordered_json{{"error", *result.error}}.dump();
  nlohmann::ordered_json probabilities;
  for (size_t i = 0; i < labels.size(); ++i) probabilities[labels[i]] = result.probabilities[i];
  return nlohmann::ordered_json{{"label", result.label}, {"probabilities", probabilities}}.dump();
}

std::string line_of(const Classification& result) {
  return result.error ? "" : fmt::format("{}\t{:.6f}", result.label, result.probability);
}

/// Reads the next lines of the input; none at its end.
std::vector<std::string> next_lines(LineReader& reader, InvalidUtf8 invalid) {
  std::vector<std::string> lines;
  for (std::string line; lines.size() < block_lines && next_line(reader, line);) {
    make_valid(line, reader, invalid);
    lines.push_back(line);
  }
  return lines;
}

void run(const Settings& settings) {
  LineReader reader(readable_path(settings.text.input));
  const Classifier classifier(settings.model, settings.threads, settings.precision);
  TextOutput output(settings.text.output, {settings.text.input});
  note_interrupts();
  const StopOnInterrupt interrupt;
  size_t first = 1, failed = 0, cut = 0;
  for (std::vector<std::string> lines; !(lines = next_lines(reader, settings.text.invalid)).empty();
       first += lines.size()) {
    const auto results = classifier.classify(lines, {.cancel = interrupt.token()});
    for (size_t i = 0; i < results.size(); ++i) {
      const Classification& result = results[i];
      output.write_line(settings.json ? json_of(result, classifier.labels()) : line_of(result));
      if (result.error) log_warning("line {}: {}", first + i, *result.error);
      failed += result.error.has_value();
      cut += result.tokens_cut > 0;
    }
    output.flush();
  }
  if (cut > 0)
    log_warning("{} longer than the model reads; their ends were ignored",
                cut == 1 ? "1 text is" : fmt::format("{} texts are", cut));
  output.close();
  require(failed == 0, "{} failed; the others are complete", counted(failed, "line"));
}

}  // namespace

void add_classify(CLI::App& app) {
  const auto settings = std::make_shared<Settings>();
  CLI::App& command = *app.add_subcommand("classify", "Label each line of a text with a classifier");
  add_model_argument(command, settings->model);
  add_text_options(command, settings->text);
  command.add_flag("--json", settings->json, "write a JSON object on each line, with all probabilities");
  add_engine_options(command, settings->precision, settings->threads);
  command.footer(
      "The output has a line for each line of the input: the likeliest label, a tab and its probability. An "
      "empty\n"
      "line has no label: its line of the output is empty, and the exit status is 2.\n"
      "Example:\n  sixfold classify run/model --input reviews.txt");
  command.callback([settings] { run(*settings); });
}

}  // namespace sixfold::cli
