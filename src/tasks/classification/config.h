#pragma once
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/check/checks.h"
#include "data/lines.h"
#include "tasks/classification/settings.h"
#include "tasks/kit/size_choice.h"
#include "tasks/kit/task_options.h"
#include "tasks/kit/validation_metrics.h"

namespace sixfold {

/// Labelled texts, and the options of batching.
struct LabelledDataOptions : BatchOptions {
  std::vector<std::string> train, valid, test;
  InvalidUtf8 invalid_utf8 = InvalidUtf8::error;
  int max_tokens = 512;
  std::vector<std::string> class_weights;
  double token_dropout = 0;
};

inline void visit(OptionVisitor& v, LabelledDataOptions& o) {
  v.field("train", o.train,
          "training data: files whose lines are a label, a tab and a text; each may be gzipped");
  v.field("valid", o.valid, "validation data, given in the same way; empty: no validation");
  v.field("test", o.test,
          "test data, given in the same way, which is only compared with the others by sixfold check");
  v.field("invalid_utf8", o.invalid_utf8,
          "what to do with lines that are not valid UTF-8: error, replace (with U+FFFD) or skip");
  v.field("max_tokens", o.max_tokens,
          "maximum number of tokens of a text that the model reads, as far as it has positions; the rest is "
          "cut off",
          between(1, 1 << 20));
  v.field("class_weights", o.class_weights,
          "factors of the losses: 'balanced' makes all labels count equally; or LABEL=FACTOR for some labels; "
          "empty: 1");
  v.field(
      "token_dropout", o.token_dropout,
      "share of the tokens of a text that training replaces by the unknown token, different ones in each epoch",
      from_to_below(0, 1));
  visit(v, static_cast<BatchOptions&>(o));
}

struct ClassificationValidationOptions : MetricValidationOptions {
  ClassificationValidationOptions(MetricTable table = metric_table())
      : MetricValidationOptions(LineContent::label, "accuracy", table) {}
};

/// The layer that predicts the label.
struct ClassifierOptions {
  Pooling pooling = Pooling::first;
  bool dense = false;  ///< a linear map and `activation` of the pooled state (Devlin et al. 2019)
  Activation activation = Activation::tanh;
};

inline void visit(OptionVisitor& v, ClassifierOptions& o) {
  v.field(
      "pooling", o.pooling,
      "how the states of a text become one: first (of the start token), mean, or attention (a learned query)");
  v.field("dense", o.dense, "apply a linear map and an activation to this state before the label is predicted");
  v.field("activation", o.activation,
          "the activation after dense: relu, swish, gelu, sigmoid_gelu, tanh_gelu, sigmoid or tanh");
}

/// The head of a classifier of these labels: that of a classifier from which the training starts or which it
/// resumes, with other labels, or a new one. `start`: the config of the model to start from, or a new one.
HeadConfig class_head(const std::vector<std::string>& labels, const ClassifierOptions& options,
                      const ModelConfig& start);

/// Adds warnings about options that have no effect. `start`: start.model.
void advise_on_classifier(const ClassifierOptions& options, const std::string& start,
                          std::vector<std::string>& advice);

/// Describes what a classifier predicts. `what`: its input, such as "texts of at most 512 tokens".
std::string describe_classes(const ModelConfig& config, const std::string& what);

/// The complete config of a run that trains a classifier of texts.
struct ClassificationOptions : TaskOptions<LabelledDataOptions, ClassificationValidationOptions> {
  static constexpr std::string_view task_name = ClassificationSettings::task;
  /// The sizes of a run whose config gives none.
  static std::span<const SizeChoice> sizes();
  std::string task = std::string(task_name);
  ClassifierOptions classifier;

  ClassificationOptions();
};

inline void visit(OptionVisitor& v, ClassificationOptions& o) {
  v.field("task", o.task, "what is trained: classification; without this key, translation");
  v.group("classifier", o.classifier, "the layer that predicts the label");
  visit(v, static_cast<TaskOptions<LabelledDataOptions, ClassificationValidationOptions>&>(o));
}

/// Reads the options, and sets those that are the same for all classifiers: there is no decoder. Throws an
/// input error that begins with the place of the key if a key does not apply to classifiers, or as `validate`.
ClassificationOptions classification_options_of(OptionNode root, const std::string& where);

/// Throws an input error that names the key if a value is out of range, there is no training data, no limit
/// ends the training, or options contradict each other.
void validate(const ClassificationOptions& options);

/// Returns warnings about settings that have no effect together with others, one sentence each.
std::vector<std::string> advice_for(const ClassificationOptions& options);

/// Returns the weight of each label by `class_weights`. `counts`: how often each label occurs. Throws an input
/// error that names data.class_weights if one is malformed or names no label.
std::vector<float> class_weights(const std::vector<std::string>& given, const std::vector<std::string>& labels,
                                 const std::vector<int64_t>& counts);
/// The same as a check, which is null if no weights are given.
ClassWeighing weighing(const std::vector<std::string>& given);

}  // namespace sixfold
