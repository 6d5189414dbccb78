#include "cli/model_folder.h"

#include "model/model_dir.h"
#include "translate/sealed.h"

namespace sixfold::cli {
ModelFolder open_model_folder(const std::string& folder) {
  const ModelConfig config = load_model_config(folder);
  return {config, load_sealed_tokenizers(folder, config)};
}

void add_model_argument(CLI::App& command, std::string& folder) {
  command.add_option("model", folder, "model folder, as train makes it")->type_name("MODEL")->required();
}

}  // namespace sixfold::cli
