#pragma once
#include <string>
#include <string_view>
#include <vector>

// Rules for the files that a command may replace (docs/reliability.md, "People's files"): a folder only if
// every file in it is one that Sixfold writes, and never the files that the command reads or those of a
// training run.

namespace sixfold {

/// The file that marks the folder of a training run. Its process holds a lock on it.
inline constexpr std::string_view run_mark = "sixfold-run";
/// The beginning of that file. A file of that name with another text does not mark a run.
inline constexpr std::string_view run_mark_text =
    "This folder is a training run of sixfold, whose process locks this file.\n";

/// The file that marks a folder of training runs, made by a sweep. Its process holds a lock on it.
inline constexpr std::string_view sweep_mark = "sixfold-sweep";
inline constexpr std::string_view sweep_mark_text =
    "This folder is a sweep of training runs of sixfold, whose process locks this file.\n";

/// The file that marks the folder in which a server keeps glossaries. Its process holds a lock on it.
inline constexpr std::string_view glossary_mark = "sixfold-glossaries";
inline constexpr std::string_view glossary_mark_text = "This folder has the glossaries of sixfold serve.\n";

/// The file that marks the folder OUTPUT.parts, in which a translation to OUTPUT collects its parts.
inline constexpr std::string_view translation_parts_mark = "translation.json";

/// Whether the path does not exist or is an empty folder. Throws an input error if it is a file, or a folder
/// that can't be read.
bool is_new_or_empty(const std::string& folder);

/// Whether model folders have files of this name. Checkpoints have two more.
bool is_model_file(std::string_view name);
/// Whether a model file of this name is a tokenizer.
bool is_model_tokenizer(std::string_view name);
bool is_checkpoint_file(std::string_view name);

/// Whether the folder of a run has a file or folder of this name.
bool is_run_part(std::string_view name);
/// Whether a folder is that of a training run.
bool is_run_folder(const std::string& folder);
/// Whether a folder is that of a sweep.
bool is_sweep_folder(const std::string& folder);

/// Checks the output of a command that makes a model folder from `inputs`; must be called before the command
/// does anything. `folder` must be new, empty, or a model folder without other files. Throws an input error
/// otherwise, and if `folder` is an input, is inside an input, contains an input or a file to which an input
/// has a link, or is a part of a training run, or if its parent folder does not exist.
void require_new_or_model(const std::string& folder, const std::vector<std::string>& inputs);

/// The same for an output folder that is not a Sixfold model: it must be new or empty.
void require_new(const std::string& folder, const std::vector<std::string>& inputs);

/// Throws an input error if a path is a part of a training run, or inside one: only that run writes there. The
/// folder of the run itself is not a part.
void require_outside_runs(const std::string& path);

/// Checks the output folder of a sweep, in which each of `runs` is the folder of a training run. Throws an
/// input error unless `folder` is new, empty or that of a sweep, and each of `runs` is new, empty or that of a
/// training run. Throws one, too, if `folder` is a part of a training run.
void require_new_or_sweep(const std::string& folder, const std::vector<std::string>& runs);

/// Checks the folder in which a server keeps glossaries. Throws an input error unless `folder` is new, has the
/// mark, or is empty except for the `lost+found` of a separate file system; and if it is a part of a training
/// run.
void require_new_or_glossaries(const std::string& folder);

/// Whether two paths lead to the same file, which need not exist yet.
bool is_same_file(const std::string& path, const std::string& other);

/// Checks the output file of a command. Throws an input error if it is one of the inputs, or a file to which an
/// input folder has a link, or if it belongs to a model, a training run or the parts of a translation. "-" and
/// "" mean that there is no file, for the output and for the inputs.
void require_output_file(const std::string& path, const std::vector<std::string>& inputs);

}  // namespace sixfold
