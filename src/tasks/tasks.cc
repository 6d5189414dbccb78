#include "tasks/tasks.h"

#include "tasks/translation.h"

namespace sixfold {
namespace {

/// Creates a `Config` from the options that the function `read` returns.
template <class Config, auto read>
std::unique_ptr<TaskConfig> read_config(const std::string& path, const std::vector<std::string>& assignments) {
  return std::make_unique<Config>(read(path, assignments));
}

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
    {"translation", read_config<TranslationConfig, read_translation_options>,
     config_of<TranslationConfig, translation_options_of>, default_options<TranslationOptions>},
};

}  // namespace

std::span<const TaskEntry> tasks() { return table; }

}  // namespace sixfold
