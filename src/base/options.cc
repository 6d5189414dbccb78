#include "base/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/file.h"
#include "base/join.h"
#include "base/nearest.h"

namespace sixfold {

using Kind = OptionNode::Kind;

namespace {

bool is_value(const OptionNode& node) {
  return node.kind == Kind::plain || node.kind == Kind::quoted || node.kind == Kind::assigned;
}

/// The text in quotes. A long text is truncated between two characters.
std::string quote(const std::string& text) {
  constexpr size_t max_length = 60;
  if (text.size() <= max_length) return fmt::format("'{}'", text);
  size_t shown = max_length;
  while (shown > 0 && (static_cast<unsigned char>(text[shown]) & 0xC0) == 0x80) --shown;
  return fmt::format("'{}'...", text.substr(0, shown));
}

/// A description of the value that was found, for the end of an error message.
std::string found(const OptionNode& node) {
  switch (node.kind) {
    case Kind::null:
      return "nothing";
    case Kind::list:
      return "a list";
    case Kind::map:
      return "a group of keys";
    case Kind::plain:
    case Kind::quoted:
    case Kind::assigned:
      return quote(node.text);
  }
  throw_unknown("kind of option", node.kind);
}

/// The values of type T that a range allows.
template <class T>
std::string limits_of(const Range& range) {
  if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    const T low = range.low > static_cast<double>(Limits::min()) ? static_cast<T>(range.low) : Limits::min();
    const T high = range.high < static_cast<double>(Limits::max()) ? static_cast<T>(range.high) : Limits::max();
    return fmt::format("from {} to {}", low, high);
  } else {
    return fmt::format("that {} bits of floating point can hold", 8 * sizeof(T));
  }
}

/// The range in type T: the float nearest to a bound must not lie outside.
template <class T>
Range rounded_to(Range range) {
  if constexpr (std::is_floating_point_v<T>) {
    range.low = static_cast<double>(static_cast<T>(range.low));
    range.high = static_cast<double>(static_cast<T>(range.high));
  }
  return range;
}

template <class T>
void read_number(const OptionSource& source, T& value, std::string_view what) {
  const OptionNode& node = source.node;
  if (!is_value(node)) source.throw_expected(what);
  const char* end = node.text.data() + node.text.size();
  T parsed{};
  const auto [stopped, error] = std::from_chars(node.text.data(), end, parsed);
  if (error == std::errc::result_out_of_range && stopped == end)
    source.throw_expected(fmt::format("{} {}", what, limits_of<T>(source.range)));
  if (error != std::errc() || stopped != end || !std::isfinite(static_cast<double>(parsed)))
    source.throw_expected(what);
  if (node.kind == Kind::quoted) source.throw_expected(fmt::format("{} without quotes", what));
  if (!rounded_to<T>(source.range).contains(static_cast<long double>(parsed)))
    source.throw_expected(fmt::format("{} {}", what, source.range.describe()));
  value = parsed;
}

}  // namespace

OptionNode* OptionNode::find(std::string_view key) {
  for (auto& [name, child] : children)
    if (name == key) return &child;
  return nullptr;
}

const OptionNode* OptionNode::find_path(std::string_view path) const {
  const OptionNode* node = this;
  for (size_t dot = 0; node && dot != std::string_view::npos;) {
    dot = path.find('.');
    const auto named = [name = path.substr(0, dot)](const auto& child) { return child.first == name; };
    const auto found = std::ranges::find_if(node->children, named);
    node = found == node->children.end() ? nullptr : &found->second;
    if (dot != std::string_view::npos) path.remove_prefix(dot + 1);
  }
  return node;
}

OptionNode read_option_file(const std::string& path) {
  const std::string text = read_file(path);
  return path.ends_with(".json") ? parse_json_options(text, path) : parse_yaml_options(text, path);
}

void set_option(OptionNode& root, const std::string& assignment, std::string_view option) {
  const size_t equals = assignment.find('=');
  require(equals != std::string::npos && equals > 0, "{} {}: expected KEY=VALUE{}", option, assignment,
          option == "--set" ? ", as in train.minutes=5" : "");
  constexpr ptrdiff_t max_depth = 32;  // as in a file of options
  require(std::count(assignment.begin(), assignment.begin() + static_cast<ptrdiff_t>(equals), '.') < max_depth,
          "{} {}: the key is nested deeper than {} levels", option, quote(assignment), max_depth);
  const std::string where = fmt::format("{} {}", option, assignment);
  OptionNode* node = &root;
  for (std::string_view key = std::string_view(assignment).substr(0, equals);;) {
    const size_t dot = key.find('.');
    if (node->kind == Kind::null) *node = {.kind = Kind::map, .where = where};
    require(node->kind == Kind::map, "{}: the part before '{}' is a value, not a group ({})", where, key,
            node->where);
    const std::string_view name = key.substr(0, dot);
    OptionNode* child = node->find(name);
    node = child ? child : &node->children.emplace_back(name, OptionNode{}).second;
    if (dot == std::string_view::npos) break;
    key.remove_prefix(dot + 1);
  }
  *node = {.kind = Kind::assigned, .text = assignment.substr(equals + 1), .where = where};
}

std::string Range::describe() const {
  const bool has_low = std::isfinite(low), has_high = std::isfinite(high);
  const std::string_view to = excludes_high ? "below " : "";
  if (has_low && has_high)
    return excludes_low ? fmt::format("above {} and {} {}", low, excludes_high ? "below" : "at most", high)
                        : fmt::format("from {} to {}{}", low, to, high);
  if (has_low) return fmt::format("{} {}", excludes_low ? "above" : "at least", low);
  if (has_high) return fmt::format("{} {}", excludes_high ? "below" : "at most", high);
  return "";
}

void OptionSource::throw_expected(std::string_view what) const {
  const std::string place = node.where.empty() || key.empty() ? node.where + key : node.where + ": " + key;
  throw_input_error("{}expected {}, found {}", place.empty() ? "" : place + ": ", what, found(node));
}

size_t read_name(const OptionSource& source, size_t count, std::string_view (*name)(size_t)) {
  ChosenName choice;
  for (size_t i = 0; i < count; ++i) choice.names.emplace_back(name(i));
  read_value(source, choice);
  return static_cast<size_t>(std::ranges::find(choice.names, choice.name) - choice.names.begin());
}

void read_value(const OptionSource& source, ChosenName& value) {
  read_value(OptionSource{source.node, source.key, {}}, value.name);
  if (std::ranges::find(value.names, value.name) != value.names.end()) return;
  const auto meant = nearest(value.name, value.names);
  source.throw_expected(
      fmt::format("one of {}{}", join(value.names), meant ? " (perhaps " + *meant + ")" : ""));
}

void read_value(const OptionSource& source, ChosenNames& value) {
  value.chosen.clear();
  ChosenName choice{.name = {}, .names = value.names};
  for (const OptionNode& element : list_elements(source)) {
    read_value(source_of_element(source, element, value.chosen.size()), choice);
    value.chosen.push_back(choice.name);
  }
}

OptionSource source_of_element(const OptionSource& list, const OptionNode& element, size_t place) {
  const bool assigned = element.kind == OptionNode::Kind::assigned;  // --metric bleu,chrf
  return {element, assigned ? list.key : fmt::format("{}[{}]", list.key, place), list.range};
}

void read_value(const OptionSource& source, bool& value) {
  const OptionNode& node = source.node;
  const bool is_truth_value = is_value(node) && (node.text == "true" || node.text == "false");
  if (!is_truth_value) source.throw_expected("true or false");
  if (node.kind == Kind::quoted) source.throw_expected("true or false without quotes");
  value = node.text == "true";
}

void read_value(const OptionSource& source, int& value) { read_number(source, value, "a whole number"); }
void read_value(const OptionSource& source, int64_t& value) { read_number(source, value, "a whole number"); }
void read_value(const OptionSource& source, uint64_t& value) {
  read_number(source, value, "a whole number that is not negative");
}
void read_value(const OptionSource& source, float& value) { read_number(source, value, "a number"); }
void read_value(const OptionSource& source, double& value) { read_number(source, value, "a number"); }

void read_value(const OptionSource& source, std::string& value) {
  if (!is_value(source.node)) source.throw_expected("text");
  value = source.node.text;
}

namespace {

std::string without_outer_spaces(const std::string& text) {
  const size_t begin = std::min(text.find_first_not_of(' '), text.size());
  return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

/// The elements of an assigned list in YAML's notation: [a, "b, c"].
std::vector<OptionNode> bracketed_elements(const OptionSource& source) {
  OptionNode list;
  try {
    list = parse_yaml_options(source.node.text, source.node.where);
  } catch (const Error&) {  // the list stays null and is refused below
  }
  if (list.kind != Kind::list) source.throw_expected("a list such as [a, b]");
  std::vector<OptionNode> elements;
  for (const auto& [key, element] : list.children) {
    elements.push_back(element);
    elements.back().where = source.node.where;
  }
  return elements;
}

/// The elements of an assigned list, a,b or [a, b].
std::vector<OptionNode> assigned_elements(const OptionSource& source) {
  const OptionNode& node = source.node;
  if (node.text.starts_with('[')) return bracketed_elements(source);
  std::vector<OptionNode> elements;
  for (size_t begin = 0; begin <= node.text.size() && !node.text.empty();) {
    const size_t comma = std::min(node.text.find(',', begin), node.text.size());
    elements.push_back(node);
    elements.back().text = without_outer_spaces(node.text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return elements;
}

}  // namespace

std::vector<OptionNode> list_elements(const OptionSource& source) {
  const OptionNode& node = source.node;
  std::vector<OptionNode> elements;
  if (node.kind == Kind::list) {
    for (const auto& [key, element] : node.children) elements.push_back(element);
  } else if (node.kind == Kind::assigned) {
    return assigned_elements(source);
  } else if (is_value(node)) {
    elements.push_back(node);
  } else {
    source.throw_expected("a list");
  }
  return elements;
}

namespace {

/// Reads a struct from a map.
class OptionReader final : public OptionVisitor {
 public:
  static void read(const OptionSource& source, AnyOptions options) {
    OptionReader reader(source);
    options(reader);
    reader.refuse_unknown_keys();
  }

 private:
  explicit OptionReader(const OptionSource& source) : node_(source.node), key_(source.key) {
    if (node_.kind != Kind::map && node_.kind != Kind::null)
      source.throw_expected("a group of keys with values");
  }

  bool visit_field(std::string_view name, OptionValue value, std::string_view /*help*/,
                   const Range& range) override {
    const OptionNode* node = find(name);
    if (node) value.read(OptionSource{*node, key_of(name), range});
    return node;
  }

  void visit_group(std::string_view name, AnyOptions options, std::string_view /*help*/) override {
    if (const OptionNode* node = find(name)) read(OptionSource{*node, key_of(name), {}}, options);
  }

  const OptionNode* find(std::string_view name) {
    if (std::ranges::find(known_, name) == known_.end()) known_.emplace_back(name);
    for (const auto& [key, child] : node_.children)
      if (key == name) return &child;
    return nullptr;
  }

  std::string key_of(std::string_view name) const {
    return key_.empty() ? std::string(name) : fmt::format("{}.{}", key_, name);
  }

  void refuse_unknown_keys() const {
    for (const auto& [key, child] : node_.children)
      if (std::find(known_.begin(), known_.end(), key) == known_.end())
        throw_input_error("{}: unknown key '{}'{}", child.where, key_of(key), suggestion(key, known_));
  }

  const OptionNode& node_;
  std::string key_;
  std::vector<std::string> known_;
};

/// Converts a struct to a tree.
class OptionWriter final : public OptionVisitor {
 public:
  OptionNode take() { return std::move(node_); }

 private:
  bool visit_field(std::string_view name, OptionValue value, std::string_view help,
                   const Range& range) override {
    const std::string allowed = range.describe();
    add(name, value.node(), allowed.empty() ? std::string(help) : fmt::format("{}; {}", help, allowed));
    return false;
  }

  void visit_group(std::string_view name, AnyOptions options, std::string_view help) override {
    add(name, write_options(options), help);
  }

  void add(std::string_view name, OptionNode node, std::string_view help) {
    node.help = help;
    node_.children.emplace_back(name, std::move(node));
  }

  OptionNode node_{.kind = Kind::map};
};

/// Checks the ranges of a struct.
class RangeChecker final : public OptionVisitor {
 public:
  explicit RangeChecker(std::string prefix) : prefix_(std::move(prefix)) {}

 private:
  bool visit_field(std::string_view name, OptionValue value, std::string_view /*help*/,
                   const Range& range) override {
    value.check(prefix_ + std::string(name), range);
    return false;
  }
  void visit_group(std::string_view name, AnyOptions options, std::string_view /*help*/) override {
    RangeChecker inner(prefix_ + std::string(name) + ".");
    options(inner);
  }

  std::string prefix_;
};

}  // namespace

void check_ranges(OptionVisitor::AnyOptions options) {
  RangeChecker checker("");
  options(checker);
}

void read_options(const OptionNode& root, OptionVisitor::AnyOptions options) {
  OptionReader::read(OptionSource{root, "", {}}, options);
}

OptionNode write_options(OptionVisitor::AnyOptions options) {
  OptionWriter writer;
  options(writer);
  return writer.take();
}

OptionNode node_of(bool value) { return {.kind = Kind::plain, .text = value ? "true" : "false"}; }

OptionNode node_of(const std::string& value) { return {.kind = Kind::quoted, .text = value}; }

}  // namespace sixfold
