#include "cli/model_folder.h"

#include <filesystem>

#include "base/error.h"
#include "model/model_dir.h"
#include "translate/sealed.h"

namespace sixfold::cli {

namespace fs = std::filesystem;

void require_replaceable(const std::string& folder, const std::string& option) {
  require(!folder.empty(), "{}: name a folder for the new model", option);
  std::error_code ignored;
  require(!fs::exists(folder, ignored) || fs::is_empty(folder, ignored) ||
              fs::exists(fs::path(folder) / "config.json"),
          "{} {}: is there already and is no model; name a new folder", option, folder);
}

ModelFolder open_model_folder(const std::string& folder) {
  const ModelConfig config = load_model_config(folder);
  return {config, load_sealed_tokenizers(folder, config)};
}

void add_model_argument(CLI::App& command, std::string& folder) {
  command.add_option("model", folder, "model folder, as train makes it")->type_name("MODEL")->required();
}

}  // namespace sixfold::cli
