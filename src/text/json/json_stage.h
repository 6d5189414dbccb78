#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace sixfold {

/// A part of a tokenizer.json that is to be read, with its place for errors. The JSON value must outlive it.
class JsonStage {
 public:
  JsonStage(const nlohmann::json& value, std::string where) : value_(value), where_(std::move(where)) {}

  const nlohmann::json& value() const { return value_; }
  const std::string& where() const { return where_; }
  [[noreturn]] void refuse(const std::string& what) const { throw_input_error("{}: {}", where_, what); }

  bool has(const char* key) const {
    return value_.is_object() && value_.contains(key) && !value_[key].is_null();
  }
  const nlohmann::json& at(const char* key) const {
    if (!has(key))
      refuse(fmt::format("has no '{}'; expected a tokenizer.json of Hugging Face's tokenizers", key));
    return value_[key];
  }
  JsonStage part(const char* key) const { return {at(key), fmt::format("{}.{}", where_, key)}; }
  std::string text(const char* key) const {
    const nlohmann::json& text = at(key);
    if (!text.is_string()) refuse(fmt::format("'{}' is not a text", key));
    return text.get<std::string>();
  }
  /// A text that is put into others, perhaps at each character.
  std::string short_text(const char* key) const {
    std::string value = text(key);
    if (value.size() > 256) refuse(fmt::format("'{}' has {} bytes; it may have 256", key, value.size()));
    return value;
  }
  std::string text_or(const char* key, const char* default_value) const {
    return has(key) ? text(key) : default_value;
  }
  bool flag(const char* key, bool default_value) const {
    if (!has(key)) return default_value;
    if (!value_[key].is_boolean()) refuse(fmt::format("'{}' is neither true nor false", key));
    return value_[key].get<bool>();
  }
  int64_t number(const char* key, int64_t min, int64_t max) const {
    return whole_number(at(key), fmt::format("{}: '{}'", where_, key), min, max);
  }
  /// The parts of a list.
  std::vector<JsonStage> list(const char* key) const {
    if (!at(key).is_array()) refuse(fmt::format("'{}' is not a list", key));
    std::vector<JsonStage> parts;
    for (size_t i = 0; i < value_[key].size(); ++i)
      parts.emplace_back(value_[key][i], fmt::format("{}.{}[{}]", where_, key, i));
    return parts;
  }
  std::string type() const {
    return has("type") && value_["type"].is_string() ? value_["type"].get<std::string>() : "";
  }

 private:
  const nlohmann::json& value_;
  std::string where_;
};

/// A type of a stage, by its name in the file.
template <class Stage>
struct StageType {
  std::string_view name;
  std::unique_ptr<const Stage> (*make)(const JsonStage&);
};

/// Makes the stage that a part of the file describes. Throws an input error that names the type if the table
/// lacks it.
template <class Stage, size_t n>
std::unique_ptr<const Stage> make_stage(const StageType<Stage> (&table)[n], const JsonStage& json) {
  std::string known;
  for (const StageType<Stage>& type : table) {
    if (type.name == json.type()) return type.make(json);
    known += (known.empty() ? "" : ", ") + std::string(type.name);
  }
  json.refuse(fmt::format("the type '{}' is not supported; those that are: {}", json.type(), known));
}

template <class Stage, class Derived>
std::unique_ptr<const Stage> make_as(const JsonStage& json) {
  return std::make_unique<const Derived>(json);
}

}  // namespace sixfold
