#include "tasks/image_captioning/task.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "data/caption_dataset.h"
#include "data/check/checks.h"
#include "model/describe.h"
#include "model_folder/binding.h"
#include "model_folder/model_folder.h"
#include "tasks/kit/decoding_scores.h"
#include "tasks/kit/text_data.h"
#include "tasks/kit/validation_samples.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

/// Reads the images and captions, or finds them encoded in the run's folder.
StoredText read_captions(const ImageCaptioningOptions& options, const TaskStart& start) {
  const CaptionDataOptions& data = options.data;
  if (!start.model.empty())
    require_task(load_model_config(start.model), ImageCaptioningOptions::network, start.model);
  const auto training_text = [&]() -> TextReader {
    return [&](const auto& use) {
      for (size_t i = 1; i < data.train.size(); i += 2) {
        CaptionReader reader(data.train[i]);
        for (std::string caption; reader.next(caption); use(caption)) throw_if_stopped(start.stop);
      }
    };
  };
  return read_stored_text(start, {.files = {data.train, data.valid},
                                  .tokenizer = options.tokenizer,
                                  .tokenizers_from = options.tokenizers_from(),
                                  .side = TextSide::target,
                                  .settings = "images with captions" + settings_of_images(start, data),
                                  .training_text = training_text,
                                  .encode = [&](const Tokenizers& tokenizers, const std::vector<std::string>&) {
                                    const auto check = [&](const ImageSize& size) {
                                      image_input(options.image, data.augmentation, size);
                                    };
                                    return image_encoder(captions_of_files(),
                                                         caption_appender(*tokenizers.target), check);
                                  }});
}

/// Returns the config of the run's model. It is based on that of start.model, if there is one.
ModelConfig config_of(const ImageCaptioningOptions& options, const TaskStart& start,
                      const Tokenizers& tokenizers) {
  ModelConfig config = initial_config(options.model, options.generation, start.model);
  set_image_input(config, options.image, options.data.augmentation, start);
  require(config.positions != Positions::learned || config.max_positions >= config.image.rows(),
          "model.max_positions is {}, but an image has {} patches{}; raise it, or choose larger patches",
          config.max_positions, config.image.patches(), config.image.class_token ? " and a class token" : "");
  bind_tokenizers(config, tokenizers);
  config.task = ImageCaptioningOptions::task_name;
  return config;
}

/// Throws an input error that names the first image whose caption has more tokens than the model has positions.
void require_positions_for(const ModelConfig& config, const CaptionDataset& data, std::string_view key) {
  if (!config.limits_length()) return;
  for (int64_t i = 0; i < data.size(); ++i)
    if (const int64_t tokens = std::ssize(data.caption(i)) + 1; tokens > config.max_positions)
      require_positions(config, tokens, fmt::format("{}: the caption of image {}", key, i + 1));
}

class ImageCaptioningTask : public Task {
 public:
  ImageCaptioningTask(const ImageCaptioningOptions& options, const TaskStart& start, StoredText text)
      : validation_(options.validation),
        tokenizers_(text.tokenizers),
        config_(config_of(options, start, tokenizers_)),
        record_(std::move(text.record)),
        train_(dataset(options, start, false)) {
    require_positions_for(config_, train_, "data.train");
    if (record_.validation.documents == 0) return;
    valid_.emplace(dataset(options, start, true));
    require_positions_for(config_, *valid_, "data.valid");
    validation_.try_program({replace_invalid_utf8(tokenizers_.target->decode(valid_->caption(0)))}, {},
                            start.stop);
  }

  const ModelConfig& model_config() const override { return config_; }
  const Dataset& training_data() const override { return train_; }
  const Dataset* validation_data() const override { return valid_ ? &*valid_ : nullptr; }

  std::vector<std::string> metrics() const override { return validation_.metrics.chosen; }
  Evaluation evaluate(const Transformer& model, const EvaluationRun& run) const override;
  int64_t score_bytes(int64_t part_tokens) const override;

  void write(const std::string& folder) const override { save_tokenizers(tokenizers_, folder); }
  std::string history() const override { return history_of(record_); }

 private:
  CaptionDataset dataset(const ImageCaptioningOptions& options, const TaskStart& start, bool validation) const {
    return {map_sequences(encoded_data_of(start), validation),
            cutter_of(config_, validation ? Augmentation() : options.data.augmentation, options.train.seed),
            tokenizers_, config_.target_ends(), (validation ? record_.validation : record_.training).hash};
  }
  ScoredDecoding decoding(int64_t part_tokens) const {
    return {.beam_size = validation_.beam_size, .part_tokens = part_tokens};
  }
  /// The number of images that validation captions.
  int64_t captioned() const {
    return validation_.max_images > 0 ? std::min(valid_->size(), validation_.max_images) : valid_->size();
  }
  /// The number of images whose patches are in memory at the same time: enough to keep the search busy.
  int64_t block_size(int64_t part_tokens) const {
    return std::max<int64_t>(1, 4 * decoding(part_tokens).tokens() / valid_->rows());
  }

  CaptionValidationOptions validation_;
  Tokenizers tokenizers_;
  ModelConfig config_;
  SequenceStoreRecord record_;
  CaptionDataset train_;
  std::optional<CaptionDataset> valid_;
};

/// References are the captions as the tokenizer decodes them. No output equals a reference with an unknown
/// token.
Evaluation ImageCaptioningTask::evaluate(const Transformer& model, const EvaluationRun& run) const {
  if (!validation_.generates()) return {};
  const Tokenizer& tokenizer = *tokenizers_.target;
  ValidationScores scores = validation_.scores(tokenizer);
  Evaluation evaluation;
  const int64_t count = captioned();
  for (int64_t begin = 0; begin < count; begin += block_size(run.part_tokens)) {
    const int64_t end = std::min(count, begin + block_size(run.part_tokens));
    BatchBuilder images;
    for (int64_t i = begin; i < end; ++i) valid_->add(i, 0, images.sample(static_cast<int32_t>(i)));
    const Batch batch = images.take();
    std::vector<std::vector<int32_t>> sources;
    std::vector<std::string> references;
    for (int i = 0; i < batch.size(); ++i) {
      const auto values = batch.source.sequence(i);
      sources.emplace_back(values.begin(), values.end());
      references.push_back(replace_invalid_utf8(tokenizer.decode(valid_->caption(begin + i))));
    }
    const auto outputs =
        decode_outputs(model, sources, references, decoding(run.part_tokens), run, evaluation.outputs);
    for (int64_t i = begin; i < end; ++i) {
      const std::span<const int32_t> caption = valid_->caption(i);
      const std::string found = replace_invalid_utf8(tokenizer.decode(outputs[static_cast<size_t>(i - begin)]));
      const std::string& reference = references[static_cast<size_t>(i - begin)];
      if (evaluation.samples.size() < most_samples && reference.size() <= most_sample_bytes)
        evaluation.samples.push_back(sample_of("image " + std::to_string(i + 1), found, reference));
      const bool exact_reference = tokenizer.count_unknown(caption) == 0;
      scores.add(found, {&reference, 1}, exact_reference);
    }
  }
  evaluation.scores = scores.scores(run.processes);
  return evaluation;
}

int64_t ImageCaptioningTask::score_bytes(int64_t part_tokens) const {
  if (!validation_.generates()) return 0;
  const int64_t copies = 3;  // of the patches: in the batch, as sources, and in the requests
  const int64_t values =
      std::min(block_size(part_tokens), captioned()) * valid_->rows() * config_.source_ids_per_row();
  const auto patches = [this](int64_t) { return valid_->rows(); };
  return decoding_bytes(config_, captioned(), patches, decoding(part_tokens)) +
         copies * values * int64_t{sizeof(int32_t)};
}

void describe_image_captioning(const ModelConfig& model, const InfoLine& line) {
  line("search", describe_search(model.generation));
  line("captions", describe_images(model));
}

}  // namespace

std::vector<Finding> ImageCaptioningConfig::check_data(const std::atomic<int>* stop) const {
  return check_captions({.train = options_.data.train, .valid = options_.data.valid, .stop = stop});
}

void ImageCaptioningConfig::require_start(ModelConfig& config) const {
  require_task(config, ImageCaptioningOptions::network, options_.start.model);
}

bool ImageCaptioningConfig::is_data_file(std::string_view name) const { return is_sequence_store_file(name); }

std::unique_ptr<Task> ImageCaptioningConfig::open(const TaskStart& start) const {
  return std::make_unique<ImageCaptioningTask>(options_, start, read_captions(options_, start));
}

TaskEntry image_captioning_entry() {
  return task_entry<ImageCaptioningConfig, image_captioning_options_of>("captions images", "caption",
                                                                        describe_image_captioning);
}

}  // namespace sixfold
