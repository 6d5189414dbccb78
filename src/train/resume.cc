#include "train/resume.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "backend/backend.h"
#include "base/error.h"
#include "base/file.h"
#include "base/join.h"
#include "base/json.h"
#include "base/log.h"
#include "base/options.h"
#include "model_folder/model_folder.h"
#include "model_folder/ownership.h"
#include "model_folder/provenance.h"
#include "train/agreement.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view taking_effect[] = {"data.batch_tokens",
                                              "data.micro_batch_tokens",
                                              "train.updates",
                                              "train.epochs",
                                              "train.minutes",
                                              "train.label_smoothing",
                                              "train.r_drop",
                                              "train.layer_drop",
                                              "teacher.model",
                                              "teacher.weight",
                                              "teacher.temperature",
                                              "train.alignment_weight",
                                              "train.clip_norm",
                                              "train.accumulate",
                                              "train.shards",
                                              "train.average_last",
                                              "train.on_spike",
                                              "train.spike_factor",
                                              "train.precision",
                                              "optimizer.beta1",
                                              "optimizer.beta2",
                                              "optimizer.epsilon",
                                              "optimizer.weight_decay",
                                              "optimizer.nesterov",
                                              "optimizer.decay_rate",
                                              "optimizer.clip_threshold",
                                              "optimizer.scale_parameter",
                                              "schedule.kind",
                                              "schedule.warmup",
                                              "schedule.factor",
                                              "schedule.learning_rate",
                                              "schedule.first_rate",
                                              "schedule.min_rate",
                                              "schedule.power",
                                              "schedule.decay",
                                              "schedule.plateau_factor",
                                              "schedule.plateau_patience",
                                              "checkpoint.every_updates",
                                              "checkpoint.every_minutes",
                                              "checkpoint.keep_last",
                                              "checkpoint.keep_best",
                                              "validation.every_updates",
                                              "validation.every_epochs",
                                              "validation.patience",
                                              "log.every_updates",
                                              "start.lora_merge",
                                              "distributed.wire"};

constexpr std::string_view unchangeable[] = {
    "train.seed",        "train.ema_decay",  "data.shuffle",           "start.freeze",
    "start.lora_rank",   "start.lora_alpha", "start.lora_projections", "optimizer.kind",  // which decide what
    "optimizer.momentum"};                                                                // the state holds

/// Joins a group and a name to a key: "train.minutes".
std::string key_of(const std::string& group, const std::string& name) {
  return group.empty() ? name : fmt::format("{}.{}", group, name);
}

/// Calls `use(key, before, now)` for each value that differs in two trees of the same options. Throws an input
/// error if their keys differ.
template <class Use>
void for_each_difference(OptionNode& before, OptionNode& now, const std::string& prefix, const Use& use) {
  for (const auto& [name, old] : before.children)
    require(now.find(name), "the run was trained with an option that is unknown now: '{}'",
            key_of(prefix, name));
  for (auto& [name, value] : now.children) {
    const std::string key = key_of(prefix, name);
    OptionNode* old = before.find(name);
    require(old, "the options that the run was trained with have no '{}'", key);
    if (value.kind == OptionNode::Kind::map)
      for_each_difference(*old, value, key, use);
    else if (value_text(*old) != value_text(value))
      use(key, *old, value);
  }
}

/// An input file may be renamed on resume. But giving files where there were none, or none where there were
/// some, is a change of the run.
bool is_empty(const OptionNode& node) { return node.children.empty() && node.text.empty(); }

/// Calls `use(key, value)` for each value.
template <class Use>
void for_each_value(OptionNode& options, const std::string& prefix, const Use& use) {
  for (auto& [name, value] : options.children) {
    const std::string key = key_of(prefix, name);
    if (value.kind == OptionNode::Kind::map)
      for_each_value(value, key, use);
    else
      use(key, value);
  }
}

/// Returns the value of "start.model", or null if the task's config has no such key.
OptionNode* start_model(OptionNode& options) {
  OptionNode* start = options.find("start");
  return start ? start->find("model") : nullptr;
}

/// Throws if a part of a checkpoint is missing or damaged.
void check_checkpoint(const TaskConfig& config, const std::string& checkpoint) {
  config.read_stored(Checkpoints::read_state(checkpoint).options);
  Checkpoints::verify(checkpoint);
  load_model_config(checkpoint);
  config.verify(checkpoint);
  read_provenance(checkpoint);
}

bool is_whole(const TaskConfig& config, const std::string& checkpoint) {
  try {
    check_checkpoint(config, checkpoint);
    return true;
  } catch (const Error&) {
    return false;
  }
}

[[noreturn]] void throw_damaged(const TaskConfig& config, const std::vector<std::string>& all,
                                const Error& damage) {
  const auto whole = std::find_if(all.rbegin() + 1, all.rend(),
                                  [&](const std::string& checkpoint) { return is_whole(config, checkpoint); });
  if (whole == all.rend()) throw_input_error("{}. No other checkpoint of the run is intact", damage.what());
  throw_input_error("{}. {} is intact; to resume from it, move {} out of the run", damage.what(), *whole,
                    join(std::vector<std::string>(whole.base(), all.end()), ", "));
}

/// "cpu, AVX3, bf16 by AMX"
std::string with_bf16(const std::string& instruction_set, const std::string& bf16) {
  return bf16.empty() ? instruction_set : fmt::format("{}, bf16 by {}", instruction_set, bf16);
}

void accept_processor(TrainingState& state, const std::string& checkpoint, bool other_processor) {
  const std::string set = make_backend()->name();
  const std::string bf16 = state.precision == Precision::bf16 ? bf16_instructions() : "";
  // Runs of 0.2 did not store it, and one that changes between fp32 and bf16 has no other bits to keep.
  const bool same_bf16 = state.bf16_instructions.empty() || bf16.empty() || state.bf16_instructions == bf16;
  const std::string before = with_bf16(state.instruction_set, same_bf16 ? "" : state.bf16_instructions),
                    here = with_bf16(set, same_bf16 ? "" : bf16);
  state.instruction_set = set;
  state.bf16_instructions = bf16;
  if (before == here) return;
  require(other_processor,
          "{} was made on {}, but this processor is {}. The run can be resumed (--other-processor), but the "
          "results will not be bitwise equal to those of an uninterrupted run",
          checkpoint, before, here);
  log_warning(
      "the run was on {}, this processor is {}: the results will not be bitwise equal to those of an "
      "uninterrupted run",
      before, here);
  state.changes.push_back({state.update, "instruction_set", before, here});
}

/// Whether the folder holds the best model, of this update or of a later one, undamaged.
bool holds_best(const std::string& best, int64_t update) {
  if (read_stored_best(best).update < update) return false;
  try {
    verify_parameters(best + "/model.safetensors");
    return true;
  } catch (const Error& error) {
    log_warning("{}", error.what());
    return false;
  }
}

/// If the best model is missing, damaged, or belongs to another update, it can't become the result, and the
/// next validation counts as the best so far. The best model of the checkpoint's own update is stored again
/// (`Trainer::resume`). For one of a later update see `keep_later_best`.
void forget_missing_best(TrainingState& state, const std::string& best, bool keep_best) {
  if (!state.best || !keep_best || state.best_update == state.update) return;
  if (holds_best(best, state.best_update)) return;
  log_warning("{} does not hold the model of update {}; the next validation will count as the best so far",
              best, state.best_update);
  state.best.reset();
  state.without_better = 0;
}

}  // namespace

OnResume on_resume(const TaskConfig& config, std::string_view key) {
  if (std::ranges::find(taking_effect, key) != std::end(taking_effect)) return OnResume::takes_effect;
  if (std::ranges::find(unchangeable, key) != std::end(unchangeable)) return OnResume::refused;
  if (key == "train.threads" || key == "distributed.timeout") return OnResume::ignored;
  if (key == "start.model") return OnResume::input_file;
  return config.on_resume(key);
}

void add_logged_plan(TrainingState& state, const std::string& log, Processes& processes) {
  std::string lines;
  if (processes.is_root() && fs::exists(log)) {
    lines = read_regular_file(log);
    lines.erase(0, static_cast<size_t>(state.log_bytes));
  }
  std::istringstream text(processes.broadcast(lines));
  for (std::string line; std::getline(text, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);  // the last may be torn
    if (!json.is_object() || !json.contains("planned_last_update")) continue;
    PlannedEnd end;
    const JsonObject object(json, log);
    object.read("update", end.update);
    object.read("planned_last_update", end.last_update);
    if (end.update > (state.plan.empty() ? 0 : state.plan.back().update)) state.plan.push_back(end);
  }
}

OptionNode run_options(const TaskConfig& config) {
  OptionNode options = config.options();
  const auto make_absolute = [](std::string& name) {
    // not normalized, because "link/.." need not be the folder that holds the link
    if (!name.empty()) name = fs::absolute(name);
  };
  for_each_value(options, "", [&](const std::string& key, OptionNode& value) {
    if (on_resume(config, key) != OnResume::input_file && key != "teacher.model") return;
    make_absolute(value.text);
    for (auto& [none, name] : value.children) make_absolute(name.text);
  });
  return options;
}

StoredBest read_stored_best(const std::string& best) {
  try {
    const auto history = read_provenance(best);
    if (history.empty() || !fs::exists(best + "/model.safetensors")) return {};
    const auto step = nlohmann::json::parse(history.back());
    const JsonObject object(step, best);
    StoredBest stored;
    object.read("updates", stored.update);
    stored.changes = step.value("changes", nlohmann::json::array()).dump();
    if (!object.has("best")) return stored;
    const JsonObject score(object.at("best"), best);
    score.read("metric", stored.metric);
    score.read("value", stored.value);
    return stored;
  } catch (const Error&) {  // damaged
    return {};
  }
}

void keep_later_best(TrainingState& state, const std::string& best, Processes& processes) {
  const StoredBest stored = processes.is_root() ? read_stored_best(best) : StoredBest();
  const bool kept = stored.update > state.update && stored.metric == state.best_by &&
                    stored.changes != changes_text(state.changes);
  if (!processes.any(kept)) return;
  state.best = processes.broadcast(stored.value);
  state.best_update = static_cast<int64_t>(processes.broadcast(static_cast<double>(stored.update)));
  state.without_better = state.stalled = 0;
  log_info(
      "{} holds a model of update {}, made before the run was changed; with {} {:.4g} it remains the best so "
      "far",
      best, state.best_update, state.best_by, *state.best);
}

std::vector<TrainingChange> changed_options(const TaskConfig& config, OptionNode before, OptionNode& now,
                                            int64_t update) {
  std::vector<TrainingChange> changes;
  std::vector<std::string> refused;
  for_each_difference(before, now, "", [&](const std::string& key, const OptionNode& old, OptionNode& value) {
    if (key == "train.shards" && value.text == "0") {  // as many as there were
      value = old;
      return;
    }
    const bool appeared = is_empty(old) != is_empty(value);
    switch (on_resume(config, key)) {
      case OnResume::takes_effect:
        changes.push_back({update, key, value_text(old), value_text(value)});
        break;
      case OnResume::ignored:
        break;
      case OnResume::input_file:
        if (!appeared) break;
        [[fallthrough]];
      case OnResume::refused:
        refused.push_back(fmt::format("{} (it was {}, and is {} now)", key,
                                      is_empty(old) ? "not set" : value_text(old),
                                      is_empty(value) ? "not set" : value_text(value)));
    }
  });
  require(
      refused.empty(),
      "the run can't be resumed with other values of {}. Restore them, or start a new run from the weights of "
      "this one (start.model)",
      join(refused, ", "));
  // The run started from the old value, whatever the new one is. Only the base of adapters is read again.
  OptionNode *model = start_model(now), *old = start_model(before);
  const OptionNode* const merge = now.find_path("start.lora_merge");
  if (!model || !old || (merge && merge->text == "false")) return changes;
  if (model->text != old->text)
    log_warning("start.model is {} now, but the run began with {}, which is kept", model->text, old->text);
  *model = *old;
  return changes;
}

RunStart resume_from(const std::string& checkpoint, const RunFolder& folder, const TaskConfig& config,
                     bool other_processor) {
  RunStart start{Checkpoints::read_state(checkpoint), false, false};
  TrainingState& state = start.state;
  OptionNode before = config.read_stored(std::move(state.options));
  state.options = run_options(config);
  for (TrainingChange& change : changed_options(config, std::move(before), state.options, state.update)) {
    start.changes.push_back(fmt::format("changed: {} was {}, and is {} from update {} on", change.what,
                                        change.from, change.to, state.update + 1));
    for (const char* key :
         {"train.updates", "train.epochs", "train.minutes", "train.accumulate", "data.batch_tokens"})
      start.limits_changed = start.limits_changed || change.what == key;
    start.parts_changed = start.parts_changed || change.what == "data.micro_batch_tokens";
    start.teacher_changed = start.teacher_changed || change.what == "teacher.model";
    state.loss_ema = state.diagnosis.first_loss = 0;  // the loss may be another one now
    state.changes.push_back(std::move(change));
  }
  const TrainOptions options = config.training();
  if (options.train.precision != Precision::automatic) state.precision = options.train.precision;
  state.interrupted = false;
  require(
      state.best_by.empty() || state.best_by == options.best_by,
      "the run can't be resumed with another score to decide which model is best (it was {}, and is {} now)",
      state.best_by, options.best_by);
  accept_processor(state, checkpoint, other_processor);
  forget_missing_best(state, folder.best(), options.checkpoint.keep_best);
  return start;
}

namespace {

/// The task that options name.
std::string task_of(const OptionNode& options) {
  for (const auto& [key, value] : options.children)
    if (key == "task") return value.text;
  return "translation";
}

void require_same_task(const TaskConfig& config, const RunFolder& folder) {
  if (!fs::exists(folder.config())) return;
  const std::string before = task_of(read_option_file(folder.config())), now = task_of(config.options());
  require(before == now, "{}: is a run of the task {}, and the config is of {}; give another --output",
          folder.path(), before, now);
}

std::string find_checkpoint(const TaskConfig& config, const RunFolder& folder, const Checkpoints& checkpoints,
                            bool resume) {
  const auto all = checkpoints.list();
  for (const std::string& result : {folder.model(), folder.best()}) is_new_or_empty(result);  // refuses files
  // The best model of a run is written only after a checkpoint. A best model without checkpoints is therefore
  // what is left of a run.
  const bool has_results = fs::exists(folder.model()) || fs::exists(folder.best()) || folder.had_checkpoint();
  require(resume || (all.empty() && !has_results && !fs::exists(folder.log())),
          "{} already holds a run; give --resume to resume it, or another --output to start a new one",
          folder.path());
  if (!resume) return {};
  if (!all.empty() || has_results) require_same_task(config, folder);
  if (all.empty()) {
    require(!has_results,
            "{}: the checkpoints of the run are missing, so that it can't be resumed, and a new run would "
            "overwrite its other files. Give another --output; start.model can take the weights of this run",
            folder.path());
    log_info("{}: there is no checkpoint to resume from yet; starting from the beginning", folder.path());
    return {};
  }
  try {
    check_checkpoint(config, all.back());
  } catch (const Error& damage) {
    throw_damaged(config, all, damage);
  }
  return all.back();
}

}  // namespace

std::string checkpoint_to_resume(const TaskConfig& config, const RunFolder& folder,
                                 const Checkpoints& checkpoints, bool resume, Processes& processes) {
  std::string found =
      processes.broadcast(processes.is_root() ? find_checkpoint(config, folder, checkpoints, resume) : "");
  if (processes.size() == 1 || found.empty()) return found;
  require(
      fs::exists(found),
      "{}: the run is to be resumed from this checkpoint, which is not seen here; the folder of the run must "
      "be on a file system that all hosts share",
      found);
  check_agreement(processes, {{"checkpoint", hash_of_folder(found)}});
  return found;
}

}  // namespace sixfold
