#include "tasks/train.h"

#include "tasks/tasks.h"

namespace sixfold {

TrainOutcome train(std::string_view config, const TrainRequest& request,
                   const std::vector<std::string>& assignments) {
  const std::string name = "config";
  const size_t begin = config.find_first_not_of(" \t\r\n");
  const bool json = begin != config.npos && config[begin] == '{';
  OptionNode options = json ? parse_json_options(config, name) : parse_yaml_options(config, name);
  for (const std::string& assignment : assignments) set_option(options, assignment);
  return train(*task_config_of(std::move(options), name, builtin_tasks(), request.resume ? request.run : ""),
               request);
}

}  // namespace sixfold
