#include "translate/paragraphs.h"

#include "text/utf8.h"

namespace sixfold {

NextLine Paragraphs::next_sentence(std::string& sentence, bool wait) {
  {
    const std::lock_guard lock(mutex_);
    if (!paragraphs_.empty() && sentence_ < paragraphs_.back().split.sentences.size()) {
      sentence = paragraphs_.back().split.sentences[sentence_++];
      return NextLine::line;
    }
  }
  Paragraph paragraph;
  const NextLine status = next_(paragraph.text, wait);
  if (status != NextLine::line) return status;
  paragraph.split = splitter_.split(replace_invalid_utf8(paragraph.text));
  sentence = paragraph.split.sentences.empty() ? "" : paragraph.split.sentences[0];
  sentence_ = 1;
  const std::lock_guard lock(mutex_);
  paragraphs_.push_back(std::move(paragraph));
  return NextLine::line;
}

void Paragraphs::receive(const TranslatedLine& sentence) {
  Paragraph done;
  {
    const std::lock_guard lock(mutex_);
    Paragraph& paragraph = paragraphs_.front();
    const Translation& best = sentence.translations[0];
    paragraph.sum.score += best.score;
    paragraph.sum.log_probability += best.log_probability;
    paragraph.translated.push_back(best.text);
    if (paragraph.translated.size() < paragraph.split.sentences.size()) return;
    done = std::move(paragraph);
    paragraphs_.pop_front();
  }
  if (!done.split.sentences.empty()) done.sum.text = join_sentences(done.split, done.translated);
  emit_({emitted_++, std::move(done.text), {std::move(done.sum)}});
}

}  // namespace sixfold
