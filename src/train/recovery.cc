#include "train/recovery.h"

#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "train/checkpoint.h"
#include "train/diagnosis.h"
#include "train/non_finite.h"

namespace sixfold {

Recovery::Recovery(const TrainOptions& options, const Task& task, Replica& replica, const RunModels& models,
                   Progress& progress, std::string report)
    : options_(options),
      task_(task),
      replica_(replica),
      models_(models),
      progress_(progress),
      report_(std::move(report)) {}

bool Recovery::roll_back(Verdict verdict, const StepResult& step, const RepeatUpdate& repeat,
                         Context::Seeds seeds, TrainingState& state) {
  const std::string& newest = models_.newest_scheduled();
  const bool rolls_back = options_.train.on_spike == OnSpike::rollback,
             possible = rolls_back && !newest.empty();
  const std::string last = describe_newest(newest);
  if (verdict == Verdict::not_finite) {
    const std::string cause = find_cause(step, repeat, seeds, state.update + 1);
    if (!possible)
      throw_input_error(
          "update {}: {}; {}. {}{}", state.update + 1, cause, last, divergence_advice,
          rolls_back ? "" : "; --on-spike rollback returns to the last checkpoint and skips the batch");
    load_newest(cause, state);
    return true;
  }
  const std::string spike = fmt::format("the loss rose from {:.3f} to {:.3f}", state.loss_ema, step.loss);
  require(rolls_back, "update {}: {}; {}", state.update + 1, spike, last);
  if (possible) load_newest(spike, state);
  return possible;
}

/// Restores weights and counts from the newest scheduled checkpoint. One of an interruption must not be used:
/// otherwise a resumed run would return to another update than an uninterrupted one.
void Recovery::load_newest(const std::string& why, TrainingState& state) {
  constexpr int64_t max_rollbacks = 20;
  const int64_t rollbacks = state.rollbacks + 1;
  require(rollbacks <= max_rollbacks,
          "update {}: {}, after {} rollbacks; a lower schedule.learning_rate or train.clip_norm may help",
          state.update + 1, why, max_rollbacks);
  const TrainingState before = Checkpoints::read_state(models_.newest_scheduled());
  progress_.rollback(state.update + 1, before.update, why);
  Checkpoints::load(models_.newest_scheduled(), replica_.model(), replica_.optimizer());
  state.update = before.update;
  state.sums = before.sums;
  state.loss_ema = before.loss_ema;
  state.without_better = before.without_better;
  state.plateau_scale = before.plateau_scale;
  state.stalled = before.stalled;
  state.rollbacks = rollbacks;
  state.diagnosis = after_rollback(state.diagnosis, before.diagnosis);
}

/// Finds out where the value arose, and writes the report into the run's folder.
std::string Recovery::find_cause(const StepResult& step, const RepeatUpdate& repeat, Context::Seeds seeds,
                                 int64_t update) {
  NonFiniteReport report;
  repeat([&](Update& batches) {
    report = find_non_finite({.task = task_,
                              .model = replica_.model(),
                              .seeds = seeds,
                              .loss = loss_options(options_.train),
                              .teacher = replica_.teacher()},
                             batches);
  });
  // Only the process that has the sample finds the cause.
  Processes& processes = replica_.processes();
  std::vector<std::string> causes = processes.all_gather(report.module.empty() ? "" : report.describe());
  std::vector<std::string> reports = processes.all_gather(to_json_text(report, update));
  size_t found = 0;
  while (found + 1 < causes.size() && causes[found].empty()) ++found;
  if (processes.is_root()) write_file_atomically(report_, reports[found]);
  return fmt::format("the {} is not finite; {}; the full report is in {}",
                     std::isfinite(step.loss_sum) ? "gradient" : "loss",
                     causes[found].empty() ? report.describe() : causes[found], report_);
}

}  // namespace sixfold
