#pragma once
#include <string>

namespace sixfold {

/// Throws an input error unless `path` is a model folder, judged by the names of its files and the keys of its
/// config.json, and none of its files is empty. The message says what `path` is instead (a training run, a
/// folder of checkpoints, another program's model, a file) and what to use or to do.
void require_model_folder(const std::string& path);

}  // namespace sixfold
