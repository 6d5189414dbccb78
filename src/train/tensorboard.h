#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace sixfold {

/// Name of the event files that `write_event_file` makes.
inline constexpr const char* event_file_name = "events.out.tfevents.sixfold";

/// Passes the log of a run, RUN/train.jsonl, to `write` as the records of an event file of TensorBoard:
/// "train/loss", "train/perplexity", "train/learning_rate", ..., "valid/loss", "valid/bleu", ..., and the
/// samples of validations as texts, "samples/1", ... Steps are updates. The log has no absolute times: they are
/// computed back from the file's last change. Throws an input error if the log can't be read
/// (`read_training_log`).
void write_events(const std::string& log, const std::function<void(std::string_view)>& write);

/// Writes such an event file to `file`.
void write_event_file(const std::string& log, const std::string& file);

/// Whether a folder is one that event files may be written to: new, empty, or with nothing but an event file
/// made by Sixfold.
bool may_hold_event_file(const std::string& folder);

}  // namespace sixfold
