#include "train/config.h"

#include "train/schedule.h"

namespace sixfold {

void validate(const TrainOptions& o) {
  check_ranges(o);
  require(!o.start.model.empty() || o.start.freeze.empty(),
          "start.freeze: needs start.model; without it the frozen weights would stay random");
  require(o.start.freeze.size() < 3, "start.freeze: all parts are frozen; leave at least one to train");
  require(o.train.updates > 0 || o.train.epochs > 0 || o.train.minutes > 0,
          "train: no limit ends the training; set train.updates, train.epochs or train.minutes");
  require(
      o.train.average_last <= o.checkpoint.keep_last,
      "train.average_last: averaging {} checkpoints needs checkpoint.keep_last of at least that many, not {}",
      o.train.average_last, o.checkpoint.keep_last);
}

std::vector<std::string> advice_for(const TrainOptions& o, int64_t last_update) {
  std::vector<std::string> advice;
  const ScheduleOptions defaults;
  const bool noam = o.schedule.kind == ScheduleKind::noam;
  const int64_t warmup = o.schedule.warmup > 0 ? o.schedule.warmup : noam ? Schedule::paper_warmup : 0;
  if (last_update > 0 && warmup >= last_update)
    advice.push_back(
        fmt::format("the run ends at update {}, within the {} updates in which the learning rate rises; set "
                    "schedule.warmup lower, or leave schedule.kind and schedule.warmup at their defaults, "
                    "which fit the length of the run",
                    last_update, warmup));
  if (noam && o.schedule.learning_rate != defaults.learning_rate)
    advice.emplace_back(
        "schedule.learning_rate has no effect with schedule.kind noam; schedule.factor multiplies the paper's "
        "rate");
  if (!noam && o.schedule.factor != defaults.factor)
    advice.push_back(fmt::format(
        "schedule.factor has no effect with schedule.kind {}; schedule.learning_rate sets its peak rate",
        name_of_enum(o.schedule.kind)));
  return advice;
}

}  // namespace sixfold
