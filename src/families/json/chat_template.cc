#include "families/json/chat_template.h"

#include "base/join.h"
#include "families/json/keys.h"
#include "text/chat_templates.h"

namespace sixfold {

namespace fs = std::filesystem;
using nlohmann::json;

std::optional<std::string> read_chat_template(const fs::path& folder) {
  const fs::path own = folder / "chat_template.jinja", config = folder / "tokenizer_config.json";
  if (fs::exists(own)) return read_regular_file(own);
  if (!fs::exists(config)) return {};
  const JsonKeys keys(config);
  if (!keys.has("chat_template")) return {};
  const json& value = keys.at("chat_template");
  if (value.is_string()) return value.get<std::string>();
  require(value.is_array(), "{}: chat_template is {}; it must be a text, or a list of texts with names",
          keys.path(), value.dump().substr(0, 60));
  for (const json& one : value) {
    const bool named = one.is_object() && one.contains("name") && one["name"].is_string() &&
                       one.contains("template") && one["template"].is_string();
    require(named, "{}: chat_template has {}; each of several has a name and a template", keys.path(),
            one.dump().substr(0, 60));
    if (one["name"] == "default") return one["template"].get<std::string>();
  }
  return {};
}

ChatSettings chat_of_template(const std::string& jinja, const Tokenizer& tokenizer, bool starts_texts,
                              const std::string& origin, Notes& notes) {
  const auto refuse = [&](const std::string& reason) {
    notes.warn("{}: the chat template {}; the model is imported without one, so that it continues texts only",
               origin, reason);
    return ChatSettings();
  };
  const auto found = recognize_chat(jinja);
  if (!found) {
    std::vector<std::string> names;
    for (const ChatFormat& format : chat_formats()) names.emplace_back(format.name);
    return refuse(fmt::format("is none of the known formats: {}", join_words(names, "and")));
  }
  if (const auto fault = chat_fault(*found->format, tokenizer))
    return refuse(fmt::format("is that of the format {}, but {}", found->format->name, *fault));
  if (found->starts != starts_texts)
    return refuse(found->starts ? "puts the start token before a text, and the tokenizer none"
                                : "puts no start token before a text, but the tokenizer does");
  if (found->inserts_date)
    notes.warn("{}: the chat template writes today's date; conversations have the one that it names otherwise",
               origin);
  return {.format = std::string(found->format->name), .system = found->system};
}

}  // namespace sixfold
