#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace sixfold {

/// Reads the keys of another program's configuration file, with that program's defaults.
class JsonKeys {
 public:
  explicit JsonKeys(const std::string& path) : path_(path), json_(parse_json(read_regular_file(path), path)) {
    require(json_.is_object(), "{}: expected a JSON object", path);
  }

  /// Whether the key is given and not null.
  bool has(const char* key) const { return names(key) && !json_[key].is_null(); }
  /// Whether the key is given, perhaps as null.
  bool names(const char* key) const { return json_.contains(key); }
  const nlohmann::json& at(const char* key) const { return json_.at(key); }
  const nlohmann::json& all() const { return json_; }
  const std::string& path() const { return path_; }

  /// The value of a key, or `otherwise` if it is missing or null. Throws an input error if it has the wrong
  /// type.
  template <class T>
  T get(const char* key, T otherwise) const {
    if (!has(key)) return otherwise;
    const nlohmann::json& value = json_[key];
    const bool fits = std::is_same_v<T, bool>       ? value.is_boolean()
                      : std::is_integral_v<T>       ? value.is_number_integer()
                      : std::is_floating_point_v<T> ? value.is_number()
                                                    : value.is_string();
    require(fits, "{}: {} is {}, which has the wrong type", path_, key, value.dump());
    return value.get<T>();
  }
  /// Throws an input error unless the key, with its default `otherwise`, is `wanted`.
  template <class T>
  void require_is(const char* key, T otherwise, T wanted) const {
    const T found = get<T>(key, otherwise);
    require(found == wanted, "{}: {} is {}; only {} is supported", path_, key, found, wanted);
  }
  /// A count that must be given.
  int size(const char* key) const {
    require(has(key), "{}: {} is missing", path_, key);
    return count(key, 0);
  }
  /// A count, from 0 to 2^30 - 1.
  int count(const char* key, int otherwise) const {
    const auto found = get<int64_t>(key, otherwise);
    require(found >= 0 && found < (1 << 30), "{}: {} is {}; it must be from 0 to {}", path_, key, found,
            (1 << 30) - 1);
    return static_cast<int>(found);
  }

 private:
  std::string path_;
  nlohmann::json json_;
};

}  // namespace sixfold
