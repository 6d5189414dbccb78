#include "data/question_dataset.h"

#include <array>
#include <utility>

#include "base/error.h"

namespace sixfold {
namespace {

QuestionWindows windows_of(const WindowOptions& options, const StoredQuestion& question,
                           const StoredPassage& text) {
  return {options, std::ssize(question.tokens), std::ssize(text.tokens())};
}

}  // namespace

QuestionDataset::QuestionDataset(IdSequences sequences, Tokenizers tokenizers, const WindowOptions& options,
                                 std::string hash)
    : sequences_(std::move(sequences)),
      tokenizers_(std::move(tokenizers)),
      options_(options),
      hash_(std::move(hash)) {
  for (int64_t i = 0; i < sequences_.size(); ++i) {
    const StoredPassage text(sequences_[i]);
    questions_ += text.questions();
    size_t place = text.first_question();
    for (int32_t k = 0; k < text.questions(); ++k) {
      const auto begin = static_cast<int64_t>(place);
      const StoredQuestion question = text.question_at(place);
      const QuestionWindows windows = windows_of(options_, question, text);
      const size_t before = samples_.size();
      for (int64_t w = 0; w < windows.size(); ++w)
        if (const RowRange range = windows.window(w);
            range.begin <= question.first && question.last < range.end)
          samples_.push_back({i, begin, w});
      without_window_ += samples_.size() == before;
      cut_ += windows.cut() > 0;
    }
  }
  require(!samples_.empty(),
          "data.max_tokens is {}, but no answer of the data fits into what the model then reads of a text; "
          "raise it",
          options_.tokens);
}

int64_t QuestionDataset::longer_answers(int64_t tokens) const {
  int64_t longer = 0;
  for (int64_t i = 0; i < sequences_.size(); ++i) {
    const StoredPassage text(sequences_[i]);
    size_t place = text.first_question();
    for (int32_t k = 0; k < text.questions(); ++k) {
      const StoredQuestion question = text.question_at(place);
      longer += question.last - question.first >= tokens;
    }
  }
  return longer;
}

int64_t QuestionDataset::tokens(int64_t sample, int64_t /*epoch*/) const {
  const StoredPassage text(sequences_[at(sample).text]);
  auto place = static_cast<size_t>(at(sample).question);
  return windows_of(options_, text.question_at(place), text).tokens(at(sample).window);
}

void QuestionDataset::add(int64_t sample, int64_t /*epoch*/, BatchBuilder& batch) const {
  const StoredPassage text(sequences_[at(sample).text]);
  auto place = static_cast<size_t>(at(sample).question);
  const StoredQuestion question = text.question_at(place);
  const std::array answer{question.first, question.last};
  windows_of(options_, question, text).add(at(sample).window, question.tokens, text.tokens(), batch, answer);
}

SampleDescription QuestionDataset::describe(int64_t sample) const {
  const StoredPassage text(sequences_[at(sample).text]);
  auto place = static_cast<size_t>(at(sample).question);
  const StoredQuestion question = text.question_at(place);
  return {"question",
          {{"text", text.text()},
           {"question", tokenizers_.source->decode(question.tokens)},
           {"answer", question.answers[0]}}};
}

}  // namespace sixfold
