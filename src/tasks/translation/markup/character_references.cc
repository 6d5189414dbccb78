#include "tasks/translation/markup/character_references.h"

#include <gumbo.h>
#include <unicode/utf8.h>

#include <charconv>
#include <memory>

#include "base/ascii.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

constexpr std::string_view replacement_character = "\uFFFD";

bool may_continue(char c) { return is_ascii_letter(c) || is_ascii_digit(c) || c == '#'; }

/// Decodes a reference by gumbo, as the content of a title, which may contain references but no tags.
std::string decode_html(std::string_view reference) {
  GumboOptions options = kGumboDefaultOptions;
  options.max_errors = 0;
  options.fragment_context = GUMBO_TAG_TITLE;
  const auto destroy = [&](GumboOutput* output) { gumbo_destroy_output(&options, output); };
  const std::unique_ptr<GumboOutput, decltype(destroy)> output(
      gumbo_parse_with_options(&options, reference.data(), reference.size()), destroy);
  std::string text;
  const GumboVector& children = output->root->v.element.children;
  for (unsigned i = 0; i < children.length; ++i) {
    const auto* node = static_cast<const GumboNode*>(children.data[i]);
    if (node->type == GUMBO_NODE_TEXT || node->type == GUMBO_NODE_WHITESPACE) text += node->v.text.text;
  }
  return text;
}

/// Whether XML 1.0 allows a character (section 2.2).
bool is_xml_character(uint32_t c) {
  return c == '\t' || c == '\n' || c == '\r' || (c >= 0x20 && c < 0xD800) || (c >= 0xE000 && c < 0xFFFE) ||
         (c >= 0x10000 && c <= 0x10FFFF);
}

std::string decode_xml(std::string_view reference) {
  static const std::unordered_map<std::string_view, std::string_view> names{
      {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&apos;", "'"}};
  if (const auto found = names.find(reference); found != names.end()) return std::string(found->second);
  if (!reference.starts_with("&#") || !reference.ends_with(";")) return std::string(reference);
  const bool hexadecimal = reference.starts_with("&#x");
  const std::string_view digits =
      reference.substr(hexadecimal ? 3 : 2, reference.size() - (hexadecimal ? 4 : 3));
  uint32_t character = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), character, hexadecimal ? 16 : 10);
  if (error != std::errc() || end != digits.data() + digits.size() || !is_xml_character(character))
    return std::string(reference);
  char bytes[U8_MAX_LENGTH];
  size_t size = 0;
  U8_APPEND_UNSAFE(bytes, size, character);
  return {bytes, size};
}

}  // namespace

size_t CharacterReferences::length(std::string_view text) {
  size_t end = 1;
  while (end < text.size() && may_continue(text[end])) ++end;
  return end + (end < text.size() && text[end] == ';' ? 1 : 0);
}

const std::string& CharacterReferences::decode(std::string_view reference) {
  if (language_ == MarkupLanguage::plain ||
      (language_ == MarkupLanguage::markdown && !reference.ends_with(';')))
    return plain_ = reference;
  constexpr size_t max_cached = 4096;  // a document may have millions of different references
  const std::string key(reference);
  if (const auto found = decoded_.find(key); found != decoded_.end()) return found->second;
  if (decoded_.size() >= max_cached) decoded_.clear();
  return decoded_[key] = language_ == MarkupLanguage::xml || language_ == MarkupLanguage::xliff
                             ? decode_xml(reference)
                             : decode_html(reference);
}

std::string CharacterReferences::decode_text(std::string_view text) {
  std::string result;
  const bool backslashes = language_ == MarkupLanguage::markdown;
  while (!text.empty()) {
    const size_t plain = std::min(text.find_first_of(backslashes ? "&\\" : "&"), text.size());
    result += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    if (text[0] == '\\') {
      const size_t size = text.size() > 1 && is_ascii_punctuation(text[1]) ? 2 : 1;
      result += text[size - 1];
      text.remove_prefix(size);
      continue;
    }
    const size_t size = length(text);
    result += decode(text.substr(0, size));
    text.remove_prefix(size);
  }
  return result;
}

std::string escape_markup(std::string_view text) {
  std::string valid;
  if (first_invalid_utf8(text)) text = valid = replace_invalid_utf8(text);
  std::string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    UChar32 c;
    U8_NEXT_UNSAFE(text.data(), i, c);
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else
      result +=
          is_xml_character(static_cast<uint32_t>(c)) ? text.substr(begin, i - begin) : replacement_character;
  }
  return result;
}

std::string escape_markdown(std::string_view text, char before) {
  const auto is_alphanumeric = [](char c) { return is_ascii_letter(c) || is_ascii_digit(c) || c < 0; };
  const bool at_line_begin = before == '\n';
  const size_t number_size = at_line_begin ? std::min(text.find_first_not_of("0123456789"), text.size()) : 0;
  std::string result;
  for (size_t i = 0; i < text.size(); before = text[i++]) {
    const char c = text[i], after = i + 1 < text.size() ? text[i + 1] : ' ';
    const bool escaped =
        std::string_view("\\*`[]<|~").find(c) != std::string_view::npos ||
        (c == '_' && !(is_alphanumeric(before) && is_alphanumeric(after))) ||
        (c == '&' && (is_ascii_letter(after) || after == '#')) || (c == '#' && !is_alphanumeric(before)) ||
        ((c == '(' || c == ':') && before == ']') ||
        (at_line_begin && i == 0 && std::string_view(">+-=").find(c) != std::string_view::npos) ||
        (number_size > 0 && i == number_size && (c == '.' || c == ')'));
    if (escaped) result += '\\';
    result += c;
  }
  return result;
}

}  // namespace sixfold
