#pragma once
#include "program/kit/task_program.h"

namespace sixfold::cli {

/// What the task adds to the program.
TaskProgram embedding_program();

}  // namespace sixfold::cli
