#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace sixfold {

/// Reads the keys of another program's configuration file, with that program's defaults.
class JsonKeys {
 public:
  explicit JsonKeys(const std::string& path) : JsonKeys(path, read_regular_file(path)) {}
  /// The keys of `text`, which errors name as `path`.
  JsonKeys(const std::string& path, std::string_view text) : path_(path), json_(parse_json(text, path)) {
    require(json_.is_object(), "{}: expected a JSON object", path);
  }

  /// The keys of a file that may be missing, and then has none.
  static JsonKeys of_optional(const std::string& path) {
    return {path, std::filesystem::exists(path) ? read_regular_file(path) : "{}"};
  }

  /// Whether the key is given and not null.
  bool has(const char* key) const { return names(key) && !json_[key].is_null(); }
  /// Whether the key is given, even if it is null.
  bool names(const char* key) const { return json_.contains(key); }
  const nlohmann::json& at(const char* key) const { return json_.at(key); }
  const nlohmann::json& all() const { return json_; }
  const std::string& path() const { return path_; }

  /// The value of a key, or `default_value` if it is missing or null. Throws an input error if it has the wrong
  /// type.
  template <class T>
  T get(const char* key, T default_value) const {
    if (!has(key)) return default_value;
    const nlohmann::json& value = json_[key];
    const auto [fits, type] = std::is_same_v<T, bool> ? std::pair(value.is_boolean(), "true or false")
                              : std::is_integral_v<T> ? std::pair(value.is_number_integer(), "a whole number")
                              : std::is_floating_point_v<T> ? std::pair(value.is_number(), "a number")
                                                            : std::pair(value.is_string(), "a string");
    require(fits, "{}: {} is {}; it must be {}", path_, key, value.dump(), type);
    return value.get<T>();
  }
  /// Throws an input error unless the key, with its default `default_value`, is `supported`.
  template <class T>
  void require_is(const char* key, T default_value, T supported) const {
    const T found = get<T>(key, default_value);
    require(found == supported, "{}: {} is {}; only {} is supported", path_, key, found, supported);
  }
  /// A size that must be given, from 1 to 2^30 - 1.
  int size(const char* key) const {
    require(has(key), "{}: {} is missing", path_, key);
    return positive(key, 1);
  }
  /// A size, from 1 to 2^30 - 1.
  int positive(const char* key, int64_t default_value) const { return in_range(key, default_value, 1); }
  /// A count, from 0 to 2^30 - 1.
  int count(const char* key, int64_t default_value) const { return in_range(key, default_value, 0); }

 private:
  int in_range(const char* key, int64_t default_value, int64_t min_value) const {
    constexpr int64_t max_value = (1 << 30) - 1;
    if (has(key))
      return static_cast<int>(
          whole_number(json_[key], fmt::format("{}: {}", path_, key), min_value, max_value));
    require(default_value <= max_value, "{}: {} is missing, and its default value, {}, is more than {}", path_,
            key, default_value, max_value);
    return static_cast<int>(default_value);
  }

  std::string path_;
  nlohmann::json json_;
};

}  // namespace sixfold
