#include "program/squad_answers.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/plural.h"
#include "data/lines.h"
#include "program/kit/text_io.h"

namespace sixfold::cli {

/// Stands for a missing answer. No right answer is equal to it, even after normalization.
constexpr const char* no_answer = "\x01";

SquadAnswers read_squad_answers(const std::string& path, InvalidUtf8 invalid) {
  SquadAnswers all;
  std::vector<std::vector<RightAnswer>> by_question;
  for (Passage& text : read_squad(path, RightAnswers::required, invalid))
    for (PassageQuestion& question : text.questions) {
      all.ids.push_back(std::move(question.id));
      by_question.push_back(std::move(question.answers));
    }
  require(!all.ids.empty(), "{}: has no questions", path);
  size_t most = 0;
  for (const auto& answers : by_question) most = std::max(most, answers.size());
  all.references.resize(most);
  for (size_t k = 0; k < most; ++k)
    for (const auto& answers : by_question)
      all.references[k].push_back(without_line_ends(answers[k < answers.size() ? k : 0].text));
  return all;
}

std::vector<std::string> read_predictions(const std::string& path, const SquadAnswers& answers) {
  const std::string name = text_name(path);
  const nlohmann::json json = parse_json(LineReader(readable_path(path)).rest(), name);
  const JsonObject object(json, name);
  std::vector<std::string> predictions;
  size_t missing = 0;
  for (const std::string& id : answers.ids) {
    std::string& answer = predictions.emplace_back();
    if (object.has(id.c_str()))
      object.read(id.c_str(), answer);
    else
      answer = no_answer, ++missing;
    answer = without_line_ends(answer);
  }
  if (missing > 0)
    log_warning("{}: has no answer to {}; they count as wrong", name, counted(missing, "question"));
  return predictions;
}

}  // namespace sixfold::cli
