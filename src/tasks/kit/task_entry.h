#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tasks/kit/size_choice.h"
#include "train/task.h"

namespace sixfold {

/// Receives a line of the description of a model: its name, such as "search", and its text.
using InfoLine = std::function<void(std::string_view name, const std::string& text)>;

/// The description of a task: an entry of the table of tasks.
struct TaskEntry {
  std::string_view name;     ///< the key `task` of a training config and of config.json
  std::string_view purpose;  ///< what its models do: "translates text"
  std::string_view command;  ///< the command of the program that predicts with its models: "translate"
  /// Converts the options of a config; `where`: the name of their origin in messages. Throws an input error
  /// that names the key, and the file and line or the assignment. Null if models of the task are imported and
  /// not trained.
  std::unique_ptr<TaskConfig> (*config_of)(OptionNode options, const std::string& where);
  /// Returns every key with its default and its description. Null if `config_of` is.
  OptionNode (*default_options)();
  /// The sizes that a run gets if its config gives none, from small to large; empty: those of the defaults.
  std::span<const SizeChoice> (*sizes)();
  /// Describes the settings of a model that belong to the task, besides its network and its tokenizers. Throws
  /// an input error if the model's settings are not valid.
  void (*describe)(const ModelConfig& model, const InfoLine& line);

  bool is_trained() const { return config_of != nullptr; }
};

/// A table of tasks. Functions take it as an argument, so that a program can add tasks.
using Tasks = std::span<const TaskEntry>;

/// The entry of a task with the config class `Config`. `convert` converts a tree of options to the struct of
/// the task's options.
template <class Config, auto convert>
TaskEntry task_entry(std::string_view purpose, std::string_view command,
                     void (*describe)(const ModelConfig&, const InfoLine&)) {
  using Options = decltype(convert(OptionNode(), std::string()));
  return {.name = Options::task_name,
          .purpose = purpose,
          .command = command,
          .config_of = [](OptionNode options, const std::string& where) -> std::unique_ptr<TaskConfig> {
            return std::make_unique<Config>(convert(std::move(options), where));
          },
          .default_options = [] { return write_options(Options()); },
          .sizes =
              [] {
                if constexpr (requires { Options::sizes(); })
                  return Options::sizes();
                else
                  return std::span<const SizeChoice>();
              },
          .describe = describe};
}

}  // namespace sixfold
