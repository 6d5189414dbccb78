#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/options.h"

namespace sixfold {

/// A row of the table of a sweep, `sixfold sweep`: a config that is trained with one or several seeds.
struct SweepRow {
  std::string name;     ///< the name of its run's folder
  std::string where;    ///< "table3.yaml: heads-1", for messages
  OptionNode options;   ///< the whole config, as a tree that a task can read
  std::string changes;  ///< how it differs from the sweep's base: "model.heads 1, model.d_k 64"
  std::vector<std::string> changed_keys = {};  ///< "model.heads", "model.d_k"
  std::optional<int> seeds = {};               ///< number of trainings with different seeds, if the list has it
};

/// The maximum number of trainings of a row, and of rows that a grid makes.
inline constexpr int max_seeds = 100, max_grid_rows = 1000;

/// Reads the rows of a sweep. A recipe is one of
///   - a training config; its name is that of the file, without its extension
///   - a list of variants of a config: a file with `base`, a config or the path of one, and `rows`, which gives
///     each variant a name and the keys in which it differs. Keys are written model.heads: 1 or in groups.
///     `grid` gives keys lists of values, and makes a row of each combination, after `rows`; the last key
///     varies fastest. Its name consists of the keys and values: "heads-1+d_model-64". `seeds` is the number of
///     trainings of each row
///   - a folder, of which all .yaml and .json files are read, in the order of their names.
/// The `--set` assignments apply to all of them, and can't be of keys in which variants differ. Throws an input
/// error that names the place if a file is not well formed, if two rows have the same name, if a name can't be
/// that of a folder beside the sweep's own files, or if a number is above the maxima above.
std::vector<SweepRow> read_sweep(const std::vector<std::string>& recipes,
                                 const std::vector<std::string>& assignments = {});

}  // namespace sixfold
