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

/// The messages that need a translation.
std::vector<PoMessage> missing_messages(std::vector<PoMessage> messages) {
  std::erase_if(messages, [](const PoMessage& one) { return one.is_header() || one.is_translated(); });
  return messages;
}

/// Translates all forms of a message.
std::vector<std::string> translate_forms(const PoMessage& message, const TextTranslator& translate) {
  std::vector<std::string> forms;
  for (size_t i = 0; i < message.translations.size(); ++i)
    forms.push_back(translate_message(source_of(message, i), marks_of(message), translate));
  return forms;
}

/// Whether all forms have the placeholders of their sources. By the flag of a format, programs read each sign
/// of it as one, so that any other would be an error there.
bool keep_format(const PoMessage& message, const std::vector<std::string>& forms) {
  if (message.format_signs.empty()) return true;
  const auto placeholders = [&](const std::string& text) {
    return placeholders_of(text, marks_of(message), message.format_signs);
  };
  for (size_t i = 0; i < forms.size(); ++i)
    if (const auto before = placeholders(source_of(message, i)); !before || before != placeholders(forms[i]))
      return false;
  return true;
}

}  // namespace

std::string translate_po(std::string_view po, const TextTranslator& translate, const std::string& name) {
  const MarkupSource source{po, name};
  require_text(source);
  const std::vector<PoMessage> messages = missing_messages(read_po(source));
  std::vector<std::string> texts;
  TextTranslator collect = [&](const std::vector<std::string>& batch) {
    texts.insert(texts.end(), batch.begin(), batch.end());
    std::vector<TranslatedText> unchanged;
    for (const std::string& text : batch) unchanged.push_back({text});
    return unchanged;
  };
  collect.placeholder = translate.placeholder;
  for (const PoMessage& message : messages) translate_forms(message, collect);
  const TextTranslator translate_once = translator_of_once(translate, name);
  translate_once(texts);  // all of them in one call
  const size_t feed = po.find('\n');
  const std::string line_end = feed != po.npos && feed > 0 && po[feed - 1] == '\r' ? "\r\n" : "\n";
  std::string output;
  size_t written = 0;
  for (const PoMessage& message : messages) {
    const std::vector<std::string> forms = translate_forms(message, translate_once);
    if (!keep_format(message, forms)) continue;  // stays untranslated
    for (size_t i = 0; i < forms.size(); ++i) {
      const PoString& missing = message.translations[i];
      output += po.substr(written, missing.begin - written);
      output += po_literals(forms[i], line_end);
      written = missing.end;
    }
  }
  return output += po.substr(written);
}

}  // namespace sixfold
