#pragma once
#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sixfold {

/// Limits of an untrusted JSON text.
struct JsonLimits {
  size_t max_depth = 32;                                   ///< levels of nested objects and lists
  size_t max_values = std::numeric_limits<size_t>::max();  ///< including objects and lists
};

/// Parses an untrusted JSON text. Throws an input error that starts with `where` (usually a file name) if the
/// text is not valid JSON, repeats a key in an object, or exceeds the limits.
nlohmann::json parse_json(std::string_view text, const std::string& where, const JsonLimits& limits = {});

/// Reads an integer of an untrusted JSON text. All such integers are read by this function: nlohmann's own
/// conversions wrap or are undefined for numbers that do not fit. Throws an input error that starts with
/// `where` if the value is not an integer (1.5, 1e300 and "1" are not) or lies outside [min, max].
int64_t whole_number(const nlohmann::json& value, std::string_view where, int64_t min, int64_t max);

/// Writes a JSON file, indented by two spaces. Throws as `write_file_atomically`.
void write_json(const std::string& path, const nlohmann::ordered_json& value);

/// The double that is printed with the same shortest digits as the float `value`: 0.1 for 0.1f. The conversion
/// of 0.1f to double would be printed as 0.10000000149011612.
double shortest_decimal(float value);

/// Reads the members of a JSON object. Each `read` throws an input error that names `where` and the key if the
/// member is missing or has another type.
class JsonObject {
 public:
  /// Both arguments must outlive this object. Throws an input error unless `value` is an object.
  JsonObject(const nlohmann::json& value, const std::string& where);

  bool has(const char* key) const;
  const nlohmann::json& at(const char* key) const;

  /// Counts are integers from 0 to 10^15, so that thousands of them can be added without overflow.
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
