#pragma once
#include <string>

#include "data/corpus.h"
#include "data/token_store.h"
#include "tasks/translation/config.h"
#include "train/task.h"

namespace sixfold {

/// The training text and the validation text of a run.
struct TranslationData {
  Tokenizers tokenizers;
  PairLayout layout;        ///< the tokens around the texts in `train` and `valid`
  TokenCorpus train;        ///< mapped from the run's folder
  TokenStoreRecord record;  ///< describes `train`
  /// The pairs of the validation text that training would keep, held in memory; empty if none is given.
  ParallelText valid_text;
  TokenCorpus valid;       ///< the ids of `valid_text`, held in memory
  std::string valid_hash;  ///< hash of the lines of the whole validation text; empty if there is none
};

/// The translation settings in config.json of a run's model: those of `config`, with the languages of the text.
TranslationSettings settings_for(const ModelConfig& config, const ParallelDataOptions& data);

/// The files of a key of the config: data.valid or data.test. Throws as `corpus_files`.
std::vector<CorpusFiles> files_of(const ParallelDataOptions& data, const std::vector<std::string>& names,
                                  const std::string& key);
/// The files of data.train, with those of data.pair_weights and data.alignments. Also throws an input error
/// that names the key if the latter do not belong to the former.
std::vector<CorpusFiles> training_files(const ParallelDataOptions& data);

/// The tokenizers that a run does not train itself: those of start.model, or of the files that the config
/// names.
std::optional<Tokenizers> given_tokenizers(const TranslationOptions& options);

/// Reads the text, trains tokenizers if none are given, and encodes the text. The encoded training text and the
/// validation text are stored in the run's folder. A resumed run uses the stored text, and warns if the
/// original files have changed or are missing. A run that starts again with the same text and settings uses the
/// stored text too. Logs what was read and what was dropped. Throws an input error if the text is missing,
/// malformed, or not that of the resumed run.
TranslationData read_translation_data(const TranslationOptions& options, const TaskStart& start);

}  // namespace sixfold
