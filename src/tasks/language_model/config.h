#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.h"
#include "tasks/kit/size_choice.h"
#include "tasks/kit/text_data.h"
#include "tasks/language_model/settings.h"

namespace sixfold {

/// The complete config of a run that trains a language model. Only beam search uses the settings of
/// `generation`.
struct LanguageModelOptions : TaskOptions<TextDataOptions> {
  static constexpr std::string_view task_name = LanguageModelSettings::task;
  /// The sizes of a run whose config gives none.
  static std::span<const SizeChoice> sizes();
  std::string task = std::string(task_name);

  LanguageModelOptions();
};

inline void visit(OptionVisitor& v, LanguageModelOptions& o) {
  v.field("task", o.task, "what is trained: language_model; without this key, translation");
  visit(v, static_cast<TaskOptions<TextDataOptions>&>(o));
}

/// Reads the options, and sets those that are the same for all language models: there is no encoder, and tied
/// embeddings are those of the decoder. Throws an input error that begins with the place of the key if a key
/// does not apply to language models, or as `validate`.
LanguageModelOptions language_model_options_of(OptionNode root, const std::string& where);

/// Throws an input error that names the key if a value is out of range, there is no training text, no limit
/// ends the training, or options contradict each other.
void validate(const LanguageModelOptions& options);

/// Returns warnings about settings that have no effect together with others, one sentence each.
std::vector<std::string> advice_for(const LanguageModelOptions& options);

}  // namespace sixfold
