#include "train/state.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace sixfold {

namespace {

void require_finite(const TrainingState& s) {
  for (const double figure :
       {s.seconds, s.sums.loss, s.sums.gradient_norm, s.sums.waited, s.loss_ema, s.best.value_or(0)})
    if (!std::isfinite(figure))
      throw_environment_error("the state of the run holds {}, which can't be stored", figure);
}

nlohmann::json json_of(const std::vector<TrainingChange>& changes) {
  auto all = nlohmann::json::array();
  for (const TrainingChange& change : changes)
    all.push_back({{"update", change.update}, {"what", change.what}, {"from", change.from}, {"to", change.to}});
  return all;
}

/// The options as they are stored: the number of threads changes nothing in a run.
nlohmann::json json_of(TrainOptions options) {
  options.train.threads = 0;
  return nlohmann::json::parse(to_json(write_options(options)));
}

}  // namespace

std::string to_json_text(const TrainingState& s) {
  require_finite(s);
  nlohmann::json json = {{"update", s.update},
                         {"epoch", s.position.epoch},
                         {"place", s.position.place},
                         {"last_update", s.last_update},
                         {"seconds", s.seconds},
                         {"loss_sum", s.sums.loss},
                         {"target_tokens", s.sums.target_tokens},
                         {"tokens", s.sums.tokens},
                         {"gradient_norm", s.sums.gradient_norm},
                         {"waited", s.sums.waited},
                         {"corpus", s.corpus},
                         {"loss_ema", s.loss_ema},
                         {"rollbacks", s.rollbacks},
                         {"best_update", s.best_update},
                         {"without_better", s.without_better},
                         {"log_bytes", s.log_bytes},
                         {"instruction_set", s.instruction_set},
                         {"precision", s.precision == Precision::bf16 ? "bf16" : "fp32"},
                         {"part_tokens", s.part_tokens},
                         {"rate_measured", s.rate_measured},
                         {"validation_text", s.validation_text},
                         {"options", json_of(s.options)},
                         {"changes", json_of(s.changes)}};
  if (s.best) json["best"] = *s.best;
  return json.dump(2) + "\n";
}

TrainingState parse_training_state(const std::string& text, const std::string& where) {
  const auto json = parse_json(text, where);
  const std::string place = where + ": not the state of a training run";
  const JsonObject object(json, place);
  TrainingState s;
  object.read("update", s.update);
  object.read("epoch", s.position.epoch);
  object.read("place", s.position.place);
  object.read("last_update", s.last_update);
  object.read("seconds", s.seconds);
  object.read("loss_sum", s.sums.loss);
  object.read("target_tokens", s.sums.target_tokens);
  object.read("tokens", s.sums.tokens);
  object.read("gradient_norm", s.sums.gradient_norm);
  object.read("waited", s.sums.waited);
  object.read("corpus", s.corpus);
  object.read("loss_ema", s.loss_ema);
  object.read("rollbacks", s.rollbacks);
  object.read("best_update", s.best_update);
  object.read("without_better", s.without_better);
  object.read("log_bytes", s.log_bytes);
  object.read("instruction_set", s.instruction_set);
  std::string precision = "fp32";
  if (object.has("precision")) object.read("precision", precision);
  if (precision == "bf16") s.precision = Precision::bf16;
  object.read("part_tokens", s.part_tokens);
  object.read("rate_measured", s.rate_measured);
  object.read("validation_text", s.validation_text);
  read_options(parse_json_options(object.at("options").dump(), where), s.options);
  require(object.at("changes").is_array(), "{}: 'changes' is not a list", place);
  for (const auto& entry : object.at("changes")) {
    const JsonObject change(entry, place);
    TrainingChange& read = s.changes.emplace_back();
    change.read("update", read.update);
    change.read("what", read.what);
    change.read("from", read.from);
    change.read("to", read.to);
  }
  if (object.has("best")) object.read("best", s.best.emplace());
  return s;
}

}  // namespace sixfold
