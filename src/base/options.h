#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/enumerators.h"
#include "base/error.h"
#include "base/join.h"

// Typed options. A struct of options lists its fields once:
//
//   void visit(OptionVisitor& v, TrainOptions& o) {
//     v.field("updates", o.updates, "stop after so many updates", at_least(1));
//     v.group("data", o.data, "what to train on");
//   }
//
// It can then be read from YAML, JSON and `--set key=value`, and written as JSON or as a documented listing.
// All formats are converted from and to one tree, `OptionNode`. An `OptionVisitor` gets each field as an
// `OptionValue`, whatever its type, so that `visit` is compiled once for all visitors.

namespace sixfold {

/// A value as it was written, with the place that it was read from.
struct OptionNode {
  enum class Kind {
    null,
    plain,     ///< a word without quotes, or a number or boolean in JSON
    quoted,    ///< text in quotes
    assigned,  ///< the text after the = of --set; a list is written a,b or [a, b]
    list,      ///< children without keys
    map,       ///< children with unique keys
  };
  Kind kind = Kind::null;
  std::string text{};   ///< of a plain, quoted or assigned value
  std::string where{};  ///< "train.yaml:12" or "--set train.minutes=5", the beginning of error messages
  std::string help{};   ///< its description in the listing
  std::vector<std::pair<std::string, OptionNode>> children{};

  OptionNode* find(std::string_view key);
  /// The value of a key with the names of its groups, such as "data.train"; null if there is none.
  const OptionNode* find_path(std::string_view path) const;
};

/// The maximum size of a file of options, in bytes.
inline constexpr size_t max_options_size = 1 << 20;

/// Parse a YAML or JSON text. They throw an input error that names the place if the text is not well formed,
/// repeats a key, is too large or is nested deeper than 32 levels. YAML anchors and aliases are errors.
OptionNode parse_yaml_options(std::string_view text, const std::string& file_name);
OptionNode parse_json_options(std::string_view text, const std::string& file_name);
/// Reads a file of options: JSON if its name ends in .json, otherwise YAML. Throws as these, and if the file
/// can't be read.
OptionNode read_option_file(const std::string& path);

/// Applies an assignment such as "train.minutes=5", the argument of `option`, to the tree. It replaces an older
/// value.
void set_option(OptionNode& root, const std::string& assignment, std::string_view option = "--set");

/// All values as JSON, in the order of the fields, indented by two spaces.
std::string to_json(const OptionNode& node);
/// A value as text: "0.1", "[dropout, add]".
std::string value_text(const OptionNode& node);
/// The keys, with dots, whose values differ between two trees, or which only one of them has.
std::vector<std::string> differing_keys(const OptionNode& a, const OptionNode& b);
/// A line of the listing of a tree.
struct ListedOption {
  std::string key;    ///< from the root, with dots: "train.minutes"
  std::string name;   ///< the last part of the key: "minutes"
  std::string value;  ///< as YAML; empty for a group
  std::string help;   ///< its description and range
  int depth = 0;      ///< how many groups it lies in
  bool operator==(const ListedOption&) const = default;
};
/// All groups and values of a tree in their order, a group before what it holds.
std::vector<ListedOption> listed_options(const OptionNode& node);
/// All values as YAML with a comment for each key: its description and range. `parse_yaml_options` can read it.
std::string to_documented_yaml(const OptionNode& node);

/// The allowed values of an option: from `low` to `high`.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool excludes_high = false;
  bool excludes_low = false;

  bool contains(long double value) const {
    return (excludes_low ? value > low : value >= low) && (excludes_high ? value < high : value <= high);
  }
  /// "at least 1", "above 0", "from 0 to 1", "from 0 to below 1", "above 0 and at most 1", or an empty text if
  /// every value is allowed.
  std::string describe() const;
};
inline Range at_least(double low) { return {.low = low}; }
inline Range above(double low) { return {.low = low, .excludes_low = true}; }
inline Range between(double low, double high) { return {.low = low, .high = high}; }
inline Range from_to_below(double low, double high) {
  return {.low = low, .high = high, .excludes_high = true};
}

/// The names of an enum that is an option. Specialize it with `static constexpr std::pair<E, std::string_view>
/// names[]`.
template <class E>
struct EnumNames;

/// Whether each enumerator has a name.
template <class E>
consteval bool all_are_named() {
  return std::ranges::all_of(all_enumerators<E>, [](E value) {
    return std::ranges::any_of(EnumNames<E>::names, [&](const auto& name) { return name.first == value; });
  });
}

template <class E>
constexpr std::string_view name_of_enum(E value) {
  static_assert(all_are_named<E>(), "EnumNames lacks the name of an enumerator");
  for (const auto& [known, name] : EnumNames<E>::names)
    if (known == value) return name;
  throw_unknown("enumerator", value);
}

/// A node with the name and range of its option, for error messages.
struct OptionSource {
  const OptionNode& node;
  std::string key;  ///< from the root, with dots: "train.minutes"
  Range range;

  /// Throws an input error such as "train.yaml:12: train.minutes: expected a number, found 'five'".
  [[noreturn]] void throw_expected(std::string_view what) const;
};

void read_value(const OptionSource& source, bool& value);
void read_value(const OptionSource& source, int& value);
void read_value(const OptionSource& source, int64_t& value);
void read_value(const OptionSource& source, uint64_t& value);
void read_value(const OptionSource& source, float& value);
void read_value(const OptionSource& source, double& value);
void read_value(const OptionSource& source, std::string& value);

/// The elements of a list. A single value is a list of one; an assigned list is written a,b or [a, b].
std::vector<OptionNode> list_elements(const OptionSource& source);

/// The place of the node's text among `count` names. Throws an input error with the nearest name.
size_t read_name(const OptionSource& source, size_t count, std::string_view (*name)(size_t));

/// A name out of a list that is known only when the program runs.
struct ChosenName {
  std::string name;
  std::vector<std::string> names;  ///< all that are allowed
};
/// Several of them.
struct ChosenNames {
  std::vector<std::string> chosen;
  std::vector<std::string> names;

  bool contains(std::string_view name) const { return std::ranges::find(chosen, name) != chosen.end(); }
};
void read_value(const OptionSource& source, ChosenName& value);
void read_value(const OptionSource& source, ChosenNames& value);

template <class E>
requires std::is_enum_v<E>
void read_value(const OptionSource& source, E& value) {
  static_assert(all_are_named<E>(), "EnumNames lacks the name of an enumerator");
  constexpr auto& names = EnumNames<E>::names;
  value =
      names[read_name(source, std::size(names), [](size_t i) { return EnumNames<E>::names[i].second; })].first;
}

/// The source of element `place` of a list.
OptionSource source_of_element(const OptionSource& list, const OptionNode& element, size_t place);

template <class T>
void read_value(const OptionSource& source, std::vector<T>& value) {
  value.clear();
  for (const OptionNode& element : list_elements(source)) {
    const OptionSource item = source_of_element(source, element, value.size());
    read_value(item, value.emplace_back());
  }
}

OptionNode node_of(bool value);
OptionNode node_of(const std::string& value);

template <class T>
requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) OptionNode node_of(T value) {
  return {.kind = OptionNode::Kind::plain,
          .text = fmt::format("{}", value)};  // the shortest text that reads back as the same value
}

template <class E>
requires std::is_enum_v<E> OptionNode node_of(E value) { return node_of(std::string(name_of_enum(value))); }

template <class T>
OptionNode node_of(const std::vector<T>& values) {
  OptionNode node{.kind = OptionNode::Kind::list};
  for (const T& value : values) node.children.emplace_back("", node_of(value));
  return node;
}

inline OptionNode node_of(const ChosenName& value) { return node_of(value.name); }
inline OptionNode node_of(const ChosenNames& value) { return node_of(value.chosen); }

/// An option without a value of its own: null, until one is given.
template <class T>
void read_value(const OptionSource& source, std::optional<T>& value) {
  T given{};
  if (source.node.kind != OptionNode::Kind::null) read_value(source, given);
  value = source.node.kind == OptionNode::Kind::null ? std::nullopt : std::optional<T>(std::move(given));
}
template <class T>
OptionNode node_of(const std::optional<T>& value) {
  return value ? node_of(*value) : OptionNode{};
}

/// The placeholder for a value in the help of its option: N, X, BOOL, TEXT, or the allowed names: "a|b".
inline constexpr std::string_view text_type_name = "TEXT";
template <class T>
std::string type_name_of(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return "BOOL";
  } else if constexpr (std::is_enum_v<T>) {
    std::string names;
    for (const auto& [enumerator, name] : EnumNames<T>::names)
      names += (names.empty() ? "" : "|") + std::string(name);
    return names;
  } else if constexpr (std::is_arithmetic_v<T>) {
    return std::is_integral_v<T> ? "N" : "X";
  } else if constexpr (requires { value.names; }) {
    return join(value.names, "|");
  } else if constexpr (requires { typename T::value_type; } && !std::is_same_v<T, std::string>) {
    return type_name_of(typename T::value_type{});
  } else {
    return std::string(text_type_name);
  }
}

template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;

/// A field of any type that an option can have.
class OptionValue {
 public:
  template <class T>
  requires(!std::is_same_v<T, OptionValue>) explicit OptionValue(T& value) : value_(&value), type_(&type<T>) {}
  void read(const OptionSource& source) const { type_->read(source, value_); }
  OptionNode node() const { return type_->node(value_); }
  /// Throws as `read` if the current value would not be accepted.
  void check(std::string_view key, const Range& range) const { type_->check(key, range, value_); }
  std::string type_name() const { return type_->name(value_); }
  bool is_list() const { return type_->list; }

 private:
  struct Type {
    void (*read)(const OptionSource& source, void* value);
    OptionNode (*node)(const void* value);
    void (*check)(std::string_view key, const Range& range, const void* value);
    std::string (*name)(const void* value);
    bool list;
  };
  template <class T>
  static constexpr Type type{
      [](const OptionSource& source, void* value) { read_value(source, *static_cast<T*>(value)); },
      [](const void* value) { return node_of(*static_cast<const T*>(value)); },
      [](std::string_view key, const Range& range, const void* value) {
        T copy = *static_cast<const T*>(value);
        const OptionNode node = node_of(copy);
        read_value(OptionSource{node, std::string(key), range}, copy);
      },
      [](const void* value) { return type_name_of(*static_cast<const T*>(value)); }, is_vector<T>};

  void* value_;
  const Type* type_;
};

/// Visits the fields of a struct of options.
class OptionVisitor {
 public:
  virtual ~OptionVisitor() = default;

  /// Returns whether the value was given to a visitor that reads.
  template <class T>
  bool field(std::string_view name, T& value, std::string_view help, Range range = {}) {
    return visit_field(name, OptionValue(value), help, range);
  }
  template <class T>
  void group(std::string_view name, T& options, std::string_view help) {
    visit_group(name, AnyOptions(options), help);
  }

  /// A reference to a struct of options of any type.
  class AnyOptions {
   public:
    template <class T>
    explicit AnyOptions(T& options)
        : options_(&options),
          visit_([](OptionVisitor& visitor, void* o) { visit(visitor, *static_cast<T*>(o)); }) {}
    void operator()(OptionVisitor& visitor) const { visit_(visitor, options_); }

   private:
    void* options_;
    void (*visit_)(OptionVisitor& visitor, void* options);
  };

 private:
  virtual bool visit_field(std::string_view name, OptionValue value, std::string_view help,
                           const Range& range) = 0;
  virtual void visit_group(std::string_view name, AnyOptions options, std::string_view help) = 0;
};

void read_options(const OptionNode& root, OptionVisitor::AnyOptions options);
OptionNode write_options(OptionVisitor::AnyOptions options);

/// Reads a struct of options from a map. Fields without a key keep their values. Throws an input error for the
/// first value of a wrong type or out of range, and for an unknown key, with the nearest known key.
template <class T>
void read_options(const OptionNode& root, T& options) {
  read_options(root, OptionVisitor::AnyOptions(options));
}

/// The tree of a struct of options: every field, in order, with its description.
template <class T>
OptionNode write_options(T options) {
  return write_options(OptionVisitor::AnyOptions(options));
}

void check_ranges(OptionVisitor::AnyOptions options);
/// Throws an input error for the first value out of range. This is for options that were not read from text but
/// set by a program.
template <class T>
void check_ranges(const T& options) {
  check_ranges(OptionVisitor::AnyOptions(const_cast<T&>(options)));  // the visitor only reads the options
}

}  // namespace sixfold
