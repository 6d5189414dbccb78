#include "tasks/tasks.h"

#include <algorithm>
#include <filesystem>

#include "base/join.h"
#include "base/log.h"
#include "base/nearest.h"
#include "model_folder/model_folder.h"
#include "tasks/classification/task.h"
#include "tasks/embedding/task.h"
#include "tasks/image_captioning/task.h"
#include "tasks/image_classification/task.h"
#include "tasks/language_model/task.h"
#include "tasks/masked_language_model/task.h"
#include "tasks/question_answering/task.h"
#include "tasks/translation/task.h"

namespace sixfold {

Tasks builtin_tasks() {
  static const TaskEntry table[] = {
      translation_entry(),           language_model_entry(),
      masked_language_model_entry(), classification_entry(),
      image_classification_entry(),  image_captioning_entry(),
      question_answering_entry(),    embedding_entry(),
  };
  return table;
}

const TaskEntry* find_task(std::string_view name, Tasks tasks) {
  const auto found = std::ranges::find(tasks, name, &TaskEntry::name);
  return found == tasks.end() ? nullptr : &*found;
}

const TaskEntry& trained_task(std::string_view name, const std::string& where, Tasks tasks) {
  if (const TaskEntry* found = find_task(name, tasks)) {
    require(found->is_trained(),
            "{}: models of the task '{}' are imported, and not trained; train one of another task that starts "
            "from such a model (start.model), as classification can",
            where, name);
    return *found;
  }
  std::vector<std::string> names;
  for (const TaskEntry& entry : tasks)
    if (entry.is_trained()) names.emplace_back(entry.name);
  throw_input_error("{}: there is no task '{}'{}", where, name, suggestion(name, names));
}

/// The task of a config.
static const TaskEntry& task_of(const OptionNode& options, const std::string& where, Tasks tasks) {
  const OptionNode* const chosen = options.find_path("task");
  return chosen ? trained_task(chosen->text, chosen->where.empty() ? where : chosen->where, tasks)
                : tasks.front();
}

std::unique_ptr<TaskConfig> task_config_of(OptionNode options, const std::string& where, Tasks tasks,
                                           const std::string& run) {
  const TaskEntry& task = task_of(options, where, tasks);
  const std::vector<std::string> chosen = choose_sizes(options, task.sizes(), run);
  for (const std::string& assignment : chosen) set_option(options, assignment);
  if (&task == &tasks.front())  // its options have no such key
    std::erase_if(options.children, [](const auto& child) { return child.first == "task"; });
  auto config = task.config_of(std::move(options), where);
  if (!chosen.empty()) log_info("{}: leaves sizes open; they become {}", where, join(chosen, " "));
  return config;
}

std::unique_ptr<TaskConfig> read_task_config(const std::string& path,
                                             const std::vector<std::string>& assignments, Tasks tasks,
                                             const std::string& run) {
  OptionNode root = read_option_file(path);
  for (const std::string& assignment : assignments) set_option(root, assignment);
  auto config = task_config_of(std::move(root), path, tasks, run);
  const std::string start = config->training().start.model;
  std::error_code unreadable;
  if (run.empty() && std::filesystem::exists(std::filesystem::path(start) / "model.safetensors", unreadable))
    require(
        !is_quantized_model(start),
        "{}: start.model: {} is quantized, which supports only decoding; use the model that it was made from",
        path, start);
  return config;
}

}  // namespace sixfold
