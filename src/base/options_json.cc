#include <map>
#include <nlohmann/json.hpp>

#include "base/join.h"
#include "base/json.h"
#include "base/options.h"

namespace sixfold {

using Kind = OptionNode::Kind;

namespace {

OptionNode node_of_json(const nlohmann::json& value, const std::string& file_name) {
  OptionNode node{.where = file_name};
  if (value.is_object()) {
    node.kind = Kind::map;
    for (const auto& [key, child] : value.items())
      node.children.emplace_back(key, node_of_json(child, file_name));
  } else if (value.is_array()) {
    node.kind = Kind::list;
    for (const auto& child : value) node.children.emplace_back("", node_of_json(child, file_name));
  } else if (value.is_string()) {
    node.kind = Kind::quoted;
    node.text = value.get<std::string>();
  } else if (!value.is_null()) {
    node.kind = Kind::plain;
    node.text = value.dump();
  }
  return node;
}

nlohmann::ordered_json json_of_node(const OptionNode& node) {
  using nlohmann::ordered_json;
  ordered_json value;
  switch (node.kind) {
    case Kind::null:
      break;
    case Kind::plain:  // numbers and booleans are written as in JSON
      value = ordered_json::parse(node.text);
      break;
    case Kind::quoted:
    case Kind::assigned:
      value = node.text;
      break;
    case Kind::list:
      value = ordered_json::array();
      for (const auto& [key, child] : node.children) value.push_back(json_of_node(child));
      break;
    case Kind::map:
      value = ordered_json::object();
      for (const auto& [key, child] : node.children) value[key] = json_of_node(child);
      break;
  }
  return value;
}

}  // namespace

OptionNode parse_json_options(std::string_view text, const std::string& file_name) {
  require(text.size() <= max_options_size, "{}: is larger than {} bytes, the limit for a file of options",
          file_name, max_options_size);
  return node_of_json(parse_json(text, file_name), file_name);
}

std::string value_text(const OptionNode& node) {
  if (node.kind != OptionNode::Kind::list) return node.text;
  std::vector<std::string> parts;
  for (const auto& [key, child] : node.children) parts.push_back(value_text(child));
  return "[" + join(parts, ", ") + "]";
}

std::vector<std::string> differing_keys(const OptionNode& a, const OptionNode& b) {
  std::map<std::string, std::pair<std::string, std::string>> values;  // by key: in a, and in b
  const auto collect = [&](const auto& self, const OptionNode& node, const std::string& prefix,
                           std::string std::pair<std::string, std::string>::*side) -> void {
    for (const auto& [key, child] : node.children) {
      const std::string full = prefix + key;
      if (child.kind == OptionNode::Kind::map)
        self(self, child, full + ".", side);
      else
        values[full].*side = "=" + value_text(child);  // an empty text differs from a missing key
    }
  };
  collect(collect, a, "", &std::pair<std::string, std::string>::first);
  collect(collect, b, "", &std::pair<std::string, std::string>::second);
  std::vector<std::string> keys;
  for (const auto& [key, both] : values)
    if (both.first != both.second) keys.push_back(key);
  return keys;
}

std::string to_json(const OptionNode& node) {
  try {
    return json_of_node(node).dump(2) + "\n";
  } catch (const nlohmann::json::type_error&) {
    throw_input_error("the text of an option is not valid UTF-8, which JSON requires");
  }
}

}  // namespace sixfold
