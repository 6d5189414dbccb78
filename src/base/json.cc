#include "base/json.h"

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/error.h"

namespace sixfold {

using nlohmann::json;

json parse_json(std::string_view text, const std::string& where, int deepest) {
  require(text.find_first_not_of(" \t\r\n") != text.npos, "{}: is empty, not JSON", where);
  std::vector<std::set<std::string>> keys_seen;  // of the objects that are open
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    using Event = json::parse_event_t;
    require(depth < deepest || (event != Event::object_start && event != Event::array_start),
            "{}: JSON nested deeper than {} levels", where, deepest);
    if (event == Event::object_start) keys_seen.emplace_back();
    if (event == Event::object_end) keys_seen.pop_back();
    if (event == Event::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      require(keys_seen.back().insert(key).second, "{}: the key '{}' is given twice", where, key);
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

}  // namespace sixfold
