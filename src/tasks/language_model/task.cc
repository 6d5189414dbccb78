#include "tasks/language_model/task.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/join.h"
#include "base/plural.h"
#include "data/block_dataset.h"
#include "model_folder/binding.h"
#include "model_folder/model_folder.h"
#include "tasks/kit/text_data.h"
#include "tasks/language_model/settings.h"

namespace sixfold {
namespace {

/// Reads the text, or finds it encoded in the run's folder.
StoredText read_text(const LanguageModelOptions& options, const TaskStart& start) {
  if (!start.model.empty())
    require_task(load_model_config(start.model), LanguageModelSettings::network, start.model);
  return read_stored_documents(start, options.data, options.tokenizer, options.tokenizers_from(),
                               TextSide::exact);
}

/// Returns the config of the run's model. It is based on that of the model folder `from`, unless this is empty.
ModelConfig config_of(const LanguageModelOptions& options, const std::string& from,
                      const Tokenizers& tokenizers) {
  ModelConfig config = initial_config(options.model, options.generation, from);
  bind_tokenizers(config, tokenizers);
  if (from.empty() && config.decoder_start_token == ModelConfig::zero_start)
    config.decoder_start_token = tokenizers.target->bos();
  config.context_tokens = options.data.block_tokens;
  config.task = LanguageModelSettings::task;
  // A stream has no end, so that the end token is suppressed. For other texts the settings decide.
  LanguageModelSettings settings;
  if (!from.empty()) settings = settings_of<LanguageModelSettings>(config);
  const bool was_stream = !from.empty() && settings.text_unit == TextUnit::stream;
  std::vector<int>& suppressed = config.generation.suppress_tokens;
  if (was_stream) std::erase(suppressed, config.eos);
  if (options.data.unit == TextUnit::stream && std::ranges::count(suppressed, config.eos) == 0)
    suppressed.push_back(config.eos);
  settings.text_unit = options.data.unit;
  config.settings = write_options(settings);
  require(config.positions != Positions::learned || config.max_positions >= config.context_tokens,
          "{}: has {} learned positions, but data.block_tokens is {}; choose fewer", from, config.max_positions,
          config.context_tokens);
  return config;
}

class LanguageModelTask : public Task {
 public:
  LanguageModelTask(const LanguageModelOptions& options, const TaskStart& start, StoredText text)
      : tokenizers_(text.tokenizers),
        config_(config_of(options, start.model, tokenizers_)),
        record_(std::move(text.record)),
        train_(dataset(options, encoded_data_of(start), false)) {
    if (record_.validation.documents > 0) valid_.emplace(dataset(options, encoded_data_of(start), true));
  }

  const ModelConfig& model_config() const override { return config_; }
  const Dataset& training_data() const override { return train_; }
  const Dataset* validation_data() const override { return valid_ ? &*valid_ : nullptr; }

  void write(const std::string& folder) const override { save_tokenizers(tokenizers_, folder); }
  std::string history() const override { return history_of(record_); }

 private:
  BlockDataset dataset(const LanguageModelOptions& options, const std::string& store, bool validation) const {
    const auto& part = validation ? record_.validation : record_.training;
    const bool stream = options.data.unit == TextUnit::stream;
    const TextBlocks blocks(map_sequences(store, validation),
                            {.tokens = options.data.block_tokens,
                             .ends = !stream,
                             .shifts = stream && !validation && options.data.shuffle,
                             .seed = options.train.seed});
    return {blocks, tokenizers_, config_.target_ends(), part.hash};
  }

  Tokenizers tokenizers_;
  ModelConfig config_;
  SequenceStoreRecord record_;
  BlockDataset train_;
  std::optional<BlockDataset> valid_;
};

/// Describes how texts are generated if a call sets no options.
std::string describe_generation(const ModelConfig& model, const LanguageModelSettings& settings) {
  const GenerationConfig& rules = model.generation;
  const DrawOptions draw = stored_draw(model);
  std::vector<std::string> parts;
  const auto add = [&](bool set, std::string part) {
    if (set) parts.push_back(std::move(part));
  };
  if (settings.beam_size > 0) {
    parts.push_back(fmt::format("beam search of {}", settings.beam_size));
  } else if (draw.temperature == 0) {
    parts.emplace_back("greedy search");
  } else {
    parts.push_back(fmt::format("draws with temperature {}", draw.temperature));
    add(draw.top_k > 0, fmt::format("top_k {}", draw.top_k));
    add(draw.top_p < 1, fmt::format("top_p {}", draw.top_p));
    add(draw.min_p > 0, fmt::format("min_p {}", draw.min_p));
  }
  add(draw.repetition_penalty != 1, fmt::format("repetition_penalty {}", draw.repetition_penalty));
  add(rules.no_repeat_ngram > 0, fmt::format("no_repeat_ngram {}", rules.no_repeat_ngram));
  add(rules.max_new_tokens > 0, fmt::format("at most {}", counted(rules.max_new_tokens, "token")));
  add(settings.max_length > 0,
      fmt::format("at most {} with the prompt", counted(settings.max_length, "token")));
  add(rules.min_new_tokens > 0, fmt::format("at least {}", counted(rules.min_new_tokens, "token")));
  add(!settings.more_ends.empty(), fmt::format("{} end tokens", settings.more_ends.size() + 1));
  return join(parts);
}

void describe_language_model(const ModelConfig& model, const InfoLine& line) {
  const std::string window =
      model.context_tokens > 0 ? counted(model.context_tokens, "token") : "any number of tokens";
  const auto settings = settings_of<LanguageModelSettings>(model);
  line("reads", fmt::format("{} at once; a text is a {}", window, name_of_enum(settings.text_unit)));
  line("generates", describe_generation(model, settings));
  if (!settings.chat.format.empty())
    line("chat", settings.chat.system.empty()
                     ? settings.chat.format
                     : fmt::format("{}; system message: {}", settings.chat.format, settings.chat.system));
}

}  // namespace

std::vector<Finding> LanguageModelConfig::check_data(const std::atomic<int>* stop) const {
  return check_documents(options_.data, stop);
}

void LanguageModelConfig::require_start(ModelConfig& config) const {
  require_task(config, LanguageModelSettings::network, options_.start.model);
}

bool LanguageModelConfig::is_data_file(std::string_view name) const { return is_sequence_store_file(name); }

std::unique_ptr<Task> LanguageModelConfig::open(const TaskStart& start) const {
  return std::make_unique<LanguageModelTask>(options_, start, read_text(options_, start));
}

TaskEntry language_model_entry() {
  return task_entry<LanguageModelConfig, language_model_options_of>("continues text", "generate",
                                                                    describe_language_model);
}

}  // namespace sixfold
