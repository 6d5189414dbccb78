#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sixfold {

/// Parses a JSON text that may come from anywhere. Throws an input error that starts with `where` (a file,
/// mostly) when the text is not valid JSON, has a key twice in one object, or is nested deeper than `deepest`.
nlohmann::json parse_json(std::string_view text, const std::string& where, int deepest = 32);

/// Numbers of JSON that may come from anywhere are read here and nowhere else: nlohmann's own conversions wrap
/// or are undefined where a number does not fit. `where` begins the message of the input error that is thrown
/// for what is not a whole number (1.5, 1e300 and "1" are not), or lies outside [least, most].
int64_t whole_number(const nlohmann::json& value, std::string_view where, int64_t least, int64_t most);

/// The members of a JSON object, by their types. Each `read` throws an input error that names `where` and the
/// key when the member is missing or is not what is asked for.
class JsonObject {
 public:
  /// Both outlive this object. Throws unless `value` is an object.
  JsonObject(const nlohmann::json& value, const std::string& where);

  bool has(const char* key) const;
  const nlohmann::json& at(const char* key) const;

  /// Counts: whole numbers from 0 to 10^15, some thousands of which can be added without an overflow.
  void read(const char* key, int64_t& count) const;
  void read(const char* key, std::vector<int64_t>& counts) const;
  void read(const char* key, double& number) const;
  void read(const char* key, std::string& text) const;
  void read(const char* key, std::vector<std::string>& texts) const;
  void read(const char* key, bool& truth) const;

 private:
  const nlohmann::json& value_;
  const std::string& where_;
};

}  // namespace sixfold
