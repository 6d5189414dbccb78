#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "tasks/kit/text_data.h"
#include "tasks/masked_language_model/settings.h"

namespace sixfold {

/// Text without labels, and the share of its tokens that are to be predicted.
struct MaskedDataOptions : TextDataOptions {
  double mask_share = 0.15;
};

inline void visit(OptionVisitor& v, MaskedDataOptions& o) {
  v.field("mask_share", o.mask_share,
          "share of the tokens that are to be predicted; 80% of them are masked, 10% replaced by random tokens",
          between(0.001, 1));
  visit(v, static_cast<TextDataOptions&>(o));
}

/// The complete config of a run that trains an encoder to predict masked tokens (Devlin et al. 2019).
struct MaskedLanguageModelOptions : TaskOptions<MaskedDataOptions> {
  static constexpr std::string_view task_name = MaskedLanguageModelSettings::task;
  std::string task = std::string(task_name);

  MaskedLanguageModelOptions();
};

inline void visit(OptionVisitor& v, MaskedLanguageModelOptions& o) {
  v.field("task", o.task, "what is trained: masked_language_model; without this key, translation");
  visit(v, static_cast<TaskOptions<MaskedDataOptions>&>(o));
}

/// Reads the options, and sets those that are the same for all models of the task: there is no decoder, and the
/// embedding is also the output projection. Throws an input error that begins with the place of the key if a
/// key does not apply to encoders, or as `validate`.
MaskedLanguageModelOptions masked_language_model_options_of(OptionNode root, const std::string& where);

/// Throws an input error that names the key if a value is out of range, there is no training data, no limit
/// ends the training, or options contradict each other.
void validate(const MaskedLanguageModelOptions& options);

/// Returns warnings about settings that have no effect together with others, one sentence each.
std::vector<std::string> advice_for(const MaskedLanguageModelOptions& options);

}  // namespace sixfold
