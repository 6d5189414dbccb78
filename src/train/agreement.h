#pragma once
#include <initializer_list>
#include <string>
#include <utility>

#include "distributed/processes.h"

namespace sixfold {

/// Collective. All processes of a run must compute the same. Throws an input error that names the first process
/// that has another value for one of these facts, and where the values differ.
void check_agreement(Processes& processes, std::initializer_list<std::pair<const char*, std::string>> facts);

/// The hash of the program that runs.
std::string hash_of_program();

}  // namespace sixfold
