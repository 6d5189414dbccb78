#pragma once
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/question_windows.h"
#include "data/stored_questions.h"
#include "data/token_corpus.h"
#include "text/tokenizers.h"

namespace sixfold {

/// Questions about texts, as `question_encoder` stores them, for an encoder. A sample is a window of a text
/// that contains the whole answer to a question: the first answer, if several are right.
class QuestionDataset final : public Dataset {
 public:
  /// Throws an input error if no answer fits into a window.
  QuestionDataset(IdSequences sequences, Tokenizers tokenizers, const WindowOptions& options, std::string hash);

  std::vector<EpochOrder::Part> parts() const override { return {{std::ssize(samples_), 1}}; }
  int64_t tokens(int64_t sample, int64_t epoch) const override;
  void add(int64_t sample, int64_t epoch, BatchBuilder& batch) const override;
  SampleDescription describe(int64_t sample) const override;
  std::string hash() const override { return hash_; }

  int64_t questions() const { return questions_; }
  /// The number of questions whose answer is in no window.
  int64_t without_window() const { return without_window_; }
  /// The number of questions whose end is cut off.
  int64_t cut() const { return cut_; }

  /// The number of questions whose answer has more than `tokens` tokens.
  int64_t longer_answers(int64_t tokens) const;

  /// The texts with all their questions, in order.
  const IdSequences& texts() const { return sequences_; }
  const WindowOptions& windows() const { return options_; }

 private:
  struct Sample {
    int64_t text;      ///< index of its sequence
    int64_t question;  ///< offset of the question in the sequence
    int64_t window;
  };
  const Sample& at(int64_t sample) const { return samples_[static_cast<size_t>(sample)]; }

  IdSequences sequences_;
  Tokenizers tokenizers_;
  WindowOptions options_;
  std::string hash_;
  std::vector<Sample> samples_;
  int64_t questions_ = 0, without_window_ = 0, cut_ = 0;
};

}  // namespace sixfold
