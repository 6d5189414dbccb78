#include "train/config.h"

#include <algorithm>

#include "base/file.h"

namespace sixfold {

namespace {

TrainOptions read_tree(OptionNode root, const std::string& path, const std::vector<std::string>& assignments) {
  for (const std::string& assignment : assignments) set_option(root, assignment);
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

void validate(const TrainOptions& o) {
  check_ranges(o);
  validate(static_cast<const Architecture&>(o.model));
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
  require(o.schedule.kind != ScheduleKind::noam || o.schedule.warmup > 0,
          "schedule.warmup: the noam schedule needs at least 1 update");
  const auto& metrics = o.validation.metrics;
  require(std::find(metrics.begin(), metrics.end(), o.validation.best_by) != metrics.end(),
          "validation.best_by: '{}' is not among validation.metrics", name_of_enum(o.validation.best_by));
}

void save_train_options(const std::string& path, const TrainOptions& options) {
  write_file_atomically(path, to_json(write_options(options)));
}

std::string documented_train_options() { return to_documented_yaml(write_options(TrainOptions{})); }

}  // namespace sixfold
