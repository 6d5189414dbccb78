#pragma once
#include <string>
#include <vector>

#include "data/check/finding.h"
#include "model/config.h"
#include "text/tokenizer_options.h"
#include "train/config.h"

namespace sixfold {

/// Operations per second and thread of a whole training step: a third to a half of what large products reach on
/// a processor with the instructions of this one.
double training_rate(Precision precision);

/// A forecast of the updates of a run that is limited by minutes, from the operations of an update and a table
/// of processors; no clock is read.
double forecast_updates(const ModelConfig& config, const TrainOptions& options);

/// Finds whether the minutes of a run are too few for its model, and whether the disk below `folder` has room
/// for its checkpoints and memory for its weights. `config` has the sizes of the vocabularies, as far as they
/// are known.
void find_in_run(const ModelConfig& config, const TrainOptions& options, const std::string& folder,
                 std::vector<Finding>& findings);

/// The size of the vocabulary: of the file that is given, or else the size that is asked for.
int expected_vocabulary(const TokenizerOptions& options);

/// The same for the options of a task on text. Nothing is found of a run that starts from a model.
template <class Options>
void find_in_run(const Options& options, HeadConfig head, const std::string& folder,
                 std::vector<Finding>& findings) {
  constexpr int usual_context = 384;
  if (!options.start.model.empty()) return;
  ModelConfig config;
  static_cast<Architecture&>(config) = options.model;
  config.head = head;
  if constexpr (requires { options.image; }) {
    static_cast<ImageInput&>(config.image) = options.image;
    config.image.height = config.image.width = 4 * config.image.patch;  // which weighs little
  }
  config.target_vocab = expected_vocabulary(options.tokenizer);
  config.source_vocab = config.source_is_tokens() ? config.target_vocab : ModelConfig::pixel_values;
  config.context_tokens = head.kind == OutputHead::span ? usual_context : 0;
  find_in_run(config, training_of(options), folder, findings);
}

}  // namespace sixfold
