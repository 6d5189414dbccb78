#include "families/json/start_token.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "families/json/keys.h"

// The meaning of a post_processor is defined in the documentation of Hugging Face's tokenizers, that of
// tokenizer_config.json in transformers' tokenization_utils_base.py and tokenization_utils_tokenizers.py.

namespace sixfold {
namespace {

using nlohmann::json;

std::string type_of(const json& step) {
  const json type = step.is_object() ? step.value("type", json()) : json();
  return type.is_string() ? type.get<std::string>() : step.dump().substr(0, 60);
}

/// The token that a template puts before a text. The parts of `single` are {"SpecialToken": {"id": NAME}} and
/// {"Sequence": {"id": "A"}}; `special_tokens` has the ids of each name.
int start_of_template(const json& step, const std::string& origin) {
  const json single = step.value("single", json());
  const auto refuse = [&](const std::string& reason) {
    throw_input_error(
        "{}: post_processor: the template of a single text {}; only a text alone, or one special token before "
        "it, "
        "is supported",
        origin, reason);
  };
  if (!single.is_array() || single.empty()) refuse("is not a list of parts");
  for (const json& part : single)
    if (!part.is_object() || part.size() != 1) refuse("has a part that is neither a text nor a special token");
  if (!single.back().contains("Sequence")) refuse("puts tokens after the text");
  if (single.size() == 1) return -1;
  if (single.size() > 2 || !single[0].contains("SpecialToken")) refuse("puts several tokens before the text");
  const json name =
      single[0]["SpecialToken"].is_object() ? single[0]["SpecialToken"].value("id", json()) : json();
  const json tokens = step.value("special_tokens", json());
  const json entry =
      name.is_string() && tokens.is_object() ? tokens.value(name.get<std::string>(), json()) : json();
  const json ids = entry.is_object() ? entry.value("ids", json()) : json();
  if (!ids.is_array() || ids.size() != 1)
    refuse(fmt::format("begins with {}, which does not stand for one token", name.dump()));
  return static_cast<int>(
      whole_number(ids[0], origin + ": post_processor: the id of " + name.dump(), 0, (1 << 30) - 1));
}

/// The token that a step of a post_processor puts before a text.
int start_of_step(const json& step, const std::string& origin) {
  if (step.is_null()) return -1;
  const std::string type = type_of(step);
  if (type == "ByteLevel") return -1;  // changes offsets only
  if (type == "TemplateProcessing") return start_of_template(step, origin);
  const json steps = type == "Sequence" ? step.value("processors", json()) : json();
  require(
      steps.is_array(),
      "{}: post_processor is of the type '{}'; only ByteLevel, TemplateProcessing and a Sequence of them are "
      "supported",
      origin, type);
  int start = -1;
  for (const json& one : steps) {
    const int id = start_of_step(one, origin);
    require(id < 0 || start < 0, "{}: post_processor has several steps that put a token before the text",
            origin);
    if (id >= 0) start = id;
  }
  return start;
}

/// The text of a token in tokenizer_config.json, where it may be an object with its properties.
std::string token_of(const JsonKeys& keys, const char* key, const std::string& default_value) {
  if (!keys.names(key)) return default_value;
  const json& value = keys.at(key);
  if (value.is_null()) return {};
  const json text = value.is_object() ? value.value("content", json()) : value;
  require(text.is_string(), "{}: {} is {}; it must be the text of a token", keys.path(), key, value.dump());
  return text.get<std::string>();
}

}  // namespace

int start_of_post_processor(const json& tokenizer_json, const std::string& origin) {
  return start_of_step(tokenizer_json.value("post_processor", json()), origin);
}

json post_processor_with_start(int id, const std::string& text) {
  if (id < 0) return nullptr;
  const json start = {{"SpecialToken", {{"id", text}, {"type_id", 0}}}};
  const auto sequence = [](const char* name, int type) {
    return json{{"Sequence", {{"id", name}, {"type_id", type}}}};
  };
  return {{"type", "TemplateProcessing"},
          {"single", json::array({start, sequence("A", 0)})},
          {"pair", json::array({start, sequence("A", 0), start, sequence("B", 1)})},
          {"special_tokens",
           {{text, {{"id", text}, {"ids", json::array({id})}, {"tokens", json::array({text})}}}}}};
}

int start_of_sentence_piece(const std::filesystem::path& folder, const Tokenizer& tokenizer, Notes& notes) {
  const auto path = folder / "tokenizer_config.json";
  const JsonKeys keys = JsonKeys::of_optional(path);
  keys.require_is("add_eos_token", false, false);
  if (!keys.has("add_bos_token"))
    notes.warn(
        "{}: has no add_bos_token; texts begin with the start token, as the documentation of LlamaTokenizer "
        "has "
        "it. If the model was trained without, set it to false",
        keys.path());
  if (!keys.get("add_bos_token", true)) return -1;
  const std::string text = token_of(keys, "bos_token", "<s>");
  if (text.empty()) return -1;
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id)
    if (tokenizer.token_text(id) == text) return id;
  throw_input_error("{}: bos_token is '{}', which is not in the vocabulary of tokenizer.model", keys.path(),
                    text);
}

}  // namespace sixfold
