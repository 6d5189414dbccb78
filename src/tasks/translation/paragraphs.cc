#include "tasks/translation/paragraphs.h"

#include <algorithm>

#include "tasks/translation/confidence.h"
#include "text/utf8.h"
#include "text/words.h"

namespace sixfold {
namespace {

/// For each sentence of the text, the index in the whole text of the first word of the sentence. `begins`: the
/// offsets of the sentences. A word that continues across the beginning of a sentence is the first word of it.
std::vector<int> first_words(const std::vector<TextRange>& words, const std::vector<size_t>& begins) {
  std::vector<int> firsts;
  size_t word = 0;
  for (const size_t begin : begins) {
    while (word < words.size() && words[word].end <= begin) ++word;
    firsts.push_back(static_cast<int>(word));
  }
  return firsts;
}

std::vector<size_t> sentence_offsets(const SplitParagraph& split) {
  std::vector<size_t> begins;
  size_t begin = 0;
  for (size_t i = 0; i < split.sentences.size(); ++i) {
    begin += split.spaces[i].size();
    begins.push_back(begin);
    begin += split.sentences[i].size();
  }
  return begins;
}

}  // namespace

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
  paragraphs_.push_back(std::move(paragraph));
  return NextLine::line;
}

/// The translation of a paragraph from those of its sentences with this rank, 0 being the best.
Translation Paragraphs::joined(const Paragraph& paragraph, size_t rank) const {
  Translation sum;
  std::vector<std::string> texts;
  std::vector<std::optional<LineConfidence>> confidences;
  for (const std::vector<Translation>& sentence : paragraph.translated) {
    const Translation& best = sentence[std::min(rank, sentence.size() - 1)];
    texts.push_back(best.text);
    confidences.push_back(best.confidence);
    sum.score += best.score;
    sum.log_probability += best.log_probability;
    if (best.reason != FinishReason::end_token) sum.reason = best.reason;
    sum.faults.loops |= best.faults.loops;
    sum.faults.copies |= best.faults.copies;
    sum.faults.too_long |= best.faults.too_long;
    sum.unmet.insert(sum.unmet.end(), best.unmet.begin(), best.unmet.end());
  }
  sum.confidence = mean_confidence(confidences);
  if (paragraph.split.sentences.empty()) return sum;
  std::vector<size_t> begins;
  sum.text = join_sentences(paragraph.split, texts, &begins);
  const auto words_of = word_parts_ ? word_parts : word_ranges;
  const std::vector<int> targets = first_words(words_of(sum.text), begins);
  const std::vector<int> sources =
      first_words(words_of(replace_invalid_utf8(paragraph.line.source)), sentence_offsets(paragraph.split));
  for (size_t i = 0; i < targets.size(); ++i) {
    const std::vector<Translation>& sentence = paragraph.translated[i];
    for (const auto& [source, target] : sentence[std::min(rank, sentence.size() - 1)].alignment)
      sum.alignment.emplace_back(source + sources[i], target + targets[i]);
  }
  return sum;
}

void Paragraphs::receive(const TranslatedLine& sentence) {
  Paragraph& paragraph = paragraphs_.front();
  TranslatedLine& line = paragraph.line;
  line.tokens_cut += sentence.tokens_cut;
  line.retried |= sentence.retried;
  paragraph.translated.push_back(sentence.translations);
  if (paragraph.translated.size() < paragraph.split.sentences.size()) return;
  size_t ranks = 1;
  for (const auto& translations : paragraph.translated) ranks = std::max(ranks, translations.size());
  for (size_t rank = 0; rank < ranks; ++rank) line.translations.push_back(joined(paragraph, rank));
  line.index = emitted_++;
  const TranslatedLine done = std::move(line);
  paragraphs_.pop_front();
  emit_(done);
}

}  // namespace sixfold
