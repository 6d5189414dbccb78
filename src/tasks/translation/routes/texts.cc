#include "tasks/translation/routes/texts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/join.h"
#include "text/sentences.h"
#include "text/utf8.h"

namespace sixfold::serve {
namespace {

/// A line of a text: its sentences, and its end ("\n", "\r\n" or nothing) with the blank lines after it.
struct Line {
  SplitParagraph parts;
  std::string end;
};

/// A line that is not split: its text without the spaces around it is one sentence.
SplitParagraph unsplit(std::string_view line) {
  const std::string_view inner = trim_spaces(line);
  if (inner.empty()) return {{}, {std::string(line)}};
  const auto begin = static_cast<size_t>(inner.data() - line.data());
  return {{std::string(inner)},
          {std::string(line.substr(0, begin)), std::string(line.substr(begin + inner.size()))}};
}

bool splits_sentences(LineBreaks breaks) {
  return breaks == LineBreaks::lines_and_sentences || breaks == LineBreaks::sentences;
}

void throw_if_cancelled(const TextOptions& options) {
  if (options.translation.cancel.stop_requested()) throw Cancelled();
}

/// Splits a text into lines. Blank lines belong to the end of the line before them.
std::vector<Line> lines_of(const std::string& text, const TextOptions& options,
                           const SentenceSplitter& splitter) {
  const auto parts_of = [&](std::string_view line) {
    return splits_sentences(options.breaks) && !trim_spaces(line).empty() ? splitter.split(line)
                                                                          : unsplit(line);
  };
  if (options.breaks == LineBreaks::sentences || options.breaks == LineBreaks::none)
    return {{parts_of(one_line(text)), ""}};
  std::vector<Line> lines;
  for (size_t begin = 0; begin < text.size();) {
    throw_if_cancelled(options);
    const size_t feed = std::min(text.find('\n', begin), text.size());
    const size_t next = std::min(feed + 1, text.size());
    const size_t end = feed > begin && feed < text.size() && text[feed - 1] == '\r' ? feed - 1 : feed;
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    if (!lines.empty() && trim_spaces(line).empty())
      lines.back().end += text.substr(begin, next - begin);
    else
      lines.push_back({parts_of(line), text.substr(end, next - end)});
    begin = next;
  }
  return lines;
}

/// The text with the translations of this rank, or with the last one where there are fewer.
std::string joined(const std::vector<Line>& lines, std::span<const TranslatedLine> sentences, size_t rank) {
  std::string text;
  size_t next = 0;
  for (const Line& line : lines) {
    std::vector<std::string> translated;
    for (size_t i = 0; i < line.parts.sentences.size(); ++i) {
      const auto& translations = sentences[next++].translations;
      translated.push_back(one_line(translations[std::min(rank, translations.size() - 1)].text));
    }
    text += translated.empty() ? line.parts.spaces[0] : join_sentences(line.parts, translated);
    text += line.end;
  }
  return text;
}

/// Adds an alternative unless the result already has this text.
void add_alternative(TextResult& result, std::string text) {
  if (text != result.text && std::ranges::find(result.alternatives, text) == result.alternatives.end())
    result.alternatives.push_back(std::move(text));
}

/// The maximum number of attention weights in a response. Further sentences and translations have none.
constexpr size_t max_attention_weights = 1'000'000;

std::string translate_one(const std::string& document, size_t number, const TextOptions& options,
                          const TextTranslator& translate) {
  return translate_document(options.kind, document, translate, options.xml, fmt::format("text {}", number + 1));
}

/// A translator that adds texts to `all` and leaves them unchanged.
TextTranslator collector(std::vector<std::string>& all) {
  return [&all](const std::vector<std::string>& texts) {
    all.insert(all.end(), texts.begin(), texts.end());
    std::vector<TranslatedText> unchanged;
    for (const std::string& text : texts) unchanged.push_back({text});
    return unchanged;
  };
}

/// The options for the translator.
TranslateOptions translator_options(const ServedPair& pair, const TextOptions& options, bool keep_symbols) {
  TranslateOptions result = options.translation;
  result.keep_symbols = keep_symbols;
  result.source_language = pair.model->model_code(pair.source);
  result.target_language = pair.model->model_code(pair.target);
  if (options.kind != TextKind::plain) result.details = {.alignment = true, .word_parts = true};
  if (!result.details.layer && result.reads_layer(pair.model->predictor().generation()))
    result.details.layer = pair.model->alignment_layer;
  result.warn_of_cuts = false;
  result.case_languages = {pair.source, pair.target};
  if (!options.constraints.empty())
    result.constraints = [&options](size_t, const std::string&) { return options.constraints; };
  return result;
}

/// Translates documents. A first pass collects the texts of all documents, so that they are translated in one
/// call. A second pass puts the translations in place.
std::vector<TextResult> translate_documents(const ServedPair& pair, std::span<const std::string> documents,
                                            const TextOptions& options, bool keep_symbols) {
  std::vector<std::string> texts;
  std::vector<size_t> begins;
  TranslateOptions translate_options = translator_options(pair, options, keep_symbols);
  translate_options.line_name = "text";
  if (splits_sentences(options.breaks)) translate_options.split_sentences = pair.splitting_language();
  translate_options.kept_word = [&pair, options = translate_options] {
    return pair.model->predictor().placeholder(options);
  };
  TextTranslator collect = collector(texts);
  const auto set_context = [&](TextTranslator& translate) {
    translate.placeholder = translate_options.kept_word;
    translate.source_language = pair.source;
    translate.target_language = pair.target;
  };
  set_context(collect);
  for (size_t i = 0; i < documents.size(); ++i) {
    throw_if_cancelled(options);
    begins.push_back(texts.size());
    translate_one(documents[i], i, options, collect);
  }
  std::vector<std::vector<TranslatedText>> translations;
  std::vector<bool> cut;
  pair.model->predictor().translate(texts, translate_options, [&](const TranslatedLine& line) {
    std::vector<TranslatedText>& best = translations.emplace_back();
    for (const Translation& translation : line.translations)
      best.push_back({translation.text, translation.alignment});
    cut.push_back(line.tokens_cut > 0);
  });
  const auto translation_of_rank = [&](size_t document, size_t rank) {
    TextTranslator replay = [&](const std::vector<std::string>& batch) {
      std::vector<TranslatedText> ranked;
      for (size_t i = 0; i < batch.size(); ++i) {
        const std::vector<TranslatedText>& best = translations[begins[document] + i];
        ranked.push_back(best[std::min(rank, best.size() - 1)]);
      }
      return ranked;
    };
    set_context(replay);
    return translate_one(documents[document], document, options, replay);
  };
  std::vector<TextResult> results;
  for (size_t i = 0; i < documents.size(); ++i) {
    throw_if_cancelled(options);
    results.push_back({translation_of_rank(i, 0)});
    const size_t end = i + 1 < documents.size() ? begins[i + 1] : texts.size();
    for (size_t text = begins[i]; text < end; ++text) results.back().cut += cut[text] ? 1 : 0;
    for (int rank = 1; rank < options.translation.n_best && begins[i] < end; ++rank)
      add_alternative(results.back(), translation_of_rank(i, static_cast<size_t>(rank)));
  }
  return results;
}

/// Translates texts of lines.
std::vector<TextResult> translate_lines(const ServedPair& pair, std::span<const std::string> texts,
                                        const TextOptions& options, bool keep_symbols) {
  std::vector<std::vector<Line>> lines;
  std::vector<std::string> sources;
  const SentenceSplitter splitter(pair.splitting_language());
  for (const std::string& text : texts) {
    throw_if_cancelled(options);
    lines.push_back(lines_of(text, options, splitter));
    for (const Line& line : lines.back())
      sources.insert(sources.end(), line.parts.sentences.begin(), line.parts.sentences.end());
  }
  const TranslateOptions translate_options = translator_options(pair, options, keep_symbols);
  std::vector<TranslatedLine> sentences;
  sentences.reserve(sources.size());
  size_t weights = 0;
  pair.model->predictor().translate(sources, translate_options, [&](const TranslatedLine& line) {
    sentences.push_back(line);
    for (Translation& translation : sentences.back().translations) {
      if (!translation.attention) continue;
      weights += translation.attention->weights.size();
      if (weights > max_attention_weights) translation.attention.reset();
    }
  });
  std::vector<TextResult> results;
  auto next = sentences.begin();
  for (const std::vector<Line>& text_lines : lines) {
    TextResult& result = results.emplace_back();
    size_t count = 0;
    for (const Line& line : text_lines) count += line.parts.sentences.size();
    result.sentences.assign(std::make_move_iterator(next),
                            std::make_move_iterator(next + static_cast<std::ptrdiff_t>(count)));
    next += static_cast<std::ptrdiff_t>(count);
    for (const TranslatedLine& sentence : result.sentences) result.cut += sentence.tokens_cut > 0 ? 1 : 0;
    result.text = joined(text_lines, result.sentences, 0);
    for (int rank = 1; rank < options.translation.n_best && count > 0; ++rank)
      add_alternative(result, joined(text_lines, result.sentences, static_cast<size_t>(rank)));
  }
  return results;
}

}  // namespace

std::vector<TextResult> translate_texts(const ServedPair& pair, std::span<const std::string> texts,
                                        const TextOptions& options, bool keep_symbols) {
  return options.kind == TextKind::plain ? translate_lines(pair, texts, options, keep_symbols)
                                         : translate_documents(pair, texts, options, keep_symbols);
}

std::string text_of(const std::string& document, size_t number, const TextOptions& options) {
  if (options.kind == TextKind::plain) return document;
  std::vector<std::string> texts;
  translate_one(document, number, options, collector(texts));
  return join(texts, "\n");
}

std::vector<TextResult> translate(Service& service, const ServedPair& pair, std::span<const std::string> texts,
                                  const TextOptions& options) {
  const OutputConstraints& constraints = options.constraints;
  const size_t bytes = bytes_of(texts) + constraints.prefix.size() + bytes_of(constraints.phrases) +
                       bytes_of(constraints.banned_phrases);
  service.require_few_bytes(bytes);
  const auto reservation = service.reserve_text_bytes(bytes);
  std::vector<TextResult> results = translate_texts(pair, texts, options, service.options().keep_symbols);
  service.count(options.client, texts);
  size_t cut = 0;
  for (const TextResult& result : results) cut += result.cut;
  service.count_cut_sentences(pair.model->name, cut);
  return results;
}

}  // namespace sixfold::serve
