#include "program/kit/model_folder.h"

#include "base/error.h"
#include "base/threads.h"
#include "model_folder/binding.h"
#include "model_folder/model_folder.h"
#include "program/kit/value_option.h"

namespace sixfold::cli {

ModelFolder open_model_folder(const std::string& folder) {
  const ModelConfig config = load_model_config(folder);
  return {config, load_bound_tokenizers(folder, config)};
}

ModelFolder open_text_model(const std::string& folder) {
  ModelFolder opened = open_model_folder(folder);
  require(opened.tokenizers.source != nullptr, "{}: has no tokenizer", folder);
  return opened;
}

void add_model_argument(CLI::App& command, std::string& folder) {
  command.add_option("model", folder, "model folder, as made by 'sixfold train'")
      ->type_name("MODEL")
      ->required();
}

void add_runtime_options(CLI::App& command, RuntimeOptions& runtime) {
  add_value_option(
      command, "--precision", runtime.weights,
      "type of matrix products: fp32, or int8, which takes less time and memory [as the model is stored]");
  add_threads_option(command, runtime.threads);
}

void add_threads_option(CLI::App& command, int& threads) {
  const auto set = [&threads](int asked) { threads = asked == 0 ? 0 : usable_threads(asked, "--threads"); };
  command.add_option_function<int>("--threads", set, "number of threads; 0: all that are available")
      ->check(CLI::Range(0, 1024))
      ->type_name("N")
      ->default_str("0");
}

}  // namespace sixfold::cli
