#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "data/question_reader.h"
#include "program/kit/interrupt.h"
#include "program/kit/model_folder.h"
#include "program/kit/task_program.h"
#include "program/kit/text_io.h"
#include "program/kit/value_option.h"
#include "tasks/question_answering/question_answerer.h"
#include "text/utf8.h"

namespace sixfold::cli {
namespace {

constexpr size_t questions_per_block = 512;

struct AnswerSettings {
  std::string model;
  TextPaths text;
  bool json = false;
  AnswerOptions options;
  RuntimeOptions runtime;
};

/// The text and the question of a line. An answer after them is ignored. Both are empty if the line has no tab.
TextQuestion parse_line(const std::string& line) {
  const size_t tab = line.find('\t');
  if (tab == line.npos) return {};
  return {line.substr(0, tab), line.substr(tab + 1, line.find('\t', tab + 1) - tab - 1)};
}

std::string json_of(const TextAnswer& answer) {
  if (answer.error) return nlohmann::ordered_json{{"error", *answer.error}}.dump();
  return nlohmann::ordered_json{{"answer", answer.text},
                                {"begin", answer.begin},
                                {"end", answer.end},
                                {"probability", answer.probability}}
      .dump();
}

std::string line_of(const TextAnswer& answer) {
  return answer.error ? "" : fmt::format("{}\t{:.6f}", without_line_ends(answer.text), answer.probability);
}

/// Counts the failures and cut texts that are reported at the end.
class Summary {
 public:
  void add(const TextAnswer& answer, const std::string& place) {
    if (answer.error) log_warning("{}: {}", place, *answer.error);
    failed_ += answer.error.has_value();
    cut_ += answer.tokens_cut > 0;
  }
  void finish(TextOutput& output, std::string_view item) const {
    if (cut_ > 0)
      log_warning("{} longer than half of what the model reads at once; what follows was ignored",
                  cut_ == 1 ? "1 question is" : fmt::format("{} questions are", cut_));
    output.close();
    require(failed_ == 0, "{} failed; the others are complete", counted(failed_, item));
  }

 private:
  size_t failed_ = 0, cut_ = 0;
};

void answer_lines(const AnswerSettings& settings, const QuestionAnswerer& answerer, AnswerOptions options) {
  LineBlocks blocks(readable_path(settings.text.input), settings.text.invalid);
  TextOutput output(settings.text.output, {settings.text.input, settings.model});
  const StopOnInterrupt interrupt;
  options.cancel = interrupt.token();
  Summary summary;
  size_t number = 0;
  for (std::vector<std::string> lines; !(lines = blocks.next(questions_per_block)).empty();) {
    std::vector<TextQuestion> questions;
    for (const std::string& line : lines) questions.push_back(parse_line(line));
    std::vector<TextAnswer> answers = answerer.answers(questions, options);
    for (size_t i = 0; i < answers.size(); ++i) {
      if (lines[i].find('\t') == lines[i].npos)
        answers[i].error = has_visible_character(lines[i])
                               ? "expected a text, a tab and a question, but there is no tab"
                               : "the line is empty";
      output.write_line(settings.json ? json_of(answers[i]) : line_of(answers[i]));
      summary.add(answers[i], fmt::format("line {}", ++number));
    }
    output.flush();
  }
  summary.finish(output, "line");
}

/// Writes an object with the answers by id, the input format of SQuAD's evaluation script.
void answer_squad(const AnswerSettings& settings, const QuestionAnswerer& answerer, AnswerOptions options) {
  require(!settings.json,
          "--json: the answers to the questions of a JSON file are JSON in any case; leave it out");
  const std::vector<Passage> texts =
      read_squad(settings.text.input, RightAnswers::optional, settings.text.invalid);
  TextOutput output(settings.text.output, {settings.text.input, settings.model});
  const StopOnInterrupt interrupt;  // created after reading, which a signal may end
  options.cancel = interrupt.token();
  Summary summary;
  auto predictions = nlohmann::json::object();
  std::vector<TextQuestion> block;
  std::vector<const PassageQuestion*> block_questions;
  size_t bytes = 0;
  const auto answer_block = [&] {
    const std::vector<TextAnswer> answers = answerer.answers(block, options);
    for (size_t i = 0; i < answers.size(); ++i) {
      predictions[block_questions[i]->id] = answers[i].text;
      summary.add(answers[i], block_questions[i]->place);
    }
    block.clear(), block_questions.clear();
    bytes = 0;
  };
  for (const Passage& text : texts)
    for (const PassageQuestion& question : text.questions) {
      block.push_back({text.text, question.text});
      block_questions.push_back(&question);
      bytes += text.text.size() + question.text.size();
      if (block.size() == questions_per_block || bytes >= max_bytes_at_once) answer_block();
    }
  answer_block();
  output.write(predictions.dump(1) + "\n");
  summary.finish(output, "question");
}

void run(const AnswerSettings& settings) {
  require_readable(readable_path(settings.text.input));
  const QuestionAnswerer answerer(settings.model, settings.runtime);
  (is_squad_file(settings.text.input) ? answer_squad : answer_lines)(settings, answerer, settings.options);
}

void add_answer(CLI::App& app) {
  const auto settings = std::make_shared<AnswerSettings>();
  CLI::App& command = *app.add_subcommand("answer", "Answer questions by parts of texts");
  add_model_argument(command, settings->model);
  add_text_options(command, settings->text);
  command.add_flag("--json", settings->json,
                   "write a JSON object on each line, with the place of the answer in bytes");
  add_field_options(command, OptionVisitor::AnyOptions(settings->options));
  add_runtime_options(command, settings->runtime);
  command.footer(
      "A line of the input is a text, a tab and a question; a right answer after another tab is ignored. The "
      "output\n"
      "has a line for each: the answer, a tab and its probability. A line that is empty or has no tab has an "
      "empty\n"
      "line, and the exit status is 2. Of a file *.json, which has the form of SQuAD's, the output is a JSON "
      "object\n"
      "of the answers by id, as SQuAD's evaluation script reads it.\n"
      "Example:\n  sixfold answer run/model --input test.tsv");
  command.callback([settings] { run(*settings); });
}

}  // namespace

TaskProgram question_answering_program() {
  return {.name = "question_answering",
          .add_commands = [](Commands& commands) { commands.add(Commands::use, {add_answer}); }};
}

}  // namespace sixfold::cli
