#include "serve/http/http.h"

#include <algorithm>

#include "base/ascii.h"

namespace sixfold::serve {
namespace {

constexpr size_t max_fields = 4096;

/// A name or a value of a form.
std::string decoded(std::string_view text) {
  std::string spaced(text);
  std::ranges::replace(spaced, '+', ' ');
  return percent_decoded(spaced);
}

}  // namespace

std::string percent_decoded(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0) {
      result += static_cast<char>(16 * hex_digit(text[i + 1]) + hex_digit(text[i + 2]));
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

std::multimap<std::string, std::string> parse_form(std::string_view text) {
  std::multimap<std::string, std::string> fields;
  while (!text.empty()) {
    const std::string_view field = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(field.size() + 1, text.size()));
    const size_t equals = std::min(field.find('='), field.size());
    if (field.empty()) continue;
    if (fields.size() == max_fields)
      throw HttpError(400, "A form has " + std::to_string(max_fields) + " fields at most.");
    fields.emplace(decoded(field.substr(0, equals)), decoded(field.substr(std::min(equals + 1, field.size()))));
  }
  return fields;
}

std::string HttpRequest::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

std::string HttpRequest::content_type() const {
  const std::string value = header("content-type");
  std::string type = value.substr(0, value.find(';'));
  while (!type.empty() && type.back() == ' ') type.pop_back();
  return ascii_lower(type);
}

}  // namespace sixfold::serve
