#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "base/trim.h"
#include "program/kit/image_blocks.h"
#include "program/kit/interrupt.h"
#include "program/kit/model_folder.h"
#include "program/kit/task_program.h"
#include "program/kit/text_io.h"
#include "tasks/classification/classifier.h"
#include "text/utf8.h"

namespace sixfold::cli {
namespace {

constexpr size_t lines_per_block = 2048;

struct ClassifySettings {
  std::string model;
  TextPaths text;
  bool json = false;
  RuntimeOptions runtime;
};

std::string json_of(const Classification& result, const std::vector<std::string>& labels) {
  if (result.error)
    return nlohmann::ordered_json{{"error", replace_invalid_utf8(*result.error)}}.dump();  // a path
  nlohmann::ordered_json probabilities;
  for (size_t i = 0; i < labels.size(); ++i) probabilities[labels[i]] = result.probabilities[i];
  return nlohmann::ordered_json{{"label", result.label}, {"probabilities", probabilities}}.dump();
}

std::string line_of(const Classification& result) {
  return result.error ? "" : fmt::format("{}\t{:.6f}", result.label, result.probability);
}

/// Writes a line for each input, and counts the failures and cut texts that are reported at the end.
class Results {
 public:
  Results(const ClassifySettings& settings, const Classifier& classifier)
      : json_(settings.json),
        classifier_(classifier),
        output_(settings.text.output, {settings.text.input, settings.model}) {}

  void write(const Classification& result, const std::string& place) {
    output_.write_line(json_ ? json_of(result, classifier_.labels()) : line_of(result));
    if (result.error) log_warning("{}: {}", place, *result.error);
    failed_ += result.error.has_value();
    cut_ += result.tokens_cut > 0;
  }
  void flush() { output_.flush(); }
  void finish(std::string_view item) {
    if (cut_ > 0)
      log_warning("{} longer than the model reads; what follows was ignored",
                  cut_ == 1 ? "1 text is" : fmt::format("{} texts are", cut_));
    output_.close();
    require(failed_ == 0, "{} failed; the others are complete", counted(failed_, item));
  }

 private:
  bool json_;
  const Classifier& classifier_;
  TextOutput output_;
  size_t failed_ = 0, cut_ = 0;
};

/// Warns if the first line of the input begins with a label and a tab, as lines of training data do.
void warn_of_labels(const std::string& line, const std::vector<std::string>& labels) {
  const size_t tab = line.find('\t');
  const std::string_view beginning = without_blanks(std::string_view(line).substr(0, tab));
  if (tab == line.npos || std::ranges::find(labels, beginning) == labels.end()) return;
  log_warning(
      "line 1 begins with the label '{}' and a tab, which are classified as a part of the text; cut -f2 "
      "leaves the text alone",
      beginning);
}

void classify_lines(const Classifier& classifier, LineBlocks& blocks, Results& results) {
  const StopOnInterrupt interrupt;
  size_t line = 0;
  for (std::vector<std::string> lines; !(lines = blocks.next(lines_per_block)).empty();) {
    if (line == 0) warn_of_labels(lines[0], classifier.labels());
    for (const Classification& result : classifier.classify(lines, {.cancel = interrupt.token()}))
      results.write(result, fmt::format("line {}", ++line));
    results.flush();
  }
  results.finish("line");
}

void classify_images(const Classifier& classifier, ImageReader& reader, const std::string& output,
                     Results& results) {
  const StopOnInterrupt interrupt;
  process_images<Classification>(
      reader, output,
      [&](std::span<const Image> images) {
        return classifier.classify_images(images, {.cancel = interrupt.token()});
      },
      [&](const Classification& result, const std::string& place) { results.write(result, place); },
      [&] { results.flush(); });
  results.finish("image");
}

void run(const ClassifySettings& settings) {
  const std::string input = readable_path(settings.text.input);
  const Classifier classifier(settings.model, settings.runtime);
  if (classifier.reads_images()) {
    require(settings.text.invalid == InvalidUtf8::error,
            "--invalid-utf8 is for texts, but {} classifies images", settings.model);
    ImageReader reader(input);
    Results results(settings, classifier);
    return classify_images(classifier, reader, settings.text.output, results);
  }
  LineBlocks blocks(input, settings.text.invalid);
  Results results(settings, classifier);
  classify_lines(classifier, blocks, results);
}

void add_classify(CLI::App& app) {
  const auto settings = std::make_shared<ClassifySettings>();
  CLI::App& command =
      *app.add_subcommand("classify", "Label each line of a text, or each image, with a classifier");
  add_model_argument(command, settings->model);
  add_text_options(command, settings->text);
  command.add_flag("--json", settings->json, "write a JSON object on each line, with all probabilities");
  add_runtime_options(command, settings->runtime);
  command.footer(
      "The output has a line for each line of the input: the likeliest label, a tab and its probability. An "
      "empty\n"
      "line has no label: its line of the output is empty, and the exit status is 2. A classifier of images "
      "reads\n"
      "an IDX file, an image file (PNG, JPEG, PPM or PGM), or a text that has the name of one on each line.\n"
      "Example:\n  sixfold classify run/model --input reviews.txt");
  command.callback([settings] { run(*settings); });
}

}  // namespace

TaskProgram classification_program() {
  return {.name = "classification",
          .add_commands = [](Commands& commands) { commands.add(Commands::use, {add_classify}); }};
}

}  // namespace sixfold::cli
