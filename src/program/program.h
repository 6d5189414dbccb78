#pragma once
#include <span>

#include "program/kit/task_program.h"
#include "serve/models.h"
#include "tasks/kit/task_entry.h"

namespace sixfold::cli {

/// The tasks of the program: what the library knows of them, and what they add to the program and to its
/// server.
struct ProgramTables {
  Tasks tasks;
  std::span<const TaskProgram> programs;
  serve::ServedTasks served;
};

/// The tables of Sixfold.
ProgramTables builtin_tables();

/// Runs the command that the arguments name. Returns the exit status; errors are written to standard error.
int run(int argc, char** argv, const ProgramTables& tables);

}  // namespace sixfold::cli
