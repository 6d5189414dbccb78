#include "serve/http/fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "text/utf8.h"

namespace sixfold::serve {
namespace {

using nlohmann::json;

constexpr JsonLimits body_limits{.max_depth = 16, .max_values = 100'000};

[[noreturn]] void refuse(std::string_view name, std::string_view expected) {
  throw HttpError(400, fmt::format("\"{}\" must be {}.", name, expected));
}

/// The value of a field that is a text, or an element of a list of texts.
std::string text_in(const json& value, std::string_view name, std::string_view expected) {
  if (!value.is_string()) refuse(name, expected);
  std::string text = value.get<std::string>();
  if (text.find('\0') != text.npos) refuse(name, "text, which has no NUL");
  return text;
}

/// The fields of a form: a field that occurs more than once is a list.
template <class Pairs>
json fields_of_pairs(const Pairs& pairs) {
  json all = json::object();
  for (const auto& [name, value] : pairs) {
    if (first_invalid_utf8(name) || first_invalid_utf8(value))
      throw HttpError(400, "The fields of the request are not valid UTF-8.");
    json& field = all[name];
    if (field.is_null())
      field = value;
    else if (field.is_string())
      field = json::array({field, value});
    else
      field.push_back(value);
  }
  return all;
}

json fields_of_json(const std::string& body) {
  try {
    json all = parse_json(body, "The body", body_limits);
    if (!all.is_object()) throw HttpError(400, "The body must be a JSON object.");
    return all;
  } catch (const Error& error) {
    throw HttpError(400, fmt::format("{}.", error.what()));
  }
}

json fields_of(const HttpRequest& request) {
  const std::string type = request.content_type();
  if (request.body.empty() && type != "multipart/form-data") return fields_of_pairs(request.query);
  if (type == "application/json") return fields_of_json(request.body);
  if (type == "multipart/form-data") return fields_of_pairs(request.form);
  if (type == "application/x-www-form-urlencoded") return fields_of_pairs(parse_form(request.body));
  throw HttpError(415, "Send application/json, application/x-www-form-urlencoded or multipart/form-data.");
}

/// Converts a floating-point number without a fraction, such as 12.0, to an integer; returns any other value as
/// it is.
json with_whole_numbers(const json& value) {
  const double number = value.is_number_float() ? value.get<double>() : 0.5;
  return number == std::trunc(number) && std::abs(number) <= 0x1p53 ? json(static_cast<int64_t>(number))
                                                                    : value;
}

template <class Number>
std::optional<Number> parsed(const std::string& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

}  // namespace

Fields::Fields(const HttpRequest& request) : all_(std::make_unique<json>(fields_of(request))) {}
Fields::Fields(std::unique_ptr<json> all) : all_(std::move(all)) {}
Fields::~Fields() = default;
Fields::Fields(Fields&&) noexcept = default;

const json* Fields::find(std::string_view name) const {
  read_.emplace(name);
  const auto found = all_->find(std::string(name));
  return found == all_->end() || found->is_null() ? nullptr : &*found;
}

bool Fields::has(std::string_view name) const { return find(name); }

bool Fields::is_list(std::string_view name) const {
  const json* value = find(name);
  return value && value->is_array();
}

std::optional<std::string> Fields::text(std::string_view name) const {
  const json* value = find(name);
  if (!value) return {};
  return text_in(*value, name, "a text");
}

std::string Fields::required_text(std::string_view name) const {
  if (auto value = text(name)) return *value;
  throw HttpError(400, fmt::format("The request has no \"{}\".", name));
}

std::vector<std::string> Fields::texts(std::string_view name, size_t max_texts) const {
  const json* value = find(name);
  if (!value) return {};
  constexpr std::string_view expected = "a text or a list of texts";
  if (!value->is_array()) return {text_in(*value, name, expected)};
  if (value->size() > max_texts) refuse(name, fmt::format("a list of at most {} texts", max_texts));
  std::vector<std::string> all;
  for (const json& element : *value) all.push_back(text_in(element, name, expected));
  return all;
}

std::optional<std::vector<std::vector<int32_t>>> Fields::token_lists(std::string_view name, size_t max_lists,
                                                                     size_t max_tokens) const {
  const json* value = find(name);
  if (!value || !value->is_array() || value->empty()) return {};
  const json& first = value->front();
  const bool is_list = first.is_array() && !first.empty();
  if (const json& token = is_list ? first.front() : first; !token.is_number() && !token.is_array()) return {};
  const bool one = !value->front().is_array();
  if (!one && value->size() > max_lists) refuse(name, fmt::format("a list of at most {} lists", max_lists));
  std::vector<std::vector<int32_t>> lists;
  size_t tokens = 0;
  for (size_t i = 0; i < (one ? 1 : value->size()); ++i) {
    const json& list = one ? *value : (*value)[i];
    if (!list.is_array()) refuse(name, "a text, a list of tokens, or a list of such texts or lists");
    tokens += list.size();
    if (tokens > max_tokens) refuse(name, fmt::format("at most {} tokens", max_tokens));
    std::vector<int32_t>& ids = lists.emplace_back();
    for (const json& id : list) {
      if (!id.is_number_integer() || id < 0 || id > std::numeric_limits<int32_t>::max())
        refuse(name, "numbers of tokens");
      ids.push_back(id.get<int32_t>());
    }
  }
  return lists;
}

std::vector<std::string> Fields::required_texts(std::string_view name, size_t max_texts) const {
  if (!has(name)) throw HttpError(400, fmt::format("The request has no \"{}\".", name));
  return texts(name, max_texts);
}

std::optional<int64_t> Fields::integer(std::string_view name, int64_t min, int64_t max) const {
  const json* value = find(name);
  if (!value) return {};
  const auto expected = [&] { return fmt::format("a whole number from {} to {}", min, max); };
  if (value->is_string()) {
    const auto number = parsed<int64_t>(value->get<std::string>());
    if (!number || *number < min || *number > max) refuse(name, expected());
    return number;
  }
  try {
    return whole_number(with_whole_numbers(*value), name, min, max);
  } catch (const Error&) {
    refuse(name, expected());
  }
}

std::optional<double> Fields::number(std::string_view name, double min, double max) const {
  const json* value = find(name);
  if (!value) return {};
  std::optional<double> number;
  if (value->is_number()) number = value->get<double>();
  if (value->is_string()) number = parsed<double>(value->get<std::string>());
  if (!number || !(*number >= min && *number <= max))
    refuse(name, fmt::format("a number from {} to {}", min, max));
  return number;
}

std::optional<bool> Fields::boolean(std::string_view name) const {
  const json* value = find(name);
  if (!value) return {};
  if (value->is_boolean()) return value->get<bool>();
  const std::string text = value->is_string() ? value->get<std::string>() : value->dump();
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  refuse(name, "true or false");
}

std::optional<std::string> Fields::json_text(std::string_view name) const {
  const json* value = find(name);
  return value ? std::optional(value->dump()) : std::nullopt;
}

std::string Fields::one_of(std::string_view name, std::initializer_list<std::string_view> words) const {
  const auto value = text(name);
  if (!value) return std::string(*words.begin());
  for (const std::string_view word : words)
    if (*value == word) return *value;
  refuse(name, fmt::format("one of: {}", fmt::join(words, ", ")));
}

std::optional<Fields> Fields::object(std::string_view name) const {
  const json* value = find(name);
  if (!value) return {};
  if (!value->is_object()) refuse(name, "an object");
  return Fields(std::make_unique<json>(*value));
}

namespace {

/// Converts a field to the value of an option. A number may be given as a text, as in a form, and an integer
/// with a decimal point.
OptionNode node_of_field(const json& value, std::string_view type) {
  using Kind = OptionNode::Kind;
  if (value.is_string()) {
    const std::string text = value.get<std::string>();
    if (text.find('\0') != text.npos) throw_input_error("expected text, which has no NUL");
    return {.kind = type == text_type_name ? Kind::quoted : Kind::assigned, .text = text};
  }
  if (value.is_array()) {
    OptionNode list{.kind = Kind::list};
    for (const json& element : value) list.children.emplace_back("", node_of_field(element, type));
    return list;
  }
  if (value.is_object()) return {.kind = Kind::map};
  return {.kind = Kind::plain, .text = with_whole_numbers(value).dump()};
}

/// Sets the options of a struct from the fields of a request.
class FieldReader final : public OptionVisitor {
 public:
  using Find = std::function<const json*(std::string_view)>;
  FieldReader(std::initializer_list<OptionField> fields, const Find& find) : fields_(fields), find_(find) {}

 private:
  bool visit_field(std::string_view name, OptionValue value, std::string_view /*help*/,
                   const Range& range) override {
    const OptionField* field = std::ranges::find(fields_, name, &OptionField::option);
    if (field == fields_.end()) return false;
    const std::string_view field_name = field->field.empty() ? name : field->field;
    const json* given = find_(field_name);
    if (!given) return false;
    try {
      OptionNode node = node_of_field(*given, value.type_name());
      if (value.type_name() == "BOOL" && (node.text == "1" || node.text == "0"))  // as `Fields::boolean`
        node = node_of(node.text == "1");
      value.read(OptionSource{node, "", field->range.value_or(range)});
    } catch (const Error& error) {
      throw HttpError(400, fmt::format("\"{}\": {}.", field_name, error.what()));
    }
    return true;
  }
  void visit_group(std::string_view /*name*/, AnyOptions options, std::string_view /*help*/) override {
    options(*this);
  }

  const std::initializer_list<OptionField> fields_;
  const Find& find_;
};

}  // namespace

void Fields::read(OptionVisitor::AnyOptions options, std::initializer_list<OptionField> fields) const {
  const FieldReader::Find find_field = [this](std::string_view name) { return find(name); };
  FieldReader reader(fields, find_field);
  options(reader);
}

void Fields::ignore(std::initializer_list<std::string_view> names) const {
  read_.insert(names.begin(), names.end());
}

std::optional<std::string> Fields::unread() const {
  for (const auto& [name, value] : all_->items())
    if (!value.is_null() && !read_.contains(name)) return name;
  return {};
}

}  // namespace sixfold::serve
