#pragma once
#include <initializer_list>
#include <string>
#include <utility>

#include "model/transformer.h"
#include "train/distributed/processes.h"

namespace sixfold {

/// Collective. Checks that all processes of a run have the same values: `facts` are pairs of a name and a
/// value. Throws an input error that names the first process whose value differs from that of process 0, and
/// where the values differ.
void check_agreement(Processes& processes, std::initializer_list<std::pair<const char*, std::string>> facts);

/// The hash of the running program.
std::string hash_of_program();

/// A hash of all files of a folder, without its subfolders.
std::string hash_of_folder(const std::string& folder);
/// A hash of all weights and buffers of a model in host memory.
std::string hash_of_weights(Transformer& model);

}  // namespace sixfold
