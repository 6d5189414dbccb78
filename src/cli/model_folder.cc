#include "cli/model_folder.h"

#include "base/error.h"
#include "cli/named_option.h"
#include "infer/binding.h"
#include "model/model_dir.h"

namespace sixfold::cli {

ModelFolder open_model_folder(const std::string& folder) {
  const ModelConfig config = load_model_config(folder);
  return {config, load_bound_tokenizers(folder, config)};
}

void add_model_argument(CLI::App& command, std::string& folder) {
  command.add_option("model", folder, "model folder, as made by 'sixfold train'")
      ->type_name("MODEL")
      ->required();
}

void add_translator_options(CLI::App& command, TranslateOptions& options, WeightType& precision, int& threads) {
  command
      .add_option("--batch-tokens", options.batch_tokens,
                  "maximum number of tokens in a batch of one thread [depends on the size of the model]")
      ->check(number_in<int64_t>(at_least(1)))
      ->type_name("N");
  command
      .add_option("--max-source-length", options.max_source_length,
                  "maximum number of tokens in a source line; a longer line is cut, with a warning")
      ->check(number_in<int>(at_least(1)))
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--target-language", options.target_language,
                  "target language for models with several: deu puts >>deu<< before each line; 'sixfold info' "
                  "lists them")
      ->type_name("CODE");
  add_engine_options(command, precision, threads);
}

void add_engine_options(CLI::App& command, WeightType& precision, int& threads) {
  add_named_option(
      command, "--precision", precision,
      "type of matrix products: fp32, or int8, which takes less time and memory [as the model is stored]");
  command.add_option("--threads", threads, "number of threads; 0: all that are available")
      ->check(CLI::Range(0, 1024))
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace sixfold::cli
