#pragma once
#include "program/kit/task_program.h"

namespace sixfold::cli {

/// The commands that this task adds to the program.
TaskProgram masked_language_model_program();

}  // namespace sixfold::cli
