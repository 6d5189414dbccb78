#include "train/run_conditions.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "backend/backend.h"
#include "base/hash.h"
#include "base/json.h"
#include "data/file_stamps.h"
#include "model_folder/model_folder.h"
#include "model_folder/provenance.h"
#include "train/checkpoint.h"
#include "train/precision.h"
#include "train/resume.h"

namespace sixfold {
namespace {

constexpr std::string_view precision = "precision", instruction_set = instruction_set_condition,
                           version = "version", text = text_condition, validation = "validation",
                           tokenizer = "tokenizer", model_started_from = "start_model",
                           model_of_teacher = "teacher", shards = "shards", changes = "changes";

/// "cpu, AVX3", and the instructions of bf16 products.
std::string instructions_text(const std::string& set, const std::string& bf16) {
  return bf16.empty() ? set : fmt::format("{}, bf16 by {}", set, bf16);
}

/// The precision of a run that begins now; empty if the model to start from can't be read.
std::string precision_of_new_run(const TaskConfig& config) {
  const TrainOptions options = config.training();
  try {
    int d_model = 0;
    const OptionNode all = config.options();
    if (!options.start.model.empty())
      d_model = load_model_config(options.start.model).d_model;
    else if (const OptionNode* width = all.find_path("model.d_model"))
      d_model = std::stoi(width->text);
    return std::string(name_of_enum(chosen_precision(options.train.precision, d_model)));
  } catch (const Error&) {  // training reports the error
    return {};
  }
}

/// Adds to `found` the changes during a run that matter to its result, each as "train.updates from 4 to 6 after
/// update 4". Changes of the instruction set belong to that condition instead.
void describe_changes(const nlohmann::json& changed, RunConditions& found) {
  for (const nlohmann::json& change : changed) {
    const std::string what = change.value("what", "");
    if (what.starts_with("log.")) continue;
    const auto update = change.value("update", int64_t{0});
    if (what == instruction_set) {
      std::string& sets = found[what];
      sets = fmt::format("{} to update {}, then {}", change.value("from", ""), update, sets);
      continue;
    }
    std::string& all = found[std::string(changes)];
    all += fmt::format("{}{} from {} to {} after update {}", all.empty() ? "" : ", ", what,
                       change.value("from", ""), change.value("to", ""), update);
  }
}

/// The condition `text`, from the hashes of the files, which provenance.json has too.
std::string text_by_hashes(const std::string& hashes) { return hashes.empty() ? "" : hash_hex(hashes); }

/// The conditions that a model folder of a run records; `state` is that of the newest checkpoint, if there is
/// one.
RunConditions recorded_conditions(const std::string& folder, const TrainingState* state) {
  const auto steps = read_provenance(folder);
  require(!steps.empty(), "{}: the model has no record of its training (provenance.json)", folder);
  const nlohmann::json step = parse_json(steps.back(), folder + "/provenance.json");
  RunConditions found;
  const auto set = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) found[std::string(name)] = value;
  };
  set(precision, step.value("precision", ""));
  set(version, step.value("version", ""));
  set(instruction_set,
      instructions_text(step.value("instruction_set", ""), step.value("bf16_instructions", "")));
  std::string hashes;
  for (const nlohmann::json& file : step.value("text", nlohmann::json::array()))
    hashes += file.value("hash", "");
  set(text, text_by_hashes(hashes));
  const ModelConfig model = load_model_config(folder);
  set(tokenizer,
      model.source_tokenizer_hash +
          (model.source_tokenizer_hash == model.target_tokenizer_hash ? "" : model.target_tokenizer_hash));
  found[std::string(changes)];
  describe_changes(step.value("changes", nlohmann::json::array()), found);
  if (state) {
    set(validation, state->validation_data);
    set(model_started_from, state->start_weights);
    set(model_of_teacher, state->teacher_weights);
    set(shards, std::to_string(state->shards));
  }
  return found;
}

RunConditions conditions_of_new_run(const TaskConfig& config) {
  const std::string chosen = precision_of_new_run(config);
  RunConditions found{{std::string(version), SIXFOLD_VERSION}, {std::string(changes), ""}};
  if (!chosen.empty()) {
    found[std::string(precision)] = chosen;
    found[std::string(instruction_set)] = instructions_text(
        make_backend()->name(), chosen == name_of_enum(Precision::bf16) ? bf16_instructions() : "");
  }
  const TrainOptions options = config.training();
  found[std::string(shards)] = std::to_string(std::max(options.train.shards, 1));
  for (const auto& [name, folder] :
       {std::pair(model_started_from, options.start.model), std::pair(model_of_teacher, options.teacher.model)})
    try {
      if (!folder.empty()) found[std::string(name)] = weights_checksum(folder);
    } catch (const Error&) {  // training reports the error
    }
  return found;
}

/// The hash of the files that the keys name, as they are now. Empty if one can't be read, which training
/// reports.
std::string text_of_files(const TaskConfig& config, std::initializer_list<const char*> keys) {
  const OptionNode options = run_options(config);
  std::string hashes;
  try {
    for (const char* key : keys)
      if (const OptionNode* const files = options.find_path(key))
        for (const auto& [none, file] : files->children) hashes += stamp_of(file.text).hash;
  } catch (const Error&) {
    return {};
  }
  return text_by_hashes(hashes);
}

/// Whether a key determines the data. Keys that may change during a run, such as data.batch_tokens, do not.
bool chooses_data(const TaskConfig& config, std::string_view key) {
  const OnResume change = on_resume(config, key);
  return change == OnResume::refused || change == OnResume::input_file;
}

}  // namespace

const std::vector<Condition>& conditions() {
  static const std::vector<Condition> all{
      {precision, "the precision", {"train.precision"}},
      {instruction_set, "the instruction set", {}},
      {version, "the version of Sixfold", {}},
      {text, "the training text", {"data.train", "data.pair_weights", "data.alignments"}},
      {validation,
       "the validation data",
       {"data.", "validation.", "tokenizer.", "tokenizer.normalization", "tokenizer.target_normalization",
        "start.model", "teacher.model", "image."}},
      {tokenizer,
       "the tokenizer",
       {"tokenizer.", "tokenizer.normalization", "tokenizer.target_normalization", "data.", "start.model",
        "teacher.model"}},
      {model_started_from, "the weights of start.model", {"start.model"}},
      {model_of_teacher, "the weights of teacher.model", {"teacher.model"}},
      {shards, "the number of shards of a batch", {"train.shards"}},
      {changes, "what was changed during the training", {}}};
  return all;
}

RunConditions conditions_of(const TaskConfig& config, const std::string& run, bool finished) {
  try {
    const auto checkpoints = Checkpoints(run, 1).list();
    if (checkpoints.empty() && !finished) return conditions_of_new_run(config);
    std::optional<TrainingState> state;
    if (!checkpoints.empty()) state = Checkpoints::read_state(checkpoints.back());
    if (finished) return recorded_conditions(run + "/model", state ? &*state : nullptr);
    RunConditions found = recorded_conditions(checkpoints.back(), &*state);
    OptionNode now = run_options(config);
    const auto changed = changed_options(config, config.read_stored(state->options), now, state->update);
    describe_changes(nlohmann::json::parse(changes_text(changed)), found);
    return found;
  } catch (const Error&) {
    return {};
  }
}

std::string text_condition_of_new_run(const TaskConfig& config) {
  return text_of_files(config, {"data.train", "data.pair_weights", "data.alignments"});  // as in `stamps_of`
}

std::string validation_text_of(const TaskConfig& config) { return text_of_files(config, {"data.valid"}); }

std::vector<const Condition*> unstated_differences(const TaskConfig& first_config, const RunConditions& first,
                                                   const TaskConfig& second_config,
                                                   const RunConditions& second) {
  const auto keys = differing_keys(first_config.options(), second_config.options());
  std::vector<const Condition*> differing;
  for (const Condition& condition : conditions()) {
    const auto one = first.find(condition.name), other = second.find(condition.name);
    if (one == first.end() || other == second.end() || one->second == other->second) continue;
    const bool stated = std::ranges::any_of(keys, [&](const std::string& key) {
      return std::ranges::any_of(condition.stated_by, [&](std::string_view part) {
        return part.ends_with('.') ? key.starts_with(part) && chooses_data(second_config, key) : key == part;
      });
    });
    if (!stated) differing.push_back(&condition);
  }
  return differing;
}

}  // namespace sixfold
