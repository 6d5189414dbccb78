#pragma once
#include <string>
#include <vector>

#include "data/check/finding.h"
#include "model/config.h"
#include "text/tokenizer_options.h"
#include "train/config.h"

namespace sixfold {

/// The estimated floating-point operations per second and thread of a training step: a third to a half of what
/// large matrix products reach on a processor with the instructions of this one.
double training_rate(Precision precision);

/// The estimated number of updates of a run that is limited by minutes. The estimate is computed from the
/// operations of an update and a table of processors, without measuring time.
double forecast_updates(const ModelConfig& config, const TrainOptions& options);

/// Checks whether the minutes of a run are enough for its model, whether memory has room for its weights, and
/// whether the disk of `folder` has room for its checkpoints. Adds what is wrong to `findings`. `config` has
/// the sizes of the vocabularies, as far as they are known.
void check_resources(const ModelConfig& config, const TrainOptions& options, const std::string& folder,
                     std::vector<Finding>& findings);

/// The number of distinct characters of the text of which a vocabulary is to be made, or of that side that has
/// more, where each has a vocabulary of its own. 32 MB of each file are read, but not of TMX, where most of
/// it is no text. 0 if only a sample of the lines counts (`max_sentences`), or if a file can't be read.
size_t count_distinct_characters(const std::vector<std::string>& files, const TokenizerOptions& options);

/// Checks whether a vocabulary that is to be made of these files has a place for each of their characters.
void check_vocabulary(const TokenizerOptions& options, const std::vector<std::string>& files,
                      std::vector<Finding>& findings);

/// The size of the vocabulary: that of the given tokenizer, or otherwise that of the options.
int expected_vocabulary(const TokenizerOptions& options);

/// The same for the options of a task on text. A run that starts from a model is not checked.
template <class Options>
void check_resources(const Options& options, HeadConfig head, const std::string& folder,
                     std::vector<Finding>& findings) {
  constexpr int default_context = 384;
  if (!options.start.model.empty()) return;
  ModelConfig config;
  static_cast<Architecture&>(config) = options.model;
  config.head = head;
  if constexpr (requires { options.image; }) {
    static_cast<ImageInput&>(config.image) = options.image;
    config.image.height = config.image.width = 4 * config.image.patch;  // the size hardly matters
  }
  config.target_vocab = expected_vocabulary(options.tokenizer);
  config.source_vocab = config.source_is_tokens() ? config.target_vocab : ModelConfig::pixel_values;
  config.context_tokens = head.kind == OutputHead::span ? default_context : 0;
  check_resources(config, training_of(options), folder, findings);
}

}  // namespace sixfold
