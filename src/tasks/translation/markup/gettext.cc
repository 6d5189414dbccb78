#include <algorithm>

#include "tasks/translation/markup/marked_text.h"
#include "tasks/translation/markup/po_messages.h"
#include "tasks/translation/markup/translate_pieces.h"

namespace sixfold {
namespace {

/// Translates the text of a message, line by line.
std::string translate_message(const std::string& text, TextMarks marks, const TextTranslator& translate) {
  const MarkupSource source{text, "a message"};
  PieceList pieces(source, MarkupLanguage::plain);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    add_marked_text(source, begin, end, marks, pieces);
    begin = end + 1;
  }
  return translate_pieces(source, pieces.take(), MarkupLanguage::plain, translate);
}

/// The source text of plural form `number` of a message.
const std::string& source_of(const PoMessage& message, size_t number) {
  if (message.plural.empty()) return message.id.text;
  return number > 0 || message.translations.size() == 1 ? message.plural : message.id.text;
}

/// Calls `use` with each string that needs a translation, its source text, and the marks in this text.
template <class Use>
void for_each_missing(const std::vector<PoMessage>& messages, const Use& use) {
  for (const PoMessage& message : messages) {
    if (message.is_header() || message.is_translated()) continue;
    const TextMarks marks =
        message.has_percent_signs ? TextMarks::messages_with_percent_signs : TextMarks::messages;
    for (size_t i = 0; i < message.translations.size(); ++i)
      use(message.translations[i], source_of(message, i), marks);
  }
}

}  // namespace

std::string translate_po(std::string_view po, const TextTranslator& translate, const std::string& name) {
  const MarkupSource source{po, name};
  require_text(source);
  const std::vector<PoMessage> messages = read_po(source);
  std::vector<std::string> texts;
  TextTranslator collect = [&](const std::vector<std::string>& batch) {
    texts.insert(texts.end(), batch.begin(), batch.end());
    std::vector<TranslatedText> unchanged;
    for (const std::string& text : batch) unchanged.push_back({text});
    return unchanged;
  };
  collect.placeholder = translate.placeholder;
  for_each_missing(messages, [&](const PoString&, const std::string& text, TextMarks marks) {
    translate_message(text, marks, collect);
  });
  const std::vector<TranslatedText> translations =
      texts.empty() ? std::vector<TranslatedText>() : translate(texts);
  require(translations.size() == texts.size(),
          "{}: {} texts were to be translated, but there are {} translations", name, texts.size(),
          translations.size());
  auto next = translations.begin();
  TextTranslator replay = [&](const std::vector<std::string>& batch) {
    const auto begin = next;
    next += std::ssize(batch);
    return std::vector<TranslatedText>(begin, next);
  };
  replay.placeholder = translate.placeholder;
  const size_t feed = po.find('\n');
  const std::string line_end = feed != po.npos && feed > 0 && po[feed - 1] == '\r' ? "\r\n" : "\n";
  std::string output;
  size_t written = 0;
  for_each_missing(messages, [&](const PoString& missing, const std::string& text, TextMarks marks) {
    output += po.substr(written, missing.begin - written);
    output += po_literals(translate_message(text, marks, replay), line_end);
    written = missing.end;
  });
  return output += po.substr(written);
}

}  // namespace sixfold
