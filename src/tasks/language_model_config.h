#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/options.h"
#include "base/text_unit.h"
#include "data/lines.h"
#include "model/generation_config.h"
#include "tasks/model_options.h"
#include "text/tokenizer_options.h"
#include "train/config.h"

namespace sixfold {

/// The text of a language model, and how it becomes batches.
struct TextDataOptions : BatchOptions {
  std::vector<std::string> train, valid;
  InvalidUtf8 invalid_utf8 = InvalidUtf8::error;
  TextUnit unit = TextUnit::stream;
  int block_tokens = 256;
};

template <class Visitor>
void visit(Visitor& v, TextDataOptions& o) {
  v.field("train", o.train, "files of training text; each may be gzipped");
  v.field("valid", o.valid, "files of validation text; empty: no validation");
  v.field("invalid_utf8", o.invalid_utf8,
          "what to do with lines that are not valid UTF-8: error, replace (with U+FFFD) or skip");
  v.field("unit", o.unit,
          "what is one text: stream (a file, cut into blocks anywhere), file, paragraph (blank lines separate "
          "them) or "
          "line");
  v.field("block_tokens", o.block_tokens,
          "number of tokens that the model reads at once, in training and later", between(2, 1 << 20));
  visit(v, static_cast<BatchOptions&>(o));
}

/// The complete config of a run that trains a language model.
struct LanguageModelOptions {
  LanguageModelOptions();

  std::string task = std::string(task_name);
  ModelOptions model;
  GenerationConfig generation;  ///< stored with the model; of use to beam search
  StartOptions start;
  TokenizerOptions tokenizer;
  TextDataOptions data;
  TrainingOptions train;
  OptimizerOptions optimizer;
  ScheduleOptions schedule;
  CheckpointOptions checkpoint;
  ValidationOptions validation;
  LogOptions log;

  static constexpr std::string_view task_name = "language_model";
  /// The options that the trainer reads.
  TrainOptions training() const;
};

template <class Visitor>
void visit(Visitor& v, LanguageModelOptions& o) {
  v.field("task", o.task, "what is trained: language_model; without this key, translation");
  v.group("model", o.model, "the architecture");
  v.group("generation", o.generation,
          "generation settings, saved with the model; no effect together with start.model");
  v.group("tokenizer", o.tokenizer, "how text is split into tokens");
  visit_training_groups(v, o);
}

/// Reads the options, and sets those that a language model does not choose: it has no encoder, and its
/// embedding is that of the decoder. Throws an input error that begins with the place of the key if a key is
/// not one of a language model, or as `validate`.
LanguageModelOptions language_model_options_of(OptionNode root, const std::string& where);

/// Throws an input error that names the key if a value is out of range, there is no training text, no limit
/// ends the training, or options contradict each other.
void validate(const LanguageModelOptions& options);

/// Returns warnings about settings that have no effect together with others, one sentence each.
std::vector<std::string> advice_for(const LanguageModelOptions& options);

}  // namespace sixfold
