#include "tasks/tasks.h"

#include <algorithm>

#include "base/nearest.h"
#include "tasks/classification/task.h"
#include "tasks/image_captioning/task.h"
#include "tasks/image_classification/task.h"
#include "tasks/language_model/task.h"
#include "tasks/masked_language_model/task.h"
#include "tasks/question_answering/task.h"
#include "tasks/translation/task.h"

namespace sixfold {
namespace {

/// Creates a `Config` from the options that the function `convert` makes of a tree.
template <class Config, auto convert>
std::unique_ptr<TaskConfig> config_of(OptionNode options, const std::string& where) {
  return std::make_unique<Config>(convert(std::move(options), where));
}

template <class Options>
OptionNode default_options() {
  return write_options(Options());
}

constexpr TaskEntry table[] = {
    {"translation", config_of<TranslationConfig, translation_options_of>, default_options<TranslationOptions>},
    {LanguageModelOptions::task_name, config_of<LanguageModelConfig, language_model_options_of>,
     default_options<LanguageModelOptions>},
    {MaskedLanguageModelOptions::task_name,
     config_of<MaskedLanguageModelConfig, masked_language_model_options_of>,
     default_options<MaskedLanguageModelOptions>},
    {ClassificationOptions::task_name, config_of<ClassificationConfig, classification_options_of>,
     default_options<ClassificationOptions>},
    {ImageClassificationOptions::task_name,
     config_of<ImageClassificationConfig, image_classification_options_of>,
     default_options<ImageClassificationOptions>},
    {ImageCaptioningOptions::task_name, config_of<ImageCaptioningConfig, image_captioning_options_of>,
     default_options<ImageCaptioningOptions>},
    {QuestionAnsweringOptions::task_name, config_of<QuestionAnsweringConfig, question_answering_options_of>,
     default_options<QuestionAnsweringOptions>},
};

}  // namespace

std::span<const TaskEntry> tasks() { return table; }

const TaskEntry& task_of(std::string_view name, const std::string& where) {
  const auto found = std::ranges::find(table, name, &TaskEntry::name);
  if (found != std::end(table)) return *found;
  std::vector<std::string> names;
  for (const TaskEntry& entry : table) names.emplace_back(entry.name);
  throw_input_error("{}: there is no task '{}'{}", where, name, suggestion(name, names));
}

std::unique_ptr<TaskConfig> task_config_of(OptionNode options, const std::string& where) {
  const OptionNode* const chosen = options.find("task");
  if (!chosen) return table[0].config_of(std::move(options), where);
  const TaskEntry& task = task_of(chosen->text, chosen->where.empty() ? where : chosen->where);
  if (&task == &table[0])  // its options have no such key
    std::erase_if(options.children, [](const auto& child) { return child.first == "task"; });
  return task.config_of(std::move(options), where);
}

std::unique_ptr<TaskConfig> read_task_config(const std::string& path,
                                             const std::vector<std::string>& assignments) {
  OptionNode root = read_option_file(path);
  for (const std::string& assignment : assignments) set_option(root, assignment);
  return task_config_of(std::move(root), path);
}

}  // namespace sixfold
