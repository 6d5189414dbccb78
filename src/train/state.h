#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/batcher.h"
#include "train/config.h"

namespace sixfold {

/// Sums over the updates since the last progress line.
struct ProgressSums {
  double loss = 0;           ///< label-smoothed, over target tokens
  double loss_weight = 0;    ///< of the labels: their number, unless they are weighted
  int64_t tokens = 0;        ///< source and target tokens
  double gradient_norm = 0;  ///< of the last update
  double waited = 0;         ///< seconds for which training waited for data
};

/// A change during a run: a key of its config, or "instruction_set".
struct TrainingChange {
  int64_t update = 0;  ///< the change applies to later updates
  std::string what, from, to;
};

/// A plan that was made after update `update`: the run ends with update `last_update`. Runs that are limited by
/// minutes change their plan.
struct PlannedEnd {
  int64_t update = 0, last_update = 0;
  friend bool operator==(const PlannedEnd&, const PlannedEnd&) = default;
};

/// The part of a run's state that its diagnoses (train/diagnosis.h) need.
struct DiagnosisHistory {
  int64_t last_check = 0;            ///< update of the last check of the training
  double loss = 0, loss_weight = 0;  ///< sums over the updates since then
  /// Means over the updates between two checks; `first_loss` is 0 before the first of them, and after a change.
  double first_loss = 0, last_loss = 0, lowest_loss = 0;
  double rates = 0;                    ///< sum of the learning rates of all updates
  int64_t updates = 0;                 ///< number of updates: all, unless the run began with version 0.2
  double peak_rate = 0;                ///< highest learning rate
  int64_t peak = 0;                    ///< the first update that had it
  double best_validation = 0;          ///< lowest loss of a validation; 0: there was none
  double loss_at_best_validation = 0;  ///< `last_loss` at that validation
  struct Seen {
    std::string id;     ///< of the diagnosis
    int64_t times = 0;  ///< number of checks in a row that have found it
    bool reported = false;
  };
  std::vector<Seen> seen;
};

/// The state of a training run besides its weights and the optimizer's state. It determines all further
/// updates.
struct TrainingState {
  int64_t update = 0;  ///< number of updates done
  Batcher::Position position;
  /// Last update of the run; 0: not known yet (a run limited by minutes that is still measuring).
  int64_t last_update = 0;
  /// All plans so far, in order. After a kill or a rollback they include plans of later updates, which the run
  /// repeats. The learning rate depends on them.
  std::vector<PlannedEnd> plan;
  double seconds = 0;  ///< seconds of training so far
  /// Multiplications and additions of matrix products so far, as forecast for each token; 0: not known, as in a
  /// run that version 0.2 began.
  double operations = 0;
  ProgressSums sums;
  std::optional<double> best;  ///< best validation score so far
  int64_t best_update = 0;
  int64_t without_better = 0;   ///< validations since `best_update`
  double plateau_scale = 1;     ///< factor of the learning rate after the stalls so far (schedule.kind plateau)
  int64_t stalled = 0;          ///< validations since the last better one or the last stall
  int64_t log_bytes = 0;        ///< length of train.jsonl
  std::string instruction_set;  ///< instruction set with which the results were computed
  Precision precision = Precision::fp32;
  /// Instructions of matrix products in bf16; empty for fp32, and in runs of version 0.2.
  std::string bf16_instructions;
  std::string training_data;  ///< hash of the training data
  double loss_ema = 0;        ///< running mean of the loss of a target token; 0: not known yet
  int64_t rollbacks = 0;
  int64_t part_tokens = 0;      ///< maximum number of tokens of a part of a batch; 0: batches are not divided
  int64_t shards = 1;           ///< number of shards into which the batch of an update is divided
  std::string validation_data;  ///< hash of the validation data; empty if there are none
  /// `weights_checksum` of start.model and of teacher.model; empty if there is none, and in runs of version
  /// 0.2.
  std::string start_weights, teacher_weights;
  OptionNode options;  ///< `TaskConfig::options` of the run, with all changes applied
  std::vector<TrainingChange> changes;
  /// The name of the validation score that decides which model is best; empty if there is no validation.
  std::string best_by;
  DiagnosisHistory diagnosis;
  /// Hash of the other files of the checkpoint; empty in checkpoints of version 0.2.
  std::string parts;
  /// The state was stored because the run was stopped. An uninterrupted run would not have this checkpoint, so
  /// it counts neither for the mean of the last checkpoints nor for a rollback.
  bool interrupted = false;
};

/// The changes as a JSON array. Equal changes give equal texts.
std::string changes_text(const std::vector<TrainingChange>& changes);
/// Returns the state as JSON. Throws an environment error for a number that is not finite, which JSON cannot
/// represent.
std::string to_json_text(const TrainingState& state);
/// Sets `last_update` to that of the plan that applies after `update`.
void follow_plan(TrainingState& state);
/// Reads the state from JSON. Throws an input error that names `where`.
TrainingState parse_training_state(const std::string& text, const std::string& where);

}  // namespace sixfold
