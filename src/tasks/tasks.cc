#include "tasks/tasks.h"

#include "tasks/translation.h"

namespace sixfold {
namespace {

/// Creates a `Config` from the options that the function `read` returns.
template <class Config, auto read>
std::unique_ptr<TaskConfig> read_config(const std::string& path, const std::vector<std::string>& assignments) {
  return std::make_unique<Config>(read(path, assignments));
}

template <class Options>
OptionNode default_options() {
  return write_options(Options());
}

constexpr TaskEntry table[] = {
    {"translation", read_config<TranslationConfig, read_translation_options>,
     default_options<TranslationOptions>},
};

}  // namespace

std::span<const TaskEntry> tasks() { return table; }

}  // namespace sixfold
