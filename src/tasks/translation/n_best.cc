#include "tasks/translation/n_best.h"

#include <charconv>
#include <cmath>
#include <optional>

#include "base/error.h"

namespace sixfold {
namespace {

constexpr std::string_view bars = "|||", escaped_bars = "&#124;&#124;&#124;";

std::string with_replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t place = 0; (place = text.find(from, place)) != std::string::npos; place += to.size())
    text.replace(place, from.size(), to);
  return text;
}

std::string_view without_spaces(std::string_view field) {
  while (field.starts_with(' ')) field.remove_prefix(1);
  while (field.ends_with(' ')) field.remove_suffix(1);
  return field;
}

template <class Number>
std::optional<Number> number_in(std::string_view field) {
  Number number{};
  const char* const end = field.data() + field.size();
  const auto [rest, error] = std::from_chars(field.data(), end, number);
  return error == std::errc() && rest == end ? std::optional(number) : std::nullopt;
}

/// Takes the field before the next bars from `line`. Returns whether there were bars.
bool take_field(std::string_view& line, std::string_view& field) {
  const size_t end = line.find(bars);
  field = without_spaces(line.substr(0, end));
  line = end == line.npos ? std::string_view() : line.substr(end + bars.size());
  return end != line.npos;
}

}  // namespace

NBestLine parse_n_best_line(std::string_view line, const std::string& place) {
  std::string_view index, text, features, score;
  const bool fields = take_field(line, index) && take_field(line, text) && take_field(line, features);
  require(fields, "{}: expected 'number ||| text ||| features ||| score', as in an n-best list of Moses",
          place);
  NBestLine parsed;
  if (take_field(line, score)) parsed.extra_fields = std::string(without_spaces(line));
  const auto number = number_in<size_t>(index);
  require(number.has_value(), "{}: expected the number of a line, from 0, before the first |||, found '{}'",
          place, index.substr(0, 40));
  const auto value = number_in<double>(score);
  require(value && std::isfinite(*value), "{}: expected a number as the score, found '{}'", place,
          score.substr(0, 40));
  parsed.index = *number;
  parsed.text = with_replaced(std::string(text), escaped_bars, bars);
  parsed.features = features;
  parsed.score = *value;
  return parsed;
}

std::string to_text(const NBestLine& line) {
  return fmt::format("{} ||| {} ||| {} ||| {:.6f}{}", line.index, with_replaced(line.text, bars, escaped_bars),
                     line.features, line.score, line.extra_fields ? " ||| " + *line.extra_fields : "");
}

}  // namespace sixfold
