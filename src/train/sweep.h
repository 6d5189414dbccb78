#pragma once
#include <string>
#include <vector>

#include "base/options.h"

namespace sixfold {

/// One of the trainings of a sweep, `sixfold sweep`.
struct SweepRow {
  std::string name;     ///< of its run's folder
  std::string where;    ///< "table3.yaml: heads-1", for messages
  OptionNode options;   ///< the whole config, as a tree that a task can read
  std::string changes;  ///< how it differs from the sweep's base: "model.heads 1, model.d_k 64"
  std::vector<std::string> changed_keys = {};  ///< "model.heads", "model.d_k"
};

/// Reads the trainings of a sweep. A recipe is one of
///   - a training config; its name is that of the file, without its extension
///   - a list of variants of a config: a file with `base`, a config or the path of one, and `rows`, which gives
///     each variant a name and the keys in which it differs. Keys are written model.heads: 1 or in groups
///   - a folder, of which all .yaml and .json files are read, in the order of their names.
/// The `--set` assignments apply to all of them, and can't be of keys in which variants differ. Throws an input
/// error that names the place if a file is not well formed, if two trainings have the same name, or if a name
/// can't be that of a folder beside the sweep's own files.
std::vector<SweepRow> read_sweep(const std::vector<std::string>& recipes,
                                 const std::vector<std::string>& assignments = {});

}  // namespace sixfold
