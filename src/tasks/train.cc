#include "tasks/train.h"

#include "tasks/tasks.h"

namespace sixfold {

TrainOutcome train(std::string_view config, const TrainRequest& request,
                   const std::vector<std::string>& assignments) {
  const std::string name = "config";
  OptionNode options = parse_yaml_options(config, name);
  for (const std::string& assignment : assignments) set_option(options, assignment);
  return train(*task_config_of(std::move(options), name), request);
}

}  // namespace sixfold
