#include "tasks/translation/commands/commands.h"

#include "program/kit/model_folder.h"
#include "program/kit/named_option.h"

namespace sixfold::cli {

void add_translator_options(CLI::App& command, TranslateOptions& options, RuntimeOptions& runtime) {
  add_batch_tokens_option(command, options.batch_tokens);
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
  add_runtime_options(command, runtime);
}

TaskProgram translation_program() {
  return {.name = "translation", .add_commands = [](Commands& commands) {
            commands.add(Commands::make, {add_shortlist});
            commands.add(Commands::use, {add_translate});
          }};
}

}  // namespace sixfold::cli
