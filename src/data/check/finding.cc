#include "data/check/finding.h"

#include <fmt/format.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <nlohmann/json.hpp>

#include "text/utf8.h"

namespace sixfold {

std::string as_example(std::string_view text) {
  constexpr int64_t max_characters = 120;
  std::string example = one_line(replace_invalid_utf8(text));
  std::string visible;
  int64_t characters = 0;
  for (size_t i = 0; i < example.size();) {
    const size_t begin = i;
    UChar32 c = 0;
    U8_NEXT(example.data(), i, example.size(), c);
    if (++characters > max_characters) return visible + "...";
    const bool unseen = u_charType(c) == U_CONTROL_CHAR || u_charType(c) == U_FORMAT_CHAR ||
                        (c != ' ' && c != 0x3000 && u_isUWhiteSpace(c));
    visible += unseen ? fmt::format("<U+{:04X}>", c) : example.substr(begin, i - begin);
  }
  return visible;
}

std::string to_json_text(std::span<const Finding> findings) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    std::vector<std::string> examples;  // they contain names of files, which may have any bytes
    for (const std::string& example : finding.examples) examples.push_back(replace_invalid_utf8(example));
    list.push_back({{"id", finding.id},
                    {"severity", name_of_enum(finding.severity)},
                    {"text", replace_invalid_utf8(finding.text)},
                    {"examples", std::move(examples)}});
  }
  return list.dump(2) + "\n";
}

std::string to_text(std::span<const Finding> findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("{}: {}: {}\n", name_of_enum(finding.severity), finding.id, finding.text);
    for (const std::string& example : finding.examples) text += "    " + example + "\n";
  }
  return text;
}

}  // namespace sixfold
