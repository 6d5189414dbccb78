#pragma once
#include <deque>

#include "tasks/translation/translation.h"
#include "text/sentences.h"

namespace sixfold {

/// Converts between a stream of paragraphs and a translation of sentences: splits each paragraph into sentences
/// and joins their translations and word alignments. The words of an alignment are counted in the whole
/// paragraph. The n-th best translation of a paragraph consists of the n-th best translation of each sentence,
/// or of the last one if a sentence has fewer. Its score is the sum of the scores of its sentences. The finish
/// reason is that of the last sentence that did not end with an end token, if there is one. Not thread-safe.
class Paragraphs {
 public:
  /// `word_parts`: as in `ExtraOutputs`.
  Paragraphs(const std::string& language, bool word_parts, const LineSource& next,
             const TranslatedLineReceiver& emit)
      : splitter_(language), word_parts_(word_parts), next_(next), emit_(emit) {}

  /// Returns the next sentence to translate, or an empty line for a paragraph without sentences.
  NextLine next_sentence(std::string& sentence, bool wait);
  /// The index of the paragraph of the sentence that was returned last.
  size_t last_read() const { return emitted_ + paragraphs_.size() - 1; }
  /// The index of the paragraph of the sentence whose translation is to be received next.
  size_t next_received() const { return emitted_; }
  /// Takes the translation of the next sentence, and emits the paragraph if it was its last.
  void receive(const TranslatedLine& sentence);

 private:
  struct Paragraph {
    TranslatedLine line;  // the whole paragraph
    SplitParagraph split;
    std::vector<std::vector<Translation>> translated;  // the translations of the sentences so far
  };
  Translation joined(const Paragraph& paragraph, size_t rank) const;

  SentenceSplitter splitter_;
  bool word_parts_;
  const LineSource& next_;
  const TranslatedLineReceiver& emit_;
  size_t sentence_ = 0;               // index of the next sentence of the newest paragraph
  size_t emitted_ = 0;                // number of paragraphs emitted
  std::deque<Paragraph> paragraphs_;  // not emitted yet
};

}  // namespace sixfold
