#pragma once
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.h"
#include "serve/http/http.h"

namespace sixfold::serve {

/// An option of a struct that a request may set.
struct OptionField {
  std::string_view option;
  std::string_view field = {};      ///< empty: of the same name
  std::optional<Range> range = {};  ///< instead of that of the option
};

/// The fields of a request, from a JSON object, a form (either kind) or, for GET, the address. In a form all
/// values are texts, and a list is a repeated field. Each function throws an `HttpError` with status 400 that
/// names the field if its value is of another type or out of range. A field with the value null is absent.
class Fields {
 public:
  /// Throws an `HttpError` (400, or 415 for a body of another type) if the request has no such fields.
  explicit Fields(const HttpRequest& request);
  ~Fields();
  Fields(Fields&&) noexcept;

  bool has(std::string_view name) const;
  /// Whether the value is a list, even of one element.
  bool is_list(std::string_view name) const;
  std::optional<std::string> text(std::string_view name) const;
  std::string required_text(std::string_view name) const;
  /// A text, or a list of texts. Throws if the field is absent.
  std::vector<std::string> required_texts(std::string_view name, size_t most) const;
  std::vector<std::string> texts(std::string_view name, size_t most) const;
  /// A list of numbers of tokens, or a list of such lists. Nothing if the value is absent or of another type: a
  /// text, or a list of texts. `most`: lists, and tokens of all lists together.
  std::optional<std::vector<std::vector<int32_t>>> token_lists(std::string_view name, size_t most_lists,
                                                               size_t most_tokens) const;
  std::optional<int64_t> whole(std::string_view name, int64_t least, int64_t most) const;
  std::optional<double> number(std::string_view name, double least, double most) const;
  /// true, false, and the texts "true", "false", "1" and "0".
  std::optional<bool> truth(std::string_view name) const;
  /// The value as JSON, for what reads it itself.
  std::optional<std::string> json_text(std::string_view name) const;
  /// One of some words; their first if the field is absent.
  std::string one_of(std::string_view name, std::initializer_list<std::string_view> words) const;
  /// The fields of an object; nothing if the field is absent. Not in a form.
  std::optional<Fields> object(std::string_view name) const;
  /// Sets options of a struct that the request has as fields. A value is read as that of a config.
  void read(OptionVisitor::AnyOptions options, std::initializer_list<OptionField> fields) const;
  /// Fields that have no meaning here, and are not refused.
  void ignore(std::initializer_list<std::string_view> names) const;
  /// The first field, in the order of names, that no other function has asked for: it would silently change
  /// nothing.
  std::optional<std::string> unread() const;

 private:
  explicit Fields(std::unique_ptr<nlohmann::json> all);
  const nlohmann::json* find(std::string_view name) const;
  std::unique_ptr<nlohmann::json> all_;
  mutable std::set<std::string, std::less<>> read_;  // names that were asked for
};

}  // namespace sixfold::serve
