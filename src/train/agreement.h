#pragma once
#include <initializer_list>
#include <string>
#include <utility>

#include "model/transformer.h"
#include "train/distributed/processes.h"

namespace sixfold {

/// Collective. All processes of a run must compute the same. Throws an input error that names the first process
/// that has another value for one of these facts, and where the values differ.
void check_agreement(Processes& processes, std::initializer_list<std::pair<const char*, std::string>> facts);

/// The hash of the program that runs.
std::string hash_of_program();

/// A hash of all files of a folder, without its subfolders.
std::string hash_of_folder(const std::string& folder);
/// A hash of all weights and buffers of a model in host memory.
std::string hash_of_weights(Transformer& model);

}  // namespace sixfold
