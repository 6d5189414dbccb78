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

// What a run says of itself while it trains (docs/training.md). A diagnosis is a row of a table: a pure
// function of what the trainer has observed. It is said once, and changes no bit of the training.

namespace sixfold {

/// The training loss since the last look, and the last update. A loss is the mean of a label, in nats.
struct TrainingLook {
  double loss = 0;
  double rate = 0;         ///< learning rate of the last update
  double weight_size = 0;  ///< root mean square of all weights that are trained
  struct Gradient {
    std::string weight;
    double size = 0;  ///< root mean square of its elements, before clipping
  };
  std::vector<Gradient> gradients;  ///< of the matrices
  double gradient_norm = 0;         ///< of all weights
  int64_t slow_stretches = 0;       ///< the latest ones, with less than half of the speed of the fastest one
};

/// What a validation found.
struct ValidationLook {
  Validation found;
  /// `Validation::first_loss` of the weights without their moving average; none: there is no average.
  std::optional<double> trained_loss;
};

/// What a diagnosis is made from.
struct Observations {
  int64_t update = 0;
  DiagnosisHistory history;
  bool fine_tuned = false;    ///< the run has begun with another model's weights
  bool rate_is_step = true;   ///< an update changes a weight by about the learning rate
  TrainingLook training;      ///< of a look at the training
  ValidationLook validation;  ///< of a look at a validation
};

/// When a diagnosis is made. Those of a validation wait until the warm-up of the learning rate is over.
enum class Moment { training, validation };

struct Diagnosis {
  std::string_view id;
  Moment moment = Moment::training;
  int64_t from = 0;   ///< the first update at which it is said
  int64_t times = 1;  ///< how many looks in a row must see it
  /// Returns what is seen, as a sentence without its full stop; empty: nothing.
  std::string (*see)(const Observations& o) = nullptr;
  std::string_view advice;  ///< what to try: a sentence
};

std::span<const Diagnosis> diagnosis_table();

/// The diagnoses of a run. With several processes, all of them find the same. For one thread at a time.
class Diagnoses {
 public:
  static constexpr int64_t look_every = 100;     ///< the number of updates between two looks, at least
  static constexpr double stretch_seconds = 20;  ///< in which the speed is measured

  /// `history` is a part of the run's state, and must outlive this object. For the others see `Observations`.
  Diagnoses(DiagnosisHistory& history, bool fine_tuned, bool rate_is_step)
      : history_(history), fine_tuned_(fine_tuned), rate_is_step_(rate_is_step) {}

  /// To be called after each update, which took so many seconds.
  void took_update(int64_t update, double loss_sum, double loss_weight, double learning_rate, int64_t tokens,
                   double seconds);
  /// Whether `look_every` updates have passed since the last look.
  bool due(int64_t update) const { return update - history_.looked >= look_every; }
  /// Looks at the training: `gradient_squares` are those of the last update. Returns what is to be said.
  std::vector<Finding> look(int64_t update, const Optimizer& optimizer,
                            std::span<const double> gradient_squares);
  /// Looks at a validation. Returns what is to be said.
  std::vector<Finding> look(int64_t update, ValidationLook validation);

 private:
  std::vector<Finding> judge(Moment moment, const Observations& o);

  DiagnosisHistory& history_;
  bool fine_tuned_, rate_is_step_;
  double rate_ = 0;
  // By the clock, and therefore not a part of the state.
  double seconds_ = 0, tokens_ = 0, fastest_ = 0;
  int64_t slow_stretches_ = 0;
};

/// The history after a return to an earlier update: what has been said is not said again.
DiagnosisHistory after_rollback(const DiagnosisHistory& now, DiagnosisHistory earlier);

}  // namespace sixfold
