#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "families/family.h"
#include "tasks/language_model/settings.h"

namespace sixfold {

/// The chat template of a folder: chat_template.jinja, or "chat_template" of tokenizer_config.json, of which
/// the one named "default" is taken if there are several. Throws an input error if it is neither a text nor a
/// list of texts with names.
std::optional<std::string> read_chat_template(const std::filesystem::path& folder);

/// The chat settings of a model, which are recognized by its chat template. `origin` names the model in
/// messages. If the template is of no known format, does not fit the tokenizer, or puts a start token before
/// texts although the tokenizer does not (`starts_texts`) or the other way round, a warning says so and the
/// settings are empty.
ChatSettings chat_of_template(const std::string& jinja, const Tokenizer& tokenizer, bool starts_texts,
                              const std::string& origin, Notes& notes);

}  // namespace sixfold
