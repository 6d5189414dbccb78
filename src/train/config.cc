#include "train/config.h"

#include <algorithm>

#include "base/join.h"
#include "train/schedule.h"

namespace sixfold {
namespace {

/// Throws an input error if an option is given that the chosen kind of its group does not have.
template <class Kind>
void check_use(Kind chosen, const std::string& group, const char* name, bool given,
               std::initializer_list<Kind> kinds) {
  if (!given || std::ranges::find(kinds, chosen) != kinds.end()) return;
  std::vector<std::string> names;
  for (const Kind kind : kinds) names.emplace_back(name_of_enum(kind));
  throw_input_error("{0}.{1}: {0}.kind {2} does not have it; leave it out, or choose another kind ({3})", group,
                    name, name_of_enum(chosen), join(names, ", "));
}

void validate(const OptimizerOptions& o) {
  using enum OptimizerKind;
  const OptimizerOptions defaults;
  const auto only = [&](std::initializer_list<OptimizerKind> kinds, const char* name,
                        auto OptimizerOptions::*option) {
    check_use(o.kind, "optimizer", name, o.*option != defaults.*option, kinds);
  };
  only({adam}, "beta1", &OptimizerOptions::beta1);
  only({adam}, "beta2", &OptimizerOptions::beta2);
  only({adam}, "epsilon", &OptimizerOptions::epsilon);
  only({adafactor, sgd}, "momentum", &OptimizerOptions::momentum);
  only({sgd}, "nesterov", &OptimizerOptions::nesterov);
  only({adafactor}, "decay_rate", &OptimizerOptions::decay_rate);
  only({adafactor}, "clip_threshold", &OptimizerOptions::clip_threshold);
  only({adafactor}, "scale_parameter", &OptimizerOptions::scale_parameter);
  require(!o.nesterov || o.momentum > 0, "optimizer.nesterov: needs optimizer.momentum");
}

void validate(const ScheduleOptions& o, const ValidationOptions& validation) {
  using enum ScheduleKind;
  const ScheduleOptions defaults;
  const auto only = [&](std::initializer_list<ScheduleKind> kinds, const char* name,
                        auto ScheduleOptions::*option) {
    check_use(o.kind, "schedule", name, o.*option != defaults.*option, kinds);
  };
  only({cosine, linear, polynomial, wsd, inverse_sqrt, constant, plateau}, "first_rate",
       &ScheduleOptions::first_rate);
  only({cosine, linear, polynomial, wsd, inverse_sqrt, plateau}, "min_rate", &ScheduleOptions::min_rate);
  only({polynomial, wsd}, "power", &ScheduleOptions::power);
  only({wsd}, "decay", &ScheduleOptions::decay);
  only({plateau}, "plateau_factor", &ScheduleOptions::plateau_factor);
  only({plateau}, "plateau_patience", &ScheduleOptions::plateau_patience);
  for (const auto& [name, rate] : {std::pair("first_rate", o.first_rate), {"min_rate", o.min_rate}}) {
    require(rate == 0 || o.learning_rate > 0, "schedule.{}: needs schedule.learning_rate, the peak", name);
    require(rate <= o.learning_rate, "schedule.{}: {} is above the peak, schedule.learning_rate: {}", name,
            rate, o.learning_rate);
  }
  require(o.kind != plateau || validation.every_updates > 0 || validation.every_epochs > 0,
          "schedule.kind plateau: needs validations; set validation.every_updates or validation.every_epochs");
}

}  // namespace

void validate(const TrainOptions& o) {
  check_ranges(o);
  require(!o.start.model.empty() || o.start.freeze.empty(),
          "start.freeze: needs start.model; without it the frozen weights would stay random");
  require(!o.start.model.empty() || o.start.lora_rank == 0,
          "start.lora_rank: needs start.model; without it the fixed weights would stay random");
  require(o.start.freeze.empty() || o.start.lora_rank == 0,
          "start.lora_rank: all weights but the adapters are fixed; leave start.freeze empty");
  require(o.start.freeze.size() < 3, "start.freeze: all parts are frozen; leave at least one to train");
  require(o.train.updates > 0 || o.train.epochs > 0 || o.train.minutes > 0,
          "train: no limit ends the training; set train.updates, train.epochs or train.minutes");
  require(
      o.train.average_last <= o.checkpoint.keep_last,
      "train.average_last: averaging {} checkpoints needs checkpoint.keep_last of at least that many, not {}",
      o.train.average_last, o.checkpoint.keep_last);
  require(
      o.train.layer_drop == 0 || o.train.on_spike == OnSpike::go_on,
      "train.on_spike: {} does not go with train.layer_drop, since the loss of an update depends on the layers "
      "that are left out; set one of them to its default",
      name_of_enum(o.train.on_spike));
  validate(o.optimizer);
  validate(o.schedule, o.validation);
}

std::vector<std::string> advice_for(const TrainOptions& o, int64_t last_update) {
  std::vector<std::string> advice;
  if (o.teacher.model.empty() && (o.teacher.weight != 1 || o.teacher.temperature != 1))
    advice.emplace_back("teacher.weight and teacher.temperature have no effect without teacher.model");
  const StartOptions& start = o.start;
  if (start.lora_rank == 0 && (start.lora_alpha > 0 || !start.lora_projections.empty() || !start.lora_merge))
    advice.emplace_back(
        "start.lora_alpha, start.lora_projections and start.lora_merge have no effect without start.lora_rank");
  const ScheduleOptions defaults;
  const bool noam = o.schedule.kind == ScheduleKind::noam;
  const int64_t warmup = o.schedule.warmup > 0 ? o.schedule.warmup : noam ? Schedule::paper_warmup : 0;
  if (last_update > 0 && warmup >= last_update)
    advice.push_back(
        fmt::format("the run ends at update {}, within the {} updates in which the learning rate rises; set "
                    "schedule.warmup lower, or leave schedule.kind and schedule.warmup at their defaults, "
                    "which fit the length of the run",
                    last_update, warmup));
  const int64_t left = last_update - warmup;
  if (o.schedule.kind == ScheduleKind::wsd && left > 0 && o.schedule.decay > left)
    advice.push_back(
        fmt::format("schedule.decay: the run ends at update {}, so that the learning rate falls in {} updates "
                    "instead of {}",
                    last_update, left, o.schedule.decay));
  if (noam && o.schedule.learning_rate != defaults.learning_rate)
    advice.emplace_back(
        "schedule.learning_rate has no effect with schedule.kind noam; schedule.factor multiplies the paper's "
        "rate");
  if (!noam && o.schedule.factor != defaults.factor)
    advice.push_back(fmt::format(
        "schedule.factor has no effect with schedule.kind {}; schedule.learning_rate sets its peak rate",
        name_of_enum(o.schedule.kind)));
  if (o.optimizer.kind == OptimizerKind::sgd && !noam && o.schedule.learning_rate == 0)
    advice.emplace_back(
        "schedule.learning_rate is not set, and the default suits adam; optimizer.kind sgd usually needs a "
        "rate that is a hundred times higher, such as 0.1");
  if (o.validation.patience > 0 && o.validation.every_updates == 0 && o.validation.every_epochs == 0)
    advice.emplace_back(
        "validation.patience has no effect without validations; set validation.every_updates or "
        "validation.every_epochs");
  if (o.schedule.kind == ScheduleKind::plateau && o.validation.patience > 0 &&
      o.validation.patience <= o.schedule.plateau_patience)
    advice.emplace_back(
        "validation.patience ends the training before schedule.plateau_patience can lower the learning rate; "
        "set validation.patience higher");
  return advice;
}

}  // namespace sixfold
