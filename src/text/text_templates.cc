#include "text/text_templates.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

// The meaning of a post_processor is defined in the documentation of Hugging Face's tokenizers.

namespace sixfold {
namespace {

using nlohmann::json;

constexpr int64_t largest_id = (1 << 30) - 1;

/// Reads one post_processor; `where_` names it in errors.
class TemplateReader {
 public:
  explicit TemplateReader(std::string where) : where_(std::move(where)) {}

  /// Returns whether the step adds tokens.
  bool read(const json& step, TextTemplates& templates) const {
    if (step.is_null()) return false;
    const std::string type = step.is_object() && step.contains("type") && step["type"].is_string()
                                 ? step["type"].get<std::string>()
                                 : step.dump(-1, ' ', true, json::error_handler_t::replace).substr(0, 60);
    if (type == "ByteLevel") return false;  // changes offsets only
    if (type == "Sequence") return read_sequence(step, templates);
    if (type == "BertProcessing") return read_around(step, 1, templates);
    if (type == "RobertaProcessing") return read_around(step, 2, templates);
    require(
        type == "TemplateProcessing",
        "{} is of the type '{}'; only TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel and a "
        "Sequence of them are supported",
        where_, type);
    read_template(step, templates);
    return true;
  }

 private:
  [[noreturn]] void refuse(const std::string& reason) const { throw_input_error("{}: {}", where_, reason); }

  const json& part(const json& object, const char* key) const {
    if (!object.is_object() || !object.contains(key)) refuse(fmt::format("has no '{}'", key));
    return object[key];
  }

  bool read_sequence(const json& step, TextTemplates& templates) const {
    const json& steps = part(step, "processors");
    if (!steps.is_array()) refuse("processors is not a list");
    bool adds = false;
    for (const json& one : steps) {
      TextTemplates read_now;
      if (!read(one, read_now)) continue;
      if (adds) refuse("several steps put tokens beside the text");
      adds = true;
      templates = read_now;
    }
    return adds;
  }

  /// `cls` and `sep` are [text, id]. A pair has `separators` between its texts; the second text of BERT is of
  /// another type.
  bool read_around(const json& step, size_t separators, TextTemplates& templates) const {
    const auto token = [&](const char* key) {
      const json& pair = part(step, key);
      if (!pair.is_array() || pair.size() != 2) refuse(fmt::format("'{}' is not a text and an id", key));
      return static_cast<int32_t>(
          whole_number(pair[1], fmt::format("{}: the id of '{}'", where_, key), 0, largest_id));
    };
    const TemplateToken cls{token("cls"), 0}, sep{token("sep"), 0};
    const int32_t second = separators == 1 ? 1 : 0;
    templates.single = {{cls}, {sep}, 0};
    templates.pair = {{cls}, {separators, sep}, {{sep.id, second}}, 0, second};
    return true;
  }

  void read_template(const json& step, TextTemplates& templates) const {
    std::vector<TemplateToken>* place = &templates.single.before;
    each_part(
        step, "single", [&](const TemplateToken& token) { place->push_back(token); },
        [&](const std::string& name, int32_t type) {
          if (name != "A" || place != &templates.single.before)
            refuse("the template of a single text does not have the text once");
          templates.single.type = type;
          place = &templates.single.after;
        });
    if (place != &templates.single.after) refuse("the template of a single text has no text");
    PairTemplate& pair = templates.pair;
    place = &pair.before;
    if (!step.contains("pair") || step["pair"].is_null()) return;
    each_part(
        step, "pair", [&](const TemplateToken& token) { place->push_back(token); },
        [&](const std::string& name, int32_t type) {
          const bool first = place == &pair.before && name == "A";
          if (!first && (place != &pair.between || name != "B"))
            refuse("the template of a pair does not have the texts A and B once, in this order");
          (first ? pair.first_type : pair.second_type) = type;
          place = first ? &pair.between : &pair.after;
        });
    if (place != &pair.after) refuse("the template of a pair lacks a text");
  }

  /// Parts are {"SpecialToken": {"id": NAME, "type_id": 0}} and {"Sequence": {"id": "A", "type_id": 0}}.
  template <class Token, class Text>
  void each_part(const json& step, const char* key, Token token, Text text) const {
    const json& parts = part(step, key);
    if (!parts.is_array()) refuse(fmt::format("'{}' is not a list of parts", key));
    for (const json& one : parts) {
      const bool is_token = one.is_object() && one.contains("SpecialToken");
      const json& value = part(one, is_token ? "SpecialToken" : "Sequence");
      const json& name = part(value, "id");
      if (!name.is_string()) refuse(fmt::format("a part of '{}' has an id that is not a text", key));
      const auto type = static_cast<int32_t>(
          value.contains("type_id") ? whole_number(value["type_id"], where_ + ": a type_id", 0, largest_id)
                                    : 0);
      if (!is_token) {
        text(name.get<std::string>(), type);
      } else {
        for (const int32_t id : ids_of(step, name.get<std::string>())) token(TemplateToken{id, type});
      }
    }
  }

  /// `special_tokens` has the ids of each name.
  std::vector<int32_t> ids_of(const json& step, const std::string& name) const {
    const json& tokens = part(step, "special_tokens");
    if (!tokens.is_object() || !tokens.contains(name))
      refuse(fmt::format("special_tokens lacks '{}', which its template names", name));
    const json& ids = part(tokens[name], "ids");
    if (!ids.is_array()) refuse(fmt::format("special_tokens: the ids of '{}' are not a list", name));
    std::vector<int32_t> result;
    for (const json& id : ids)
      result.push_back(static_cast<int32_t>(
          whole_number(id, fmt::format("{}: the id of '{}'", where_, name), 0, largest_id)));
    return result;
  }

  std::string where_;
};

}  // namespace

TextTemplates read_text_templates(const json& tokenizer_json, const std::string& origin) {
  TextTemplates templates;
  if (tokenizer_json.contains("post_processor"))
    TemplateReader(origin + ": post_processor").read(tokenizer_json["post_processor"], templates);
  return templates;
}

}  // namespace sixfold
