#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/check/finding.h"
#include "train/optimizer.h"
#include "train/state.h"
#include "train/validation.h"

// Diagnoses of problems that a run reports while it trains (docs/training.md). A diagnosis is a row of a table:
// a pure function of what the trainer has observed. It is reported once, and changes no bit of the training.

namespace sixfold {

/// What is observed at a check of the training: the loss since the last check, and the last update. A loss is
/// the mean over labels, in nats.
struct TrainingObservation {
  double loss = 0;
  double rate = 0;         ///< learning rate of the last update
  double weight_size = 0;  ///< root mean square of all weights that are trained
  struct Gradient {
    std::string weight;
    double size = 0;  ///< root mean square of its elements, before clipping
  };
  std::vector<Gradient> gradients;  ///< of the matrices
  double gradient_norm = 0;         ///< of all weights
  /// The number of the latest intervals in a row that had less than half of the speed of the fastest interval.
  int64_t slow_intervals = 0;
};

/// What is observed at a validation.
struct ValidationObservation {
  Validation found;
  /// `Validation::first_loss` of the weights themselves, while `found` is that of their moving average; none:
  /// there is no average.
  std::optional<double> trained_loss;
};

/// What diagnoses depend on in the settings of a run.
struct DiagnosisSettings {
  bool fine_tuned = false;    ///< the run has begun with another model's weights
  bool rate_is_step = true;   ///< an update changes a weight by about the learning rate
  bool drops_layers = false;  ///< the layers that an update leaves out have no gradient
  bool shuffles = true;       ///< the samples come in random order
};

/// The input of a diagnosis.
struct Observations {
  int64_t update = 0;
  DiagnosisHistory history;
  DiagnosisSettings settings = {};
  TrainingObservation training;      ///< set for `Moment::training`
  ValidationObservation validation;  ///< set for `Moment::validation`
};

/// When a diagnosis is made: at a check of the training, or after a validation. Those after a validation wait
/// until the warm-up of the learning rate is over.
enum class Moment { training, validation };

struct Diagnosis {
  std::string_view id;
  Moment moment = Moment::training;
  int64_t from = 0;   ///< the first update at which it is reported
  int64_t times = 1;  ///< number of checks in a row that must find the problem
  /// Describes the problem, as a sentence without its full stop; empty: there is none.
  std::string (*find)(const Observations& o) = nullptr;
  std::string_view advice;  ///< what the user can try: a sentence
};

std::span<const Diagnosis> diagnosis_table();

/// The diagnoses of a run. With several processes, all of them find the same. For one thread at a time.
class Diagnoses {
 public:
  static constexpr int64_t updates_between_checks = 100;  ///< minimum number of updates between two checks
  static constexpr double interval_seconds = 20;  ///< length of an interval over which the speed is measured

  /// `history` is a part of the run's state, and must outlive this object.
  Diagnoses(DiagnosisHistory& history, const DiagnosisSettings& settings)
      : history_(history), settings_(settings) {}

  /// To be called after each update. `seconds`: the time that it took.
  void record_update(int64_t update, double loss_sum, double loss_weight, double learning_rate, int64_t tokens,
                     double seconds);
  /// Whether `updates_between_checks` updates have passed since the last check of the training.
  bool due(int64_t update) const { return update - history_.last_check >= updates_between_checks; }
  /// Checks the training; `gradient_squares`: those of the last update. Returns the problems to report.
  std::vector<Finding> check_training(int64_t update, const Optimizer& optimizer,
                                      std::span<const double> gradient_squares);
  /// Checks the result of a validation. Returns the problems to report.
  std::vector<Finding> check_validation(int64_t update, ValidationObservation validation);

 private:
  std::vector<Finding> diagnose(Moment moment, const Observations& o);

  DiagnosisHistory& history_;
  DiagnosisSettings settings_;
  double rate_ = 0;
  // These depend on the clock, and are therefore not part of the state.
  double seconds_ = 0, tokens_ = 0, fastest_ = 0;
  int64_t slow_intervals_ = 0;
};

/// The history after a rollback to the history `earlier`. What has been reported already is not reported again.
DiagnosisHistory after_rollback(const DiagnosisHistory& now, DiagnosisHistory earlier);

}  // namespace sixfold
