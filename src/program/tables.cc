#include "program/kit/task_program.h"
#include "program/program.h"
#include "serve/api/served_tasks.h"
#include "tasks/tasks.h"

namespace sixfold::cli {

ProgramTables builtin_tables() {
  static const TaskProgram programs[] = {
      translation_program(),      language_model_program(),     classification_program(),
      image_captioning_program(), question_answering_program(), masked_language_model_program(),
      embedding_program(),
  };
  return {builtin_tasks(), programs, serve::builtin_served_tasks()};
}

}  // namespace sixfold::cli
