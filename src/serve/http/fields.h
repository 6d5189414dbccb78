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
  std::string_view field = {};      ///< the name of the field; empty: that of the option
  std::optional<Range> range = {};  ///< replaces the range of the option
};

/// The fields of a request, from a JSON object, a form (either kind) or, for GET, the address. In a form all
/// values are texts, and a list is a repeated field. A field with the value null counts as absent. Each
/// function throws an `HttpError` with status 400 that names the field if its value has another type or is out
/// of range.
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
  std::vector<std::string> required_texts(std::string_view name, size_t max_texts) const;
  std::vector<std::string> texts(std::string_view name, size_t max_texts) const;
  /// A list of token ids, or a list of such lists. Nothing if the field is absent, a text or a list of texts.
  /// `max_tokens` is the limit of all lists together.
  std::optional<std::vector<std::vector<int32_t>>> token_lists(std::string_view name, size_t max_lists,
                                                               size_t max_tokens) const;
  std::optional<int64_t> integer(std::string_view name, int64_t min, int64_t max) const;
  std::optional<double> number(std::string_view name, double min, double max) const;
  /// true, false, and the texts "true", "false", "1" and "0".
  std::optional<bool> boolean(std::string_view name) const;
  /// The value as JSON text, to be parsed by the caller.
  std::optional<std::string> json_text(std::string_view name) const;
  /// One of `words`; the first of them if the field is absent.
  std::string one_of(std::string_view name, std::initializer_list<std::string_view> words) const;
  /// The fields of a JSON object; nothing if the field is absent. A form can't have such a field.
  std::optional<Fields> object(std::string_view name) const;
  /// Sets the options of a struct from those of `fields` that the request has. Values are read as those of a
  /// config.
  void read(OptionVisitor::AnyOptions options, std::initializer_list<OptionField> fields) const;
  /// Marks fields as read that are accepted but have no effect.
  void ignore(std::initializer_list<std::string_view> names) const;
  /// The first field, in the order of names, that has not been read by another function; it is unknown, and
  /// would silently have no effect.
  std::optional<std::string> unread() const;

 private:
  explicit Fields(std::unique_ptr<nlohmann::json> all);
  const nlohmann::json* find(std::string_view name) const;
  std::unique_ptr<nlohmann::json> all_;
  mutable std::set<std::string, std::less<>> read_;  // names of the fields that were read
};

}  // namespace sixfold::serve
