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

TextMarks marks_of(const PoMessage& message) {
  return message.has_percent_signs ? TextMarks::messages_with_percent_signs : TextMarks::messages;
}

/// Calls `use` with each message that needs translations, and the number of each of its forms.
template <class Use>
void for_each_missing(const std::vector<PoMessage>& messages, const Use& use) {
  for (const PoMessage& message : messages) {
    if (message.is_header() || message.is_translated()) continue;
    for (size_t i = 0; i < message.translations.size(); ++i) use(message, i);
  }
}

/// Whether a translation has the placeholders of its source. By the flag of a format, programs read each sign
/// of it as one, so that any other would be an error there.
bool keeps_format(const PoMessage& message, const std::string& text, const std::string& translation) {
  if (message.format_signs.empty()) return true;
  const auto before = placeholders_of(text, marks_of(message), message.format_signs);
  return before && before == placeholders_of(translation, marks_of(message), message.format_signs);
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
  for_each_missing(messages, [&](const PoMessage& message, size_t form) {
    translate_message(source_of(message, form), marks_of(message), collect);
  });
  const TextTranslator translate_once = translator_of_once(translate, name);
  translate_once(texts);  // all of them in one call
  const size_t feed = po.find('\n');
  const std::string line_end = feed != po.npos && feed > 0 && po[feed - 1] == '\r' ? "\r\n" : "\n";
  std::string output;
  size_t written = 0;
  for_each_missing(messages, [&](const PoMessage& message, size_t form) {
    const std::string& text = source_of(message, form);
    const std::string translation = translate_message(text, marks_of(message), translate_once);
    if (!keeps_format(message, text, translation)) return;  // stays untranslated
    const PoString& missing = message.translations[form];
    output += po.substr(written, missing.begin - written);
    output += po_literals(translation, line_end);
    written = missing.end;
  });
  return output += po.substr(written);
}

}  // namespace sixfold
