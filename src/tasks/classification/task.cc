#include "tasks/classification/task.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "data/check/checks.h"
#include "data/class_dataset.h"
#include "data/labelled_text.h"
#include "model_folder/binding.h"
#include "tasks/classification/scores.h"
#include "tasks/kit/encoder_task.h"
#include "tasks/kit/text_data.h"

namespace sixfold {
namespace {

StoredText read_text(const ClassificationOptions& options, const TaskStart& start) {
  const LabelledDataOptions& data = options.data;
  const auto training_text = [&]() -> TextReader {
    return [&](const auto& use) {
      LabelledReader reader(data.train, data.invalid_utf8);
      for (std::string label, text; reader.next(label, text); use(text)) throw_if_stopped(start.stop);
    };
  };
  const auto names = [&] {
    std::vector<std::string> labels = labels_of(data.train, data.invalid_utf8, start.stop);
    require(labels.size() != 1, "data.train: all texts have the label '{}'; there must be at least 2 labels",
            labels.empty() ? "" : labels[0]);
    return labels;
  };
  const auto encode = [&](const Tokenizers& tokenizers, const std::vector<std::string>& labels) {
    return labelled_encoder(*tokenizers.source, labels, data.invalid_utf8, start.threads);
  };
  return read_stored_text(
      start, {.files = {data.train, data.valid},
              .tokenizer = options.tokenizer,
              .tokenizers_from = options.tokenizers_from(),
              .settings = fmt::format("labelled, invalid_utf8 {}", name_of_enum(data.invalid_utf8)),
              .training_text = training_text,
              .names = names,
              .encode = encode});
}

/// Returns the config of the run's model: that of the checkpoint if the run is resumed, otherwise that of a new
/// classifier, which has the encoder of start.model if there is one.
ModelConfig config_of(const ClassificationOptions& options, const TaskStart& start, const StoredText& text) {
  ModelConfig config = initial_config(options.model, options.generation, start.model);
  if (!start.model.empty() && !start.resumed) keep_encoder(config, start.model, ClassificationSettings::task);
  require(
      !start.resumed || labels_of(config) == text.record.names,
      "{}: the labels are not those that the run began with; remove the folder, restore the text and resume",
      encoded_data_of(start));
  bind_tokenizers(config, text.tokenizers);
  config.head = class_head(text.record.names, options.classifier, config);
  require(config.head.pooling != Pooling::first || text.tokenizers.source->bos() >= 0,
          "classifier.pooling: is 'first', but the vocabulary has no start token; choose mean or attention");
  config.task = ClassificationOptions::task_name;
  config.settings = write_options(ClassificationSettings{text.record.names});
  config.context_tokens = context_tokens_of(config, options.data.max_tokens, /*special_tokens=*/2);
  return config;
}

class ClassificationTask : public Task {
 public:
  ClassificationTask(const ClassificationOptions& options, const TaskStart& start, StoredText text)
      : validation_(options.validation),
        batch_tokens_(options.data.batch_tokens),
        tokenizers_(text.tokenizers),
        config_(config_of(options, start, text)),
        record_(std::move(text.record)),
        weights_(weights_of(options, encoded_data_of(start))),
        train_(dataset(encoded_data_of(start), false, options.data.token_dropout, options.train.seed)) {
    if (record_.validation.documents > 0) valid_.emplace(dataset(encoded_data_of(start), true, 0, 1));
    warn_of_cuts(train_, "training");
    if (valid_) warn_of_cuts(*valid_, "validation");
  }

  const ModelConfig& model_config() const override { return config_; }
  const Dataset& training_data() const override { return train_; }
  const Dataset* validation_data() const override { return valid_ ? &*valid_ : nullptr; }

  std::vector<std::string> new_weights(const std::string& folder) const override {
    return weights_not_in(folder, config_);
  }
  void start_from(const std::string& folder, Transformer& model) const override {
    load_common_weights(folder, model);
  }

  std::vector<std::string> metrics() const override { return validation_.names; }
  Evaluation evaluate(const Transformer& model, const EvaluationRun& run) const override {
    const int64_t max_tokens = run.part_tokens > 0 ? std::min(batch_tokens_, run.part_tokens) : batch_tokens_;
    return {.scores = class_scores(model, *valid_, validation_, max_tokens, run)};
  }

  void write(const std::string& folder) const override { save_tokenizers(tokenizers_, folder); }
  std::string history() const override { return history_of(record_); }

 private:
  void warn_of_cuts(const ClassDataset& data, const char* name) const {
    if (const int64_t cut = data.cut(); cut > 0)
      log_warning("{} data: {} more than data.max_tokens or the positions allow, {}; the rest is cut off", name,
                  cut == 1 ? "1 text has" : fmt::format("{} texts have", cut), config_.context_tokens);
  }
  ClassDataset dataset(const std::string& store, bool validation, double token_dropout, uint64_t seed) const {
    const auto& part = validation ? record_.validation : record_.training;
    return {map_sequences(store, validation),
            tokenizers_,
            {.labels = record_.names,
             .weights = weights_,
             .tokens = config_.context_tokens,
             .dropout = {token_dropout, seed}},
            part.hash};
  }
  std::vector<float> weights_of(const ClassificationOptions& options, const std::string& store) const {
    return class_weights(options.data.class_weights, record_.names,
                         label_counts(map_sequences(store, /*validation=*/false), record_.names.size()));
  }

  MetricValidationOptions validation_;
  int64_t batch_tokens_;
  Tokenizers tokenizers_;
  ModelConfig config_;
  SequenceStoreRecord record_;
  std::vector<float> weights_;
  ClassDataset train_;
  std::optional<ClassDataset> valid_;
};

void describe_classification(const ModelConfig& model, const InfoLine& line) {
  line("classifies",
       describe_classes(model, fmt::format("texts of at most {}", counted(model.context_tokens, "token"))));
}

}  // namespace

std::vector<Finding> ClassificationConfig::check_data(const std::atomic<int>* stop) const {
  const LabelledDataOptions& data = options_.data;
  return check_labelled({.train = data.train,
                         .valid = data.valid,
                         .test = data.test,
                         .invalid = data.invalid_utf8,
                         .weigh = weighing(data.class_weights),
                         .max_tokens = data.max_tokens,
                         .stop = stop});
}

HeadConfig ClassificationConfig::expected_head() const {
  return {.kind = OutputHead::classes, .classes = 2, .pooling = options_.classifier.pooling};
}

bool ClassificationConfig::is_data_file(std::string_view name) const { return is_sequence_store_file(name); }

std::unique_ptr<Task> ClassificationConfig::open(const TaskStart& start) const {
  return std::make_unique<ClassificationTask>(options_, start, read_text(options_, start));
}

TaskEntry classification_entry() {
  return task_entry<ClassificationConfig, classification_options_of>("classifies text", "classify",
                                                                     describe_classification);
}

}  // namespace sixfold
