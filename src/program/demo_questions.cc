#include <fmt/format.h>

#include <map>
#include <memory>

#include "base/plural.h"
#include "program/commands.h"
#include "program/demo/questions.h"
#include "program/demo_folder.h"
#include "program/kit/value_option.h"

namespace sixfold::cli {
namespace {

using demo::FactQuestion;

struct DemoQuestionsSettings {
  std::string out;
  demo::QuestionOptions questions;
};

std::string lines_of(const std::vector<FactQuestion>& questions) {
  std::string lines;
  for (const FactQuestion& one : questions)
    lines += fmt::format("{}\t{}\t{}\n", one.text, one.question, one.answer);
  return lines;
}

void run(const DemoQuestionsSettings& settings) {
  const demo::Questions questions = demo::make_questions(settings.questions);
  const std::map<std::string, std::string> files{{"train.tsv", lines_of(questions.train)},
                                                 {"valid.tsv", lines_of(questions.valid)},
                                                 {"test.tsv", lines_of(questions.test)}};
  make_demo_folder("--output", settings.out);
  write_demo_files(settings.out, files);
  fmt::print("{}: {}, {} of validation and {} of test, whose texts are not in training\n", settings.out,
             counted(questions.train.size(), "training question"), questions.valid.size(),
             questions.test.size());
}

}  // namespace

void add_demo_questions(CLI::App& app) {
  const auto settings = std::make_shared<DemoQuestionsSettings>();
  CLI::App& command = *app.add_subcommand("demo-questions", "Generate texts that state facts, with questions");
  command
      .add_option("-o,--output,--out", settings->out,
                  "folder for train.tsv, valid.tsv and test.tsv; existing files are never replaced")
      ->type_name("DIR")
      ->required();
  demo::QuestionOptions& questions = settings->questions;
  command.add_option("--texts", questions.train, "number of training texts, with 2 questions each")
      ->capture_default_str();
  command.add_option("--held-out", questions.test, "number of texts in test.tsv, which are not in training")
      ->capture_default_str();
  add_value_option(command, "--seed", questions.seed, "random seed of the facts");
  command.footer(
      "A text says of some people where they live, what they own and the like; a line is a text, a tab, a "
      "question,\n"
      "a tab and the answer, which the text contains.\n"
      "Example:\n  sixfold demo-questions --output demo/questions\n"
      "  sixfold train recipes/spans.yaml --output run");
  command.callback([settings] { run(*settings); });
}

}  // namespace sixfold::cli
