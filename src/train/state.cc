#include "train/state.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace sixfold {

std::string to_json_text(const TrainingState& s) {
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
                         {"usual_loss", s.usual_loss},
                         {"rollbacks", s.rollbacks},
                         {"best_update", s.best_update},
                         {"without_better", s.without_better},
                         {"log_bytes", s.log_bytes},
                         {"instruction_set", s.instruction_set},
                         {"precision", s.precision == Precision::bf16 ? "bf16" : "fp32"}};
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
  object.read("usual_loss", s.usual_loss);
  object.read("rollbacks", s.rollbacks);
  object.read("best_update", s.best_update);
  object.read("without_better", s.without_better);
  object.read("log_bytes", s.log_bytes);
  object.read("instruction_set", s.instruction_set);
  std::string precision = "fp32";
  if (object.has("precision")) object.read("precision", precision);
  if (precision == "bf16") s.precision = Precision::bf16;
  if (object.has("best")) object.read("best", s.best.emplace());
  return s;
}

}  // namespace sixfold
