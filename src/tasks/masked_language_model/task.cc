#include "tasks/masked_language_model/task.h"

#include <optional>

#include "base/error.h"
#include "base/plural.h"
#include "data/masked_dataset.h"
#include "model_folder/binding.h"
#include "tasks/kit/encoder_task.h"

namespace sixfold {
namespace {

/// The mask token of a vocabulary, found by its name; -1: none. Only tokenizers of a tokenizer.json recognize
/// it in texts.
int mask_of(const Tokenizer& tokenizer) {
  for (int32_t id = 0; id < tokenizer.vocab_size() && tokenizer.kind() == TokenizerKind::tokenizer_json; ++id)
    for (const char* mask : {"[MASK]", "<mask>"})
      if (tokenizer.token_text(id) == mask) return id;
  return -1;
}

/// Returns the config of the run's model, which continues the encoder of start.model if there is one.
ModelConfig config_of(const MaskedLanguageModelOptions& options, const TaskStart& start,
                      const Tokenizers& tokenizers) {
  const std::string& from = start.model;
  ModelConfig config = initial_config(options.model, options.generation, from);
  if (!from.empty() && !start.resumed) keep_encoder(config, from, MaskedLanguageModelSettings::task);
  bind_tokenizers(config, tokenizers);
  config.context_tokens = options.data.block_tokens;
  if (config.task != MaskedLanguageModelSettings::task)
    config.settings = write_options(MaskedLanguageModelSettings{mask_of(*tokenizers.source)});
  config.task = MaskedLanguageModelSettings::task;
  require(!config.limits_length() || config.max_positions >= config.context_tokens + 2,
          "{}: has {} positions, but data.block_tokens is {}, and the start and the end need one each", from,
          config.max_positions, config.context_tokens);
  return config;
}

class MaskedLanguageModelTask : public Task {
 public:
  MaskedLanguageModelTask(const MaskedLanguageModelOptions& options, const TaskStart& start, StoredText text)
      : tokenizers_(text.tokenizers),
        config_(config_of(options, start, tokenizers_)),
        record_(std::move(text.record)),
        train_(dataset(options, encoded_data_of(start), false)) {
    if (record_.validation.documents > 0) valid_.emplace(dataset(options, encoded_data_of(start), true));
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
  void write(const std::string& folder) const override { save_tokenizers(tokenizers_, folder); }
  std::string history() const override { return history_of(record_); }

 private:
  MaskedDataset dataset(const MaskedLanguageModelOptions& options, const std::string& store,
                        bool validation) const {
    const bool stream = options.data.unit == TextUnit::stream;
    const TextBlocks blocks(map_sequences(store, validation),
                            {.tokens = options.data.block_tokens,
                             .shifts = stream && !validation && options.data.shuffle,
                             .seed = options.train.seed});
    const Tokenizer& tokenizer = *tokenizers_.source;
    return {blocks,
            tokenizers_,
            {.share = options.data.mask_share,
             .vocabulary = tokenizer.vocab_size(),
             .mask = settings_of<MaskedLanguageModelSettings>(config_).mask(tokenizer.unk()),
             .bos = tokenizer.bos(),
             .eos = tokenizer.eos(),
             .seed = validation ? 1 : options.train.seed},  // the same masks in all runs, for comparison
            (validation ? record_.validation : record_.training).hash};
  }

  Tokenizers tokenizers_;
  ModelConfig config_;
  SequenceStoreRecord record_;
  MaskedDataset train_;
  std::optional<MaskedDataset> valid_;
};

void describe_masked_language_model(const ModelConfig& model, const InfoLine& line) {
  line("reads", fmt::format("{} at once", counted(model.context_tokens, "token")));
}

}  // namespace

std::vector<Finding> MaskedLanguageModelConfig::check_data(const std::atomic<int>* stop) const {
  return check_documents(options_.data, stop);
}

bool MaskedLanguageModelConfig::is_data_file(std::string_view name) const {
  return is_sequence_store_file(name);
}

std::unique_ptr<Task> MaskedLanguageModelConfig::open(const TaskStart& start) const {
  return std::make_unique<MaskedLanguageModelTask>(
      options_, start,
      read_stored_documents(start, options_.data, options_.tokenizer, options_.tokenizers_from(),
                            TextSide::source));
}

TaskEntry masked_language_model_entry() {
  return task_entry<MaskedLanguageModelConfig, masked_language_model_options_of>(
      "predicts masked tokens", "fill", describe_masked_language_model);
}

}  // namespace sixfold
