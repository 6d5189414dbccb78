#include "train/config.h"

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/log.h"
#include "train/schedule.h"

namespace sixfold {

namespace {

/// The keys of sizes in which two architectures differ.
std::vector<std::string> differing_sizes(const ModelOptions& a, const ModelOptions& b) {
  std::vector<std::string> keys;
  const OptionNode left = write_options(a), right = write_options(b);
  for (size_t i = 0; i < left.children.size(); ++i) {
    const auto& [key, value] = left.children[i];
    for (const char* size : {"d_model", "heads", "d_ff", "encoder_layers", "decoder_layers"})
      if (key == size && value.text != right.children[i].second.text) keys.push_back(key);
  }
  return keys;
}

TrainOptions read_tree(OptionNode root, const std::string& path, const std::vector<std::string>& assignments) {
  for (const std::string& assignment : assignments) set_option(root, assignment);
  if (upgrade_train_options(root))
    log_warning(
        "{}: has names of version 0.1.0, which are still understood; `sixfold train --options` lists today's",
        path);
  TrainOptions options;
  read_options(root, options);
  try {
    validate(options);
  } catch (const Error& error) {
    throw_input_error("{}: {}", path, error.what());
  }
  return options;
}

}  // namespace

TrainOptions read_train_options(const std::string& yaml_path, const std::vector<std::string>& assignments) {
  return read_tree(parse_yaml_options(read_file(yaml_path), yaml_path), yaml_path, assignments);
}

TrainOptions load_train_options(const std::string& json_path, const std::vector<std::string>& assignments) {
  return read_tree(parse_json_options(read_file(json_path), json_path), json_path, assignments);
}

bool upgrade_train_options(OptionNode& root) {
  OptionNode* model = root.find("model");
  if (!model || !(model->find("search") || model->find("top_steps") || model->find("embedding_steps")))
    return false;
  OptionNode upgraded = std::move(*model);  // what is added to the root may move its children
  upgrade_architecture(upgraded, root);
  *root.find("model") = std::move(upgraded);
  return true;
}

void validate(const TrainOptions& o) {
  check_ranges(o);
  validate(static_cast<const Architecture&>(o.model));
  require_encoder_and_decoder(o.model, "model");
  require(!o.start.model.empty() || o.start.freeze.empty(),
          "start.freeze: only what start.model gives can be frozen; a random part would stay random");
  require(o.start.freeze.size() < 3, "start.freeze: nothing is left to train");
  require(!o.start.model.empty() || o.model.tied_embeddings != TiedEmbeddings::all || o.tokenizer.joint,
          "model.tied_embeddings: 'all' needs a joint vocabulary; choose 'decoder' or 'none', or set "
          "tokenizer.joint");
  require(!o.data.train.empty(),
          "data.train: no text to train on; name a source and a target file, or a .tsv file");
  require(o.train.updates > 0 || o.train.epochs > 0 || o.train.minutes > 0,
          "train: when to stop? set train.updates, train.epochs or train.minutes");
  require(o.train.average_last <= o.checkpoint.keep_last,
          "train.average_last: averaging {} checkpoints needs checkpoint.keep_last of as many, not {}",
          o.train.average_last, o.checkpoint.keep_last);
  require(o.validation.patience == 0 || !o.data.valid.empty(),
          "validation.patience: there is no validation to wait for; name the text in data.valid");
  const auto& metrics = o.validation.metrics;
  require(std::find(metrics.begin(), metrics.end(), o.validation.best_by) != metrics.end(),
          "validation.best_by: '{}' is not among validation.metrics", name_of_enum(o.validation.best_by));
}

std::vector<std::string> advice_for(const TrainOptions& o, int64_t last_update) {
  std::vector<std::string> advice;
  const ScheduleOptions defaults;
  const bool noam = o.schedule.kind == ScheduleKind::noam;
  const int64_t warmup = o.schedule.warmup > 0 ? o.schedule.warmup : noam ? Schedule::paper_warmup : 0;
  if (last_update > 0 && warmup >= last_update)
    advice.push_back(fmt::format(
        "the run ends at update {}, within the {} updates in which the learning rate rises; set "
        "schedule.warmup lower, "
        "or leave both schedule.kind and schedule.warmup to their defaults, which fit the length of the run",
        last_update, warmup));
  if (noam && o.schedule.learning_rate != defaults.learning_rate)
    advice.emplace_back(
        "schedule.learning_rate has no effect with schedule.kind noam; schedule.factor is what multiplies its "
        "rate");
  if (!noam && o.schedule.factor != defaults.factor)
    advice.push_back(fmt::format(
        "schedule.factor has no effect with schedule.kind {}; schedule.learning_rate is its highest rate",
        name_of_enum(o.schedule.kind)));
  const std::string search = to_json(write_options(o.generation));
  if (!o.start.model.empty() && search != to_json(write_options(GenerationConfig())))
    advice.emplace_back("generation has no effect beside start.model, whose settings are taken");
  if (!o.start.model.empty())
    for (const std::string& key : differing_sizes(o.model, ModelOptions{}))
      advice.push_back(fmt::format("model.{} has no effect beside start.model, whose sizes are taken", key));
  else
    for (const std::string& key : differing_sizes(o.model, ModelOptions(o.model.preset())))
      if (o.model.preset() != ModelOptions().preset())
        advice.push_back(
            fmt::format("model.{} stands beside model.preset {} and counts instead of the preset's own value",
                        key, name_of_enum(o.model.preset())));
  return advice;
}

void save_run_options(const std::string& path, TrainOptions options) {
  const auto make_absolute = [](std::string& name) {
    if (!name.empty())
      name = std::filesystem::absolute(name);  // "link/.." is not the link's folder, so dots stay
  };
  for (auto* names : {&options.data.train, &options.data.valid})
    for (std::string& name : *names) make_absolute(name);
  for (std::string* name : {&options.start.model, &options.tokenizer.source, &options.tokenizer.target})
    make_absolute(*name);
  write_file_atomically(path, to_json(write_options(options)));
}

std::string documented_train_options() { return to_documented_yaml(write_options(TrainOptions{})); }

}  // namespace sixfold
