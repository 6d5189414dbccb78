#pragma once
#include <string>

namespace sixfold {

/// Throws an input error unless `path` is a model folder, as far as its names and the keys of its config.json
/// tell, with no empty file in it. The message says what `path` is instead (a training run, a folder of
/// checkpoints, another program's model, a file) and what to give or to do.
void require_model_folder(const std::string& path);

}  // namespace sixfold
