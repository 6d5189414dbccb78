#pragma once
#include "model/config.h"

namespace sixfold {

/// The settings in config.json of a model that answers questions, besides those of its network. A call may
/// override some of them.
struct AnswerSettings {
  static constexpr TaskNetwork network{
      .task = "question_answering", .decoder = false, .head = OutputHead::span};
  int stride = 128;     ///< tokens from one window of a long text to the next
  int max_tokens = 30;  ///< maximum number of tokens of an answer
  int separators = 1;   ///< number of end tokens between a question and a text
};

inline void visit(OptionVisitor& v, AnswerSettings& o) {
  v.field("stride", o.stride,
          "a text that is longer than the model reads at once is read in windows, which begin this many tokens "
          "after each other",
          at_least(1));
  v.field("max_tokens", o.max_tokens, "maximum number of tokens of an answer", at_least(1));
  v.field("separators", o.separators, "number of end tokens between a question and a text", between(1, 2));
}

inline void validate(const AnswerSettings&) {}

}  // namespace sixfold
