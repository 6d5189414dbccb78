#include "train/resume.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "backend/backend.h"
#include "base/error.h"
#include "base/join.h"
#include "base/json.h"
#include "base/log.h"
#include "model/model_dir.h"
#include "model/provenance.h"
#include "translate/binding.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view taking_effect[] = {"model.dropout",
                                              "model.attention_dropout",
                                              "model.activation_dropout",
                                              "data.batch_tokens",
                                              "data.micro_batch_tokens",
                                              "train.updates",
                                              "train.epochs",
                                              "train.minutes",
                                              "train.label_smoothing",
                                              "train.clip_norm",
                                              "train.accumulate",
                                              "train.average_last",
                                              "train.on_spike",
                                              "train.spike_factor",
                                              "train.precision",
                                              "optimizer.beta1",
                                              "optimizer.beta2",
                                              "optimizer.epsilon",
                                              "optimizer.weight_decay",
                                              "schedule.kind",
                                              "schedule.warmup",
                                              "schedule.factor",
                                              "schedule.learning_rate",
                                              "checkpoint.every_updates",
                                              "checkpoint.every_minutes",
                                              "checkpoint.keep_last",
                                              "checkpoint.keep_best",
                                              "validation.every_updates",
                                              "validation.every_epochs",
                                              "validation.patience",
                                              "log.every_updates"};
constexpr std::string_view without_effect[] = {"train.threads",    "data.train",       "data.valid",
                                               "tokenizer.source", "tokenizer.target", "start.model"};

/// A value as one line of text.
std::string text_of(const OptionNode& node) {
  if (node.kind != OptionNode::Kind::list) return node.text;
  std::vector<std::string> parts;
  for (const auto& [key, child] : node.children) parts.push_back(child.text);
  return "[" + join(parts, ", ") + "]";
}

/// Calls `use(key, before, now)` for each value that differs in two trees of the same options.
template <class Use>
void for_each_difference(const OptionNode& before, OptionNode& now, const std::string& prefix, const Use& use) {
  for (size_t i = 0; i < now.children.size(); ++i) {
    const OptionNode& old = before.children[i].second;
    auto& [name, value] = now.children[i];
    const std::string key = prefix.empty() ? name : prefix + "." + name;
    if (value.kind == OptionNode::Kind::map)
      for_each_difference(old, value, key, use);
    else if (text_of(old) != text_of(value))
      use(key, old, value);
  }
}

/// Whether files are given or not is more than what they are called.
bool is_empty(const OptionNode& node) { return node.children.empty() && node.text.empty(); }

/// Throws where something of a checkpoint is missing or damaged.
void check_checkpoint(const std::string& checkpoint) {
  Checkpoints::read_state(checkpoint);
  Checkpoints::verify(checkpoint);
  load_bound_tokenizers(checkpoint, load_model_config(checkpoint));
  read_provenance(checkpoint);
}

bool is_whole(const std::string& checkpoint) {
  try {
    check_checkpoint(checkpoint);
    return true;
  } catch (const Error&) {
    return false;
  }
}

[[noreturn]] void throw_damaged(const std::vector<std::string>& all, const Error& damage) {
  const auto whole = std::find_if(all.rbegin() + 1, all.rend(), is_whole);
  if (whole == all.rend()) throw_input_error("{}. No other checkpoint of the run is whole", damage.what());
  throw_input_error("{}. {} is whole: to go on from there, remove {}", damage.what(), *whole,
                    join(std::vector<std::string>(whole.base(), all.end()), ", "));
}

void accept_processor(TrainingState& state, const std::string& checkpoint, bool other_processor) {
  const std::string here = make_cpu_backend(1)->name();
  if (state.instruction_set == here) return;
  require(
      other_processor,
      "{} was made on {}, this processor is {}: the run can go on (--other-processor), but what comes out will "
      "not be bit for bit what the unbroken run would have given",
      checkpoint, state.instruction_set, here);
  log_warning("the run was on {}, this processor is {}: it goes on, but not bit for bit", state.instruction_set,
              here);
  state.changes.push_back({state.update, "instruction_set", state.instruction_set, here});
  state.instruction_set = here;
}

/// What is not there, or was not kept, can't become the model: the next validation is then the best so far.
/// That of the checkpoint's own update is stored again (`Trainer::resume`). A later one is what the run comes
/// to once more.
void forget_missing_best(TrainingState& state, const std::string& best, bool keep_best) {
  if (!state.best || !keep_best || state.best_update == state.update) return;
  if (stored_best_update(best) >= state.best_update) return;
  log_warning("{} does not hold the model of update {}: the next validation counts as the best so far", best,
              state.best_update);
  state.best.reset();
  state.without_better = 0;
}

}  // namespace

OnResume on_resume(std::string_view key) {
  const auto is_in = [&](const auto& table) {
    return std::find(std::begin(table), std::end(table), key) != std::end(table);
  };
  if (is_in(taking_effect)) return OnResume::takes_effect;
  return is_in(without_effect) ? OnResume::ignored : OnResume::refused;
}

int64_t stored_best_update(const std::string& best) {
  try {
    const auto history = read_provenance(best);
    if (history.empty() || !fs::exists(best + "/model.safetensors")) return -1;
    const auto step = nlohmann::json::parse(history.back());
    int64_t update = -1;
    JsonObject(step, best).read("updates", update);
    return update;
  } catch (const Error&) {  // damaged
    return -1;
  }
}

std::vector<TrainingChange> changed_options(const TrainOptions& before, TrainOptions& now, int64_t update) {
  std::vector<TrainingChange> changes;
  std::vector<std::string> refused;
  const OptionNode old_tree = write_options(before);
  OptionNode tree = write_options(now);
  for_each_difference(old_tree, tree, "",
                      [&](const std::string& key, const OptionNode& old, OptionNode& value) {
                        const bool appeared = is_empty(old) != is_empty(value);
                        switch (on_resume(key)) {
                          case OnResume::takes_effect:
                            changes.push_back({update, key, text_of(old), text_of(value)});
                            break;
                          case OnResume::ignored:
                            if (!appeared || key == "data.train") break;
                            [[fallthrough]];
                          case OnResume::refused:
                            refused.push_back(fmt::format("{} (it was {}, and is {} now)", key,
                                                          is_empty(old) ? "not set" : text_of(old),
                                                          is_empty(value) ? "not set" : text_of(value)));
                        }
                      });
  require(refused.empty(),
          "the run can't go on with other values of {}. Put them back, or begin a new run; start.model takes "
          "over what "
          "this one has learnt",
          join(refused, ", "));
  now.start.model = before.start.model;  // where the weights came from, which stays true
  return changes;
}

RunStart resume_from(const std::string& checkpoint, const RunFolder& folder, TrainOptions& options,
                     const TrainRequest& request) {
  RunStart start{Checkpoints::read_state(checkpoint), false, false};
  TrainingState& state = start.state;
  for (TrainingChange& change : changed_options(state.options, options, state.update)) {
    log_info("changed since the run began: {} was {}, and is {} from update {} on", change.what, change.from,
             change.to, state.update + 1);
    for (const char* key :
         {"train.updates", "train.epochs", "train.minutes", "train.accumulate", "data.batch_tokens"})
      start.stops_changed = start.stops_changed || change.what == key;
    start.parts_changed = start.parts_changed || change.what == "data.micro_batch_tokens";
    state.changes.push_back(std::move(change));
  }
  if (options.train.precision != Precision::automatic) state.precision = options.train.precision;
  accept_processor(state, checkpoint, request.other_processor);
  forget_missing_best(state, folder.best(), options.checkpoint.keep_best);
  return start;
}

std::string checkpoint_to_resume(const RunFolder& folder, const Checkpoints& checkpoints, bool resume) {
  const auto all = checkpoints.list();
  // A run's best model is stored after its first checkpoint, so that without one it is what is left of a run.
  const bool has_results = fs::exists(folder.model()) || fs::exists(folder.best()) || folder.had_checkpoint();
  require(resume || (all.empty() && !has_results && !fs::exists(folder.log())),
          "{} holds a run already: --resume goes on with it, another --output begins a new one", folder.path());
  if (!resume) return {};
  if (all.empty()) {
    require(!has_results,
            "{}: the run's checkpoints are gone, so that it can't go on, and beginning anew would replace what "
            "is left of "
            "it. Take another --output; start.model takes over its weights",
            folder.path());
    log_info("{}: there is no checkpoint yet to resume from; beginning anew", folder.path());
    return {};
  }
  try {
    check_checkpoint(all.back());
  } catch (const Error& damage) {
    throw_damaged(all, damage);
  }
  return all.back();
}

}  // namespace sixfold
