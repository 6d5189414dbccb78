#include "program/kit/value_option.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/join.h"

namespace sixfold::cli {
namespace {

/// The arguments of an option as a value of a config.
OptionNode node_of_arguments(const std::vector<std::string>& texts, bool is_text_list) {
  if (!is_text_list) return {.kind = OptionNode::Kind::assigned, .text = join(texts, ",")};
  OptionNode list{.kind = OptionNode::Kind::list};
  for (const std::string& text : texts) list.children.emplace_back("", node_of(text));
  return list;
}

/// The help of an option, with its range if that has two bounds.
std::string with_range(const std::string& help, const Range& range) {
  if (!std::isfinite(range.low) || !std::isfinite(range.high)) return help;
  const size_t place = help.ends_with("]") ? help.rfind(" [") : help.size();
  return fmt::format("{}; {}{}", help.substr(0, place), range.describe(), help.substr(place));
}

/// Adds an option. `on_value`, if it is not empty, is called with the given value; the option then shows no
/// default.
CLI::Option* add_checked_option(CLI::App& command, const std::string& flags, OptionValue value,
                                const std::string& help, const Range& range,
                                const std::function<void(const OptionNode&)>& on_value) {
  const bool is_text_list = value.is_list() && value.type_name() == text_type_name;
  const std::string key = flags.substr(flags.rfind(',') + 1);
  const auto read = [=](const std::vector<std::string>& texts) {
    OptionNode node = node_of_arguments(texts, is_text_list);
    node.where = key;
    try {
      value.read(OptionSource{node_of_arguments(texts, is_text_list), "", range});
    } catch (const Error& error) {
      throw CLI::ValidationError(key, error.what());
    }
    if (on_value) on_value(node);
    return true;
  };
  CLI::Option* option = command.add_option(flags, read, with_range(help, range))->type_name(value.type_name());
  if (is_text_list)
    option->expected(1, CLI::detail::expected_max_vector_size)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  if (const OptionNode node = value.node(); !on_value && node.kind != OptionNode::Kind::null) {
    std::vector<std::string> parts;
    for (const OptionNode& element : list_elements({node, key, {}})) parts.push_back(element.text);
    option->default_function([text = join(parts, ",")] { return text; });
    if (!help.ends_with("]") && flags.starts_with("-")) option->capture_default_str();
  }
  return option;
}

/// Adds options for the fields of a struct.
class FieldAdder final : public OptionVisitor {
 public:
  FieldAdder(CLI::App& command, const FieldChoice& choice, OptionNode* given)
      : command_(command), choice_(choice), given_(given) {}

 private:
  static bool contains(const std::vector<std::string_view>& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  }
  bool visit_field(std::string_view name, OptionValue value, std::string_view help,
                   const Range& range) override {
    if ((!choice_.only.empty() && !contains(choice_.only, name)) || contains(choice_.except, name))
      return false;
    std::string flags = "--" + choice_.prefix + std::string(name);
    std::ranges::replace(flags, '_', '-');
    for (const auto& [field, other_flags] : choice_.flags)
      if (field == name) flags = other_flags;
    Range allowed = range;
    for (const auto& [field, other_range] : choice_.ranges)
      if (field == name) allowed = other_range;
    if (choice_.switches && value.type_name() == "BOOL") {
      const auto set = [value] { value.read(OptionSource{node_of(true), "", {}}); };
      command_.add_flag_callback(flags, set, std::string(help));
      return false;
    }
    if (!given_) return add_value_option(command_, flags, value, std::string(help), allowed), false;
    add_checked_option(command_, flags, value, fmt::format("{} [as stored with the model]", help), allowed,
                       [given = given_, name = std::string(name)](const OptionNode& node) {
                         given->children.emplace_back(name, node);
                       });
    return false;
  }
  void visit_group(std::string_view /*name*/, AnyOptions options, std::string_view /*help*/) override {
    options(*this);
  }

  CLI::App& command_;
  const FieldChoice& choice_;
  OptionNode* given_;  // null: options set the fields directly
};

}  // namespace

CLI::Option* add_value_option(CLI::App& command, const std::string& flags, OptionValue value,
                              const std::string& help, const Range& range) {
  return add_checked_option(command, flags, value, help, range, {});
}

void add_field_options(CLI::App& command, OptionVisitor::AnyOptions options, const FieldChoice& choice) {
  FieldAdder adder(command, choice, nullptr);
  options(adder);
}

void add_override_options(CLI::App& command, OptionVisitor::AnyOptions settings, OptionNode& given,
                          const FieldChoice& choice) {
  given.kind = OptionNode::Kind::map;
  FieldAdder adder(command, choice, &given);
  settings(adder);
}

}  // namespace sixfold::cli
