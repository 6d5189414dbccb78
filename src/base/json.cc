#include "base/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace sixfold {

using nlohmann::json;

namespace {

constexpr int64_t largest_count = 1'000'000'000'000'000;

/// A value for an error message, truncated, since it may have any length.
std::string shown(const json& value) {
  constexpr size_t max_length = 40;
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  const std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
  return text.size() <= max_length ? text : text.substr(0, max_length) + "...";
}

/// Throws an input error if a text exceeds the limits or repeats a key. It stores nothing but the keys of the
/// objects that are being read.
class JsonChecker final : public json::json_sax_t {
 public:
  JsonChecker(const std::string& where, const JsonLimits& limits) : where_(where), limits_(limits) {}

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool string(string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool start_object(size_t) override { return begin(); }
  bool start_array(size_t) override { return begin(); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool key(string_t& name) override {
    require(keys_.back().insert(name).second, "{}: the key '{}' is given twice; remove one", where_, name);
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  bool value() {
    require(++values_ <= limits_.max_values, "{}: JSON has more than {} values", where_, limits_.max_values);
    return true;
  }
  bool begin() {
    require(keys_.size() < limits_.max_depth, "{}: JSON is nested deeper than {} levels", where_,
            limits_.max_depth);
    keys_.emplace_back();
    return value();
  }
  bool end() {
    keys_.pop_back();
    return true;
  }

  const std::string& where_;
  const JsonLimits& limits_;
  std::vector<std::set<std::string>> keys_;  // of the objects and lists that are being read; a list has none
  size_t values_ = 0;
};

}  // namespace

json parse_json(std::string_view text, const std::string& where, const JsonLimits& limits) {
  require(text.find_first_not_of(" \t\r\n") != text.npos, "{}: is empty, not JSON", where);
  try {
    JsonChecker checker(where, limits);
    json::sax_parse(text, &checker);  // the error of invalid JSON comes from `parse`
    return json::parse(text);
  } catch (const json::parse_error& error) {
    throw_input_error("{}: not valid JSON at byte {}", where, error.byte);
  } catch (const json::out_of_range&) {
    throw_input_error("{}: not valid JSON: a number is too large", where);
  } catch (const json::exception& error) {
    throw_input_error("{}: not valid JSON: {}", where, error.what());
  }
}

int64_t whole_number(const json& value, std::string_view where, int64_t min, int64_t max) {
  const auto fits = [&] {
    if (value.is_number_unsigned()) {  // true of all integers that are not negative
      const auto number = value.get<uint64_t>();
      return max >= 0 && number <= static_cast<uint64_t>(max) &&
             (min < 0 || number >= static_cast<uint64_t>(min));
    }
    return value.is_number_integer() && value.get<int64_t>() >= min && value.get<int64_t>() <= max;
  };
  if (!fits())
    throw_input_error("{} is {}; expected a whole number from {} to {}", where, shown(value), min, max);
  return value.get<int64_t>();
}

void write_json(const std::string& path, const nlohmann::ordered_json& value) {
  write_file_atomically(path, value.dump(2) + "\n");
}

double shortest_decimal(float value) { return std::stod(fmt::format("{}", value)); }

JsonObject::JsonObject(const json& value, const std::string& where) : value_(value), where_(where) {
  require(value.is_object(), "{}: expected a JSON object", where);
}

bool JsonObject::has(const char* key) const { return value_.contains(key); }

const json& JsonObject::at(const char* key) const {
  const auto found = value_.find(key);
  require(found != value_.end(), "{}: '{}' is missing", where_, key);
  return *found;
}

void JsonObject::read(const char* key, int64_t& count) const {
  count = whole_number(at(key), fmt::format("{}: '{}'", where_, key), 0, largest_count);
}

void JsonObject::read(const char* key, std::vector<int64_t>& counts) const {
  const json& list = at(key);
  require(list.is_array(), "{}: '{}' is {}; expected a list", where_, key, shown(list));
  const std::string where = fmt::format("{}: in '{}', an entry", where_, key);
  counts.clear();
  for (const json& count : list) counts.push_back(whole_number(count, where, 0, largest_count));
}

void JsonObject::read(const char* key, double& number) const {
  const json& value = at(key);
  require(value.is_number(), "{}: '{}' is {}; expected a number", where_, key, shown(value));
  number = value.get<double>();
}

void JsonObject::read(const char* key, std::string& text) const {
  const json& value = at(key);
  require(value.is_string(), "{}: '{}' is {}; expected a string", where_, key, shown(value));
  text = value.get<std::string>();
}

void JsonObject::read(const char* key, std::vector<std::string>& texts) const {
  const json& list = at(key);
  require(list.is_array() &&
              std::all_of(list.begin(), list.end(), [](const json& text) { return text.is_string(); }),
          "{}: '{}' is {}; expected a list of strings", where_, key, shown(list));
  list.get_to(texts);
}

void JsonObject::read(const char* key, bool& truth) const {
  const json& value = at(key);
  require(value.is_boolean(), "{}: '{}' is {}; expected true or false", where_, key, shown(value));
  truth = value.get<bool>();
}

}  // namespace sixfold
