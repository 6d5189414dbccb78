#include "tasks/translation/commands/commands.h"

#include "program/kit/task_program.h"

namespace sixfold::cli {

TaskProgram translation_program() {
  return {.name = "translation", .add_commands = [](Commands& commands) {
            commands.add(Commands::make, {add_shortlist, add_align, add_confidence});
            commands.add(Commands::use, {add_translate, add_rerank});
          }};
}

}  // namespace sixfold::cli
