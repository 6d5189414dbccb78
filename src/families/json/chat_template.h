#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "families/family.h"
#include "tasks/language_model/settings.h"

namespace sixfold {

/// The chat template of a folder: that of chat_template.jinja, or "chat_template" of tokenizer_config.json, the
/// one named "default" of several. Throws an input error if it is neither a text nor a list of texts with
/// names.
std::optional<std::string> read_chat_template(const std::filesystem::path& folder);

/// How a model reads conversations, by its chat template. `origin` names it in messages. A warning says why
/// there is none: the template is not that of a known format, or does not fit the tokenizer, or begins texts
/// otherwise than with the start token if `starts_texts`.
ChatSettings chat_of_template(const std::string& jinja, const Tokenizer& tokenizer, bool starts_texts,
                              const std::string& origin, Notes& notes);

}  // namespace sixfold
