#include "train/state.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace sixfold {

namespace {

/// The fields of a run's state under their stored names. Version 0.1.0 does not store the newer ones.
template <class Visitor, class State>
void visit_fields(Visitor& v, State& s) {
  v.field("update", s.update);
  v.field("epoch", s.position.epoch);
  v.field("place", s.position.place);
  v.field("last_update", s.last_update);
  v.field("seconds", s.seconds);
  v.field("loss_sum", s.sums.loss);
  v.field("target_tokens", s.sums.loss_weight);
  v.field("tokens", s.sums.tokens);
  v.field("gradient_norm", s.sums.gradient_norm);
  v.field("waited", s.sums.waited);
  v.field("corpus", s.training_data);
  v.field("usual_loss", s.loss_ema);
  v.field("rollbacks", s.rollbacks);
  v.field("best", s.best);
  v.field("best_update", s.best_update);
  v.field("without_better", s.without_better);
  v.field("log_bytes", s.log_bytes);
  v.field("instruction_set", s.instruction_set);
  v.field("precision", s.precision);
  v.field("part_tokens", s.part_tokens);
  v.field("validation_text", s.validation_data);
  v.field("options", s.options);
  v.field("changes", s.changes);
  v.newer_field("best_by", s.best_by);
  v.newer_field("interrupted", s.interrupted);
  v.newer_field("shards", s.shards);
  v.newer_field("plan", s.plan);
  v.newer_field("bf16_instructions", s.bf16_instructions);
  v.newer_field("parts", s.parts);
  v.newer_field("diagnosis", s.diagnosis);
  v.newer_field("plateau_scale", s.plateau_scale);
  v.newer_field("stalled", s.stalled);
  v.newer_field("operations", s.operations);
  v.newer_field("start_weights", s.start_weights);
  v.newer_field("teacher_weights", s.teacher_weights);
}

template <class Visitor, class History>
void visit_history(Visitor& v, History& h) {
  v.field("looked", h.last_check);
  v.field("loss", h.loss);
  v.field("loss_weight", h.loss_weight);
  v.field("first_loss", h.first_loss);
  v.field("last_loss", h.last_loss);
  v.field("lowest_loss", h.lowest_loss);
  v.field("rates", h.rates);
  v.field("updates", h.updates);
  v.field("peak_rate", h.peak_rate);
  v.field("peak", h.peak);
  v.field("best_validation", h.best_validation);
  v.field("loss_then", h.loss_at_best_validation);
  v.field("seen", h.seen);
}

nlohmann::json json_of(const std::vector<TrainingChange>& changes) {
  auto all = nlohmann::json::array();
  for (const TrainingChange& change : changes)
    all.push_back({{"update", change.update}, {"what", change.what}, {"from", change.from}, {"to", change.to}});
  return all;
}

/// The options in stored form. The number of threads is set to 0, since it does not influence the results.
nlohmann::json json_of(const OptionNode& options) {
  auto json = nlohmann::json::parse(to_json(options));
  if (json.contains("train") && json["train"].is_object()) json["train"]["threads"] = 0;
  return json;
}

struct Writer {
  nlohmann::json json;

  template <class T>
  void field(const char* name, const T& value) {
    json[name] = value;
  }
  template <class T>
  void newer_field(const char* name, const T& value) {
    field(name, value);
  }
  void field(const char* name, double value) {
    if (!std::isfinite(value))
      throw_environment_error("the state of the run can't be stored: its {1} is {0}", value, name);
    json[name] = value;
  }
  void field(const char* name, const std::optional<double>& value) {
    if (value) field(name, *value);
  }
  void field(const char* name, Precision value) { json[name] = value == Precision::bf16 ? "bf16" : "fp32"; }
  void field(const char* name, const OptionNode& value) { json[name] = json_of(value); }
  void field(const char* name, const std::vector<TrainingChange>& value) { json[name] = json_of(value); }
  void field(const char* name, const std::vector<PlannedEnd>& value) {
    json[name] = nlohmann::json::array();
    for (const PlannedEnd& end : value)
      json[name].push_back({{"update", end.update}, {"last_update", end.last_update}});
  }
  void field(const char* name, const DiagnosisHistory& value) {
    Writer history;
    visit_history(history, value);
    json[name] = std::move(history.json);
  }
  void field(const char* name, const std::vector<DiagnosisHistory::Seen>& value) {
    json[name] = nlohmann::json::array();
    for (const DiagnosisHistory::Seen& seen : value)
      json[name].push_back({{"id", seen.id}, {"times", seen.times}, {"said", seen.reported}});
  }
};

struct Reader {
  const JsonObject& object;
  const std::string& where;
  const std::string& place;  ///< named in error messages

  template <class T>
  void field(const char* name, T& value) {
    object.read(name, value);
  }
  template <class T>
  void newer_field(const char* name, T& value) {
    if (object.has(name)) field(name, value);
  }
  void field(const char* name, std::optional<double>& value) {
    if (object.has(name)) object.read(name, value.emplace());
  }
  void field(const char* name, Precision& value) {
    std::string precision = "fp32";
    if (object.has(name)) object.read(name, precision);
    value = precision == "bf16" ? Precision::bf16 : Precision::fp32;
  }
  void field(const char* name, OptionNode& value) { value = parse_json_options(object.at(name).dump(), where); }
  void field(const char* name, std::vector<PlannedEnd>& value) {
    read_list(name, value, [](const JsonObject& item, PlannedEnd& end) {
      item.read("update", end.update);
      item.read("last_update", end.last_update);
    });
  }
  void field(const char* name, DiagnosisHistory& value) {
    const JsonObject history(object.at(name), place);
    Reader reader{history, where, place};
    visit_history(reader, value);
  }
  void field(const char* name, std::vector<DiagnosisHistory::Seen>& value) {
    read_list(name, value, [](const JsonObject& item, DiagnosisHistory::Seen& seen) {
      item.read("id", seen.id);
      item.read("times", seen.times);
      item.read("said", seen.reported);
    });
  }
  void field(const char* name, std::vector<TrainingChange>& value) {
    read_list(name, value, [](const JsonObject& item, TrainingChange& change) {
      item.read("update", change.update);
      item.read("what", change.what);
      item.read("from", change.from);
      item.read("to", change.to);
    });
  }
  template <class T>
  void read_list(const char* name, std::vector<T>& value, const auto& read) {
    require(object.at(name).is_array(), "{}: '{}' is not a list", place, name);
    for (const auto& entry : object.at(name)) read(JsonObject(entry, place), value.emplace_back());
  }
};

}  // namespace

std::string changes_text(const std::vector<TrainingChange>& changes) { return json_of(changes).dump(); }

std::string to_json_text(const TrainingState& state) {
  Writer writer;
  visit_fields(writer, state);
  return writer.json.dump(2) + "\n";
}

void follow_plan(TrainingState& state) {
  state.last_update = 0;
  for (const PlannedEnd& end : state.plan)
    if (end.update <= state.update) state.last_update = end.last_update;
}

TrainingState parse_training_state(const std::string& text, const std::string& where) {
  const auto json = parse_json(text, where);
  const std::string place = where + ": not the state of a training run";
  const JsonObject object(json, place);
  TrainingState state;
  Reader reader{object, where, place};
  visit_fields(reader, state);
  if (!object.has("plan") && state.last_update > 0) state.plan = {{0, state.last_update}};
  return state;
}

}  // namespace sixfold
