#include "base/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/error.h"

namespace sixfold {

using nlohmann::json;

namespace {

constexpr int64_t largest_count = 1'000'000'000'000'000;

/// A value for an error message, truncated, since it may have any length.
std::string shown(const json& value) {
  constexpr size_t longest = 40;
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  const std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
  return text.size() <= longest ? text : text.substr(0, longest) + "...";
}

}  // namespace

json parse_json(std::string_view text, const std::string& where, int deepest) {
  require(text.find_first_not_of(" \t\r\n") != text.npos, "{}: is empty, not JSON", where);
  std::vector<std::set<std::string>> keys_seen;  // of the objects that are being read
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    using Event = json::parse_event_t;
    require(depth < deepest || (event != Event::object_start && event != Event::array_start),
            "{}: JSON is nested deeper than {} levels", where, deepest);
    if (event == Event::object_start) keys_seen.emplace_back();
    if (event == Event::object_end) keys_seen.pop_back();
    if (event == Event::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      require(keys_seen.back().insert(key).second, "{}: the key '{}' is given twice; remove one", where, key);
    }
    return true;
  };
  try {
    return json::parse(text, watch);
  } catch (const json::parse_error& error) {
    throw_input_error("{}: not valid JSON at byte {}", where, error.byte);
  } catch (const json::exception& error) {  // a number too large for a double
    throw_input_error("{}: not valid JSON: {}", where, error.what());
  }
}

int64_t whole_number(const json& value, std::string_view where, int64_t least, int64_t most) {
  const auto fits = [&] {
    if (value.is_number_unsigned()) {  // all that are not negative
      const auto number = value.get<uint64_t>();
      return most >= 0 && number <= static_cast<uint64_t>(most) &&
             (least < 0 || number >= static_cast<uint64_t>(least));
    }
    return value.is_number_integer() && value.get<int64_t>() >= least && value.get<int64_t>() <= most;
  };
  if (!fits())
    throw_input_error("{} is {}; expected a whole number from {} to {}", where, shown(value), least, most);
  return value.get<int64_t>();
}

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
