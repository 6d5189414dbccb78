#include "tasks/image_classification/task.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "base/trim.h"
#include "data/check/checks.h"
#include "data/image_dataset.h"
#include "data/image_reader.h"
#include "tasks/classification/scores.h"
#include "tasks/classification/settings.h"
#include "tasks/kit/encoder_task.h"
#include "tasks/kit/text_data.h"

namespace sixfold {
namespace {

SequenceStoreRecord read_images(const ImageClassificationOptions& options, const TaskStart& start) {
  const ImageDataOptions& data = options.data;
  const std::set<std::string> distinct_names(data.label_names.begin(), data.label_names.end());
  require(distinct_names.size() == data.label_names.size(), "data.label_names: a name occurs twice");
  for (const std::string& name : distinct_names)
    require(!name.empty() && name == without_blanks(name),
            "data.label_names: '{}' is empty or has spaces around it, which labels do not have; remove them",
            name);
  const auto names = [&] {
    std::vector<std::string> labels = labels_of_images(data.train, data.label_names, start.stop);
    require(labels.size() != 1, "data.train: all images have the label '{}'; there must be at least 2 labels",
            labels.empty() ? "" : labels[0]);
    return labels;
  };
  std::string settings = "labelled images";
  for (const std::string& name : data.label_names) settings += ", " + name;
  settings += settings_of_images(start, data);
  return read_stored_text(start, {.files = {data.train, data.valid},
                                  .tokenizer = std::nullopt,
                                  .settings = settings,
                                  .names = names,
                                  .encode =
                                      [&](const Tokenizers&, const std::vector<std::string>& labels) {
                                        const auto check = [&](const ImageSize& size) {
                                          image_input(options.image, data.augmentation, size);
                                        };
                                        return image_encoder(labels_of_files(data.label_names),
                                                             label_appender(labels), check);
                                      }})
      .record;
}

/// Returns the config of the run's model: that of the checkpoint if the run is resumed, otherwise that of a new
/// classifier, which has the encoder of start.model if there is one.
ModelConfig config_of(const ImageClassificationOptions& options, const TaskStart& start,
                      const SequenceStoreRecord& record) {
  ModelConfig config = initial_config(options.model, options.generation, start.model);
  require(
      !start.resumed || labels_of(config) == record.names,
      "{}: the labels are not those that the run began with; remove the folder, restore the files and resume",
      encoded_data_of(start));
  if (!start.model.empty()) require_task(config, ClassificationSettings::network_on_images, start.model);
  set_image_input(config, options.image, options.data.augmentation, start);
  config.max_positions = config.image.rows();
  config.tied_embeddings = TiedEmbeddings::none;
  config.head = class_head(record.names, options.classifier, config);
  config.task = ImageClassificationOptions::task_name;
  config.settings = write_options(ClassificationSettings{record.names});
  config.source_vocab = ModelConfig::pixel_values;
  config.target_vocab = config.head.classes;
  config.unk = config.eos = 0, config.bos = -1;
  return config;
}

class ImageClassificationTask : public Task {
 public:
  ImageClassificationTask(const ImageClassificationOptions& options, const TaskStart& start)
      : validation_(options.validation),
        batch_tokens_(options.data.batch_tokens),
        record_(read_images(options, start)),
        config_(config_of(options, start, record_)),
        train_(dataset(encoded_data_of(start), false, options)) {
    if (record_.validation.documents > 0) valid_.emplace(dataset(encoded_data_of(start), true, options));
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
  std::string history() const override { return history_of(record_); }

 private:
  ImageDataset dataset(const std::string& store, bool validation,
                       const ImageClassificationOptions& options) const {
    const IdSequences training = map_sequences(store, /*validation=*/false);
    std::vector<int64_t> counts(record_.names.size());
    for (int64_t i = 0; i < training.size(); ++i)
      ++counts[static_cast<size_t>(stored_image(training[i]).rest[0])];
    return {validation ? map_sequences(store, true) : training,
            {.labels = record_.names,
             .weights = class_weights(options.data.class_weights, record_.names, counts),
             .cutter = cutter_of(config_, validation ? Augmentation() : options.data.augmentation,
                                 options.train.seed)},
            (validation ? record_.validation : record_.training).hash};
  }

  MetricValidationOptions validation_;
  int64_t batch_tokens_;
  SequenceStoreRecord record_;
  ModelConfig config_;
  ImageDataset train_;
  std::optional<ImageDataset> valid_;
};

void describe_image_classification(const ModelConfig& model, const InfoLine& line) {
  line("classifies", describe_classes(model, describe_images(model)));
}

}  // namespace

std::vector<Finding> ImageClassificationConfig::check_data(const std::atomic<int>* stop) const {
  const ImageDataOptions& data = options_.data;
  return check_images({.train = data.train,
                       .valid = data.valid,
                       .test = data.test,
                       .names = data.label_names,
                       .weigh = weighing(data.class_weights),
                       .stop = stop});
}

HeadConfig ImageClassificationConfig::expected_head() const {
  return {.kind = OutputHead::classes, .classes = 2, .pooling = options_.classifier.pooling};
}

void ImageClassificationConfig::require_start(ModelConfig& config) const {
  require_task(config, ClassificationSettings::network_on_images, options_.start.model);
}

bool ImageClassificationConfig::is_data_file(std::string_view name) const {
  return is_sequence_store_file(name);
}

std::unique_ptr<Task> ImageClassificationConfig::open(const TaskStart& start) const {
  return std::make_unique<ImageClassificationTask>(options_, start);
}

TaskEntry image_classification_entry() {
  return task_entry<ImageClassificationConfig, image_classification_options_of>("classifies images", "classify",
                                                                                describe_image_classification);
}

}  // namespace sixfold
