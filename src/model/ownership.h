#pragma once
#include <string>
#include <string_view>
#include <vector>

// What a command may replace (docs/reliability.md, "People's files"): a folder only where every file in it is
// one that Sixfold writes, and never what the command reads or what a training run keeps.

namespace sixfold {

/// The file that marks the folder of a training run. Its process holds a lock on it.
inline constexpr std::string_view run_mark = "sixfold-run";
/// How it begins; a file of that name with another text is somebody's.
inline constexpr std::string_view run_mark_text =
    "This folder is a training run of sixfold, whose process locks this file.\n";

/// Whether there is nothing at that path, or an empty folder. Throws an input error for a file, and for a
/// folder that can't be read.
bool is_new_or_empty(const std::string& folder);

/// Whether a model folder has a file of this name. Checkpoints have two more.
bool is_model_file(std::string_view name);
bool is_checkpoint_file(std::string_view name);

/// Whether a run keeps a file or folder of this name in its folder.
bool is_run_part(std::string_view name);
bool is_run_folder(const std::string& folder);

/// For a command that makes a model folder of `inputs`, before it does anything. Throws an input error unless
/// `folder` is new, empty, or a model folder that holds nothing but a model; and where it is one of the inputs,
/// lies in one or around one, or is a part of a training run.
void require_new_or_model(const std::string& folder, const std::vector<std::string>& inputs);

/// The same for a folder that is no model of ours, which has to be new or empty.
void require_new(const std::string& folder, const std::vector<std::string>& inputs);

/// Throws an input error where a path is a part of a training run, or lies in one: only that run writes there.
/// The folder of a run itself is no part of it.
void require_outside_runs(const std::string& path);

/// For a command that writes a file. Throws an input error where it is one of the inputs, or belongs to a model
/// or a training run. "-" and "" stand for no file, in both places.
void require_output_file(const std::string& path, const std::vector<std::string>& inputs);

}  // namespace sixfold
