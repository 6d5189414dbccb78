#pragma once
#include <deque>
#include <mutex>

#include "text/sentences.h"
#include "translate/translation.h"

namespace sixfold {

/// Between a stream of paragraphs and a translation of sentences: takes the ones apart and puts the others
/// together. A paragraph's score is the sum of its sentences'.
class Paragraphs {
 public:
  Paragraphs(const std::string& language, const LineSource& next, const TranslatedLineReceiver& emit)
      : splitter_(language), next_(next), emit_(emit) {}

  /// To be translated: one sentence, or an empty line for a paragraph that has none.
  NextLine next_sentence(std::string& sentence, bool wait);
  /// Translated.
  void receive(const TranslatedLine& sentence);

 private:
  struct Paragraph {
    std::string text;
    SplitParagraph split;
    std::vector<std::string> translated = {};
    Translation sum = {};
  };
  SentenceSplitter splitter_;
  const LineSource& next_;
  const TranslatedLineReceiver& emit_;
  size_t sentence_ = 0;  // of the newest paragraph, to be handed out; used by `next_sentence` alone
  size_t emitted_ = 0;   // paragraphs; used by `receive` alone
  std::mutex mutex_;
  std::deque<Paragraph> paragraphs_;  // on their way
};

}  // namespace sixfold
