#pragma once
#include <string>
#include <vector>

#include "data/question_reader.h"

namespace sixfold::cli {

/// The right answers to questions, by id. Tabs and line ends in answers are replaced by spaces, which makes no
/// difference when answers are compared.
struct SquadAnswers {
  std::vector<std::string> ids;
  /// `references[k][i]` is right answer k to question i. A question with fewer than others repeats its first.
  std::vector<std::vector<std::string>> references;
};

/// Reads a JSON file of SQuAD. Throws as `read_squad`.
SquadAnswers read_squad_answers(const std::string& path, InvalidUtf8 invalid);

/// Reads a JSON object with an answer for each id, and returns the answers in the order of `answers.ids`. A
/// question without an answer counts as wrong, as in SQuAD's script, and is reported by a warning. Throws an
/// input error if the file is not such an object.
std::vector<std::string> read_predictions(const std::string& path, const SquadAnswers& answers);

}  // namespace sixfold::cli
