#include "train/state.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace sixfold {

namespace {

void require_finite(const TrainingState& s) {
  for (const double figure :
       {s.seconds, s.sums.loss, s.sums.gradient_norm, s.sums.waited, s.usual_loss, s.best.value_or(0)})
    if (!std::isfinite(figure))
      throw_world_error("the state of the run holds {}, which can't be stored", figure);
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
                         {"usual_loss", s.usual_loss},
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
  TrainingState s;
  try {
    json.at("update").get_to(s.update);
    json.at("epoch").get_to(s.position.epoch);
    json.at("place").get_to(s.position.place);
    json.at("last_update").get_to(s.last_update);
    json.at("seconds").get_to(s.seconds);
    json.at("loss_sum").get_to(s.sums.loss);
    json.at("target_tokens").get_to(s.sums.target_tokens);
    json.at("tokens").get_to(s.sums.tokens);
    json.at("gradient_norm").get_to(s.sums.gradient_norm);
    json.at("waited").get_to(s.sums.waited);
    json.at("corpus").get_to(s.corpus);
    json.at("usual_loss").get_to(s.usual_loss);
    json.at("rollbacks").get_to(s.rollbacks);
    json.at("best_update").get_to(s.best_update);
    json.at("without_better").get_to(s.without_better);
    json.at("log_bytes").get_to(s.log_bytes);
    json.at("instruction_set").get_to(s.instruction_set);
    if (json.value("precision", "fp32") == "bf16") s.precision = Precision::bf16;
    json.at("part_tokens").get_to(s.part_tokens);
    json.at("rate_measured").get_to(s.rate_measured);
    json.at("validation_text").get_to(s.validation_text);
    read_options(parse_json_options(json.at("options").dump(), where), s.options);
    for (const auto& change : json.at("changes"))
      s.changes.push_back({change.at("update"), change.at("what"), change.at("from"), change.at("to")});
    if (json.contains("best")) s.best = json.at("best").get<double>();
  } catch (const nlohmann::json::exception& e) {
    throw_input_error("{}: not the state of a training run: {}", where, e.what());
  }
  require(
      s.update >= 0 && s.position.epoch >= 0 && s.position.place >= 0 && s.log_bytes >= 0 && s.part_tokens >= 0,
      "{}: a count is negative", where);
  return s;
}

}  // namespace sixfold
