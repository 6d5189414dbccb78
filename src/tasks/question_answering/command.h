#pragma once
#include "program/kit/task_program.h"

namespace sixfold::cli {

/// The commands that this task adds to the program.
TaskProgram question_answering_program();

}  // namespace sixfold::cli
