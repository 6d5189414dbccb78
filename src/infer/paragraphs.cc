#include "infer/paragraphs.h"

#include "text/utf8.h"

namespace sixfold {

NextLine Paragraphs::next_sentence(std::string& sentence, bool wait) {
  if (!paragraphs_.empty() && sentence_ < paragraphs_.back().split.sentences.size()) {
    sentence = paragraphs_.back().split.sentences[sentence_++];
    return NextLine::line;
  }
  Paragraph paragraph;
  const NextLine status = next_(paragraph.line.source, wait);
  if (status != NextLine::line) return status;
  paragraph.split = splitter_.split(replace_invalid_utf8(paragraph.line.source));
  sentence = paragraph.split.sentences.empty() ? "" : paragraph.split.sentences[0];
  sentence_ = 1;
  paragraph.line.translations.resize(1);
  paragraphs_.push_back(std::move(paragraph));
  return NextLine::line;
}

void Paragraphs::receive(const TranslatedLine& sentence) {
  Paragraph& paragraph = paragraphs_.front();
  TranslatedLine& line = paragraph.line;
  Translation& sum = line.translations.front();
  const Translation& best = sentence.translations.front();
  sum.score += best.score;
  sum.log_probability += best.log_probability;
  if (best.reason != FinishReason::end_token) sum.reason = best.reason;
  sum.loops = sum.loops || best.loops;
  line.tokens_cut += sentence.tokens_cut;
  paragraph.translated.push_back(best.text);
  if (paragraph.translated.size() < paragraph.split.sentences.size()) return;
  if (!paragraph.split.sentences.empty()) sum.text = join_sentences(paragraph.split, paragraph.translated);
  line.index = emitted_++;
  const TranslatedLine done = std::move(line);
  paragraphs_.pop_front();
  emit_(done);
}

}  // namespace sixfold
