#include "tasks/question_answering/scores.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tasks/question_answering/answer_reader.h"
#include "tasks/question_answering/settings.h"

namespace sixfold {
namespace {

/// The maximum number of text tokens in memory at the same time. A text counts once for each of its questions.
/// Only the windows of one batch are in memory.
int64_t block_tokens(int64_t batch_tokens) { return 8 * batch_tokens; }

/// Questions that are answered together, and their reference answers.
struct Block {
  AnswerReader reader;
  std::vector<std::shared_ptr<const LocatedText>> texts;  // by question
  std::vector<std::vector<std::string>> answers;          // by question
};

/// Answers the questions, and appends the statistics of each answer to `results`.
void answer(const Transformer& model, Block& block, const ValidationScores& scores,
            const std::shared_ptr<Arena>& arena, std::vector<double>& results) {
  for (std::vector<Batch> batches; !(batches = block.reader.next_batches(1)).empty();) {
    Context context(model.backend(), arena);
    block.reader.read(model, batches[0], context);
  }
  for (size_t i = 0; i < block.texts.size(); ++i) {
    const auto found = block.reader.answer(i).value_or(FoundSpan());
    const std::string answer = block.texts[i]->text.substr(found.begin, found.end - found.begin);
    const std::vector<double> numbers = scores.numbers_of(answer, block.answers[i]);
    results.insert(results.end(), numbers.begin(), numbers.end());
  }
}

/// Adds the results of the questions in their order, which does not depend on the number of processes.
void add_all(ValidationScores& scores, const std::vector<std::vector<double>>& results,
             const QuestionDataset& data) {
  std::vector<size_t> next(results.size(), 0);
  for (int64_t i = 0; i < data.texts().size(); ++i) {
    const auto process = static_cast<size_t>(i) % results.size();
    for (int32_t k = 0; k < StoredPassage(data.texts()[i]).questions(); ++k, next[process] += scores.size())
      scores.add(std::span(results[process]).subspan(next[process], scores.size()));
  }
}

}  // namespace

Scores answer_scores(const Transformer& model, const QuestionDataset& data,
                     const MetricValidationOptions& validation, int64_t batch_tokens,
                     const EvaluationRun& run) {
  ValidationScores scores(validation.table, validation.names, {});
  const auto new_block = [&] {
    return Block{
        {data.windows(), batch_tokens, settings_of<AnswerSettings>(model.config()).max_tokens}, {}, {}};
  };
  std::vector<double> local_results;
  Block block = new_block();
  int64_t tokens = 0;
  for (int64_t i = run.processes.rank(); i < data.texts().size(); i += run.processes.size()) {
    const StoredPassage stored(data.texts()[i]);
    const auto text = std::make_shared<LocatedText>(stored.text(), stored.located());
    size_t place = stored.first_question();
    for (int32_t k = 0; k < stored.questions(); ++k) {
      StoredQuestion question = stored.question_at(place);
      block.reader.add(text, {question.tokens.begin(), question.tokens.end()});
      block.texts.push_back(text);
      block.answers.push_back(std::move(question.answers));
      if ((tokens += std::ssize(text->tokens)) < block_tokens(batch_tokens)) continue;
      answer(model, block, scores, run.arena, local_results);
      block = new_block();
      tokens = 0;
    }
  }
  answer(model, block, scores, run.arena, local_results);
  add_all(scores, run.processes.all_gather_numbers(local_results), data);
  return scores.scores();
}

int64_t answer_score_bytes(const QuestionDataset& data, int64_t batch_tokens) {
  int64_t longest = 0;
  for (int64_t i = 0; i < data.texts().size(); ++i)
    longest = std::max(longest, std::ssize(StoredPassage(data.texts()[i]).tokens()));
  constexpr int64_t bytes_per_token = 128;  // its id, offsets, text and scores
  return (block_tokens(batch_tokens) + longest) * bytes_per_token;
}

}  // namespace sixfold
