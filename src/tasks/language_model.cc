#include "tasks/language_model.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/plural.h"
#include "data/block_dataset.h"
#include "data/document_store.h"
#include "infer/binding.h"
#include "model/model_dir.h"
#include "model/what_is.h"

namespace sixfold {
namespace {

constexpr std::string_view taking_effect[] = {"model.dropout", "model.attention_dropout",
                                              "model.activation_dropout"};
constexpr std::string_view input_files[] = {"data.train", "data.valid", "tokenizer.source"};

/// The folder for the encoded text of a run.
std::string store_of(const TaskStart& start) { return start.run + "/encoded-text"; }

Tokenizers tokenizers_of(const LanguageModelOptions& options, const TaskStart& start) {
  if (!start.model.empty()) return load_tokenizers(start.model);
  const TextReader text = [&](const auto& use) {
    DocumentReader reader(options.data.train, options.data.unit, options.data.invalid_utf8);
    std::string line;
    for (DocumentReader::Event event; (event = reader.next(line)) != DocumentReader::Event::end;) {
      if (start.stop && start.stop->load() != 0) throw Cancelled();
      if (event == DocumentReader::Event::line) use(line);
    }
  };
  return make_tokenizers(options.tokenizer, text, text_reader({}));
}

/// Describes everything that determines the contents of the store besides the text itself: the settings, and
/// the hash of a given tokenizer.
std::string settings_of(const LanguageModelOptions& options, const TaskStart& start) {
  std::string given;
  TokenizerOptions trained = options.tokenizer;
  if (!options.start.model.empty() || !trained.source.empty()) {
    given = tokenizers_of(options, start).target->hash();
    trained = {};
  }
  return fmt::format("invalid_utf8 {}, unit {}, tokenizer {} {}", name_of_enum(options.data.invalid_utf8),
                     name_of_enum(options.data.unit), given,
                     nlohmann::json::parse(to_json(write_options(trained))).dump());
}

/// Whether the store already holds the text of this run; see `read_translation_data`.
bool is_stored(const std::optional<DocumentStoreRecord>& record, const TaskStart& start,
               const TextDataOptions& data, const std::string& settings) {
  if (!record) return false;
  const auto same = [](const std::vector<FileStamp>& recorded, const std::vector<std::string>& files) {
    return same_contents(recorded, stamps_of(single_files(files)));
  };
  if (!start.resumed)
    return record->settings == settings && same(record->training.files, data.train) &&
           same(record->validation.files, data.valid);
  require(
      record->training.hash == start.resumed->training && record->validation.hash == start.resumed->validation,
      "{}: is not the text that the run was trained on. Restore the text in data.train and data.valid and "
      "remove the "
      "folder; it is then created again",
      store_of(start));
  for (const auto& [part, files] :
       {std::pair(&record->training, &data.train), {&record->validation, &data.valid}})
    for (const std::string& change : changed_files(single_files(*files), part->files))
      log_warning("{}; the run goes on with the stored text", change);
  return true;
}

struct LanguageModelText {
  Tokenizers tokenizers;
  DocumentStoreRecord record;
};

/// Reads the text, or finds it encoded in the run's folder.
LanguageModelText read_text(const LanguageModelOptions& options, const TaskStart& start) {
  if (!start.model.empty()) {
    require_model_folder(start.model);
    require_language_model(load_model_config(start.model), start.model);
  }
  const std::string store = store_of(start);
  std::optional<DocumentStoreRecord> record;
  if (std::filesystem::exists(store + "/texts.json")) record = read_document_store_record(store);
  const std::string settings = settings_of(options, start);
  LanguageModelText text;
  if (is_stored(record, start, options.data, settings)) {
    verify_document_store(store, *record);
    text = {load_tokenizers(store), *record};
  } else {
    const auto texts = single_files(options.data.train);
    require_regular_files(texts);
    text.tokenizers = tokenizers_of(options, start);
    DocumentStoreOptions how{.unit = options.data.unit,
                             .invalid = options.data.invalid_utf8,
                             .threads = start.threads,
                             .settings = settings,
                             .stop = start.stop};
    if (start.resumed) how.expected_training = start.resumed->training;
    if (start.resumed) how.expected_validation = start.resumed->validation;
    text.record = write_document_store(store, {options.data.train, options.data.valid}, text.tokenizers, how);
  }
  trim_memory();
  const auto describe = [](const char* name, const DocumentStoreRecord::Part& part) {
    if (part.unknown > 0)
      log_warning("{} text: {} of {} are not in the vocabulary; the model can't tell their texts apart", name,
                  part.unknown, counted(part.tokens, "token"));
    log_info("{} text: {}, {}, {} bytes", name, counted(part.documents, "text"), counted(part.tokens, "token"),
             part.bytes);
  };
  describe("training", text.record.training);
  if (text.record.validation.documents > 0) describe("validation", text.record.validation);
  log_info("vocabulary: {}", counted(text.tokenizers.target->vocab_size(), "token"));
  return text;
}

/// Returns the config of the run's model. If training starts from the model folder `from`, this is that model's
/// config with the dropout rates of `options`.
ModelConfig config_of(const LanguageModelOptions& options, const std::string& from,
                      const Tokenizers& tokenizers) {
  ModelConfig config;
  static_cast<Architecture&>(config) = options.model;
  config.generation = options.generation;
  if (!from.empty()) {
    config = load_model_config(from);
    config.dropout = options.model.dropout;
    config.attention_dropout = options.model.attention_dropout;
    config.activation_dropout = options.model.activation_dropout;
  }
  bind_tokenizers(config, tokenizers);
  if (from.empty() && config.decoder_start_token == ModelConfig::zero_start)
    config.decoder_start_token = tokenizers.target->bos();
  config.context_tokens = options.data.block_tokens;
  config.text_unit = options.data.unit;
  require(config.positions != Positions::learned || config.max_positions >= config.context_tokens,
          "{}: has {} learned positions, but data.block_tokens is {}; choose fewer", from, config.max_positions,
          config.context_tokens);
  return config;
}

class LanguageModel : public Task {
 public:
  LanguageModel(const LanguageModelOptions& options, const TaskStart& start, LanguageModelText text)
      : tokenizers_(text.tokenizers),
        config_(config_of(options, start.model, tokenizers_)),
        record_(std::move(text.record)),
        train_(dataset(options, store_of(start), false)) {
    if (record_.validation.documents > 0) valid_.emplace(dataset(options, store_of(start), true));
    for (const std::string& setting : without_effect(config_))
      log_warning("model.{}; the setting has no effect", setting);
  }

  const ModelConfig& model_config() const override { return config_; }
  const Dataset& training_data() const override { return train_; }
  const Dataset* validation_data() const override { return valid_ ? &*valid_ : nullptr; }

  void write(const std::string& folder) const override { save_tokenizers(tokenizers_, folder); }
  std::string history() const override {
    nlohmann::ordered_json text;
    text["texts"] = record_.training.documents;
    for (const FileStamp& file : record_.training.files)
      text["text"].push_back({{"path", file.path}, {"bytes", file.bytes}, {"hash", file.hash}});
    return text.dump();
  }

 private:
  BlockDataset dataset(const LanguageModelOptions& options, const std::string& store, bool validation) const {
    const auto& part = validation ? record_.validation : record_.training;
    return {map_documents(store, validation),
            tokenizers_,
            {.unit = options.data.unit,
             .tokens = options.data.block_tokens,
             .ends = config_.target_ends(),
             .shifts = !validation && options.data.shuffle},
            part.hash};
  }

  Tokenizers tokenizers_;
  ModelConfig config_;
  DocumentStoreRecord record_;
  BlockDataset train_;
  std::optional<BlockDataset> valid_;
};

}  // namespace

LanguageModelConfig::LanguageModelConfig(const LanguageModelOptions& options)
    : options_((validate(options), options)) {}

OptionNode LanguageModelConfig::read_stored(OptionNode stored) const {
  LanguageModelOptions options;
  read_options(stored, options);
  return write_options(options);
}

OnResume LanguageModelConfig::on_resume(std::string_view key) const {
  if (std::ranges::find(taking_effect, key) != std::end(taking_effect)) return OnResume::takes_effect;
  return std::ranges::find(input_files, key) != std::end(input_files) ? OnResume::input_file
                                                                      : OnResume::refused;
}

bool LanguageModelConfig::is_data_file(std::string_view name) const { return is_document_store_file(name); }

void LanguageModelConfig::verify(const std::string& folder) const {
  load_bound_tokenizers(folder, load_model_config(folder));
}

std::unique_ptr<Task> LanguageModelConfig::open(const TaskStart& start) const {
  return std::make_unique<LanguageModel>(options_, start, read_text(options_, start));
}

}  // namespace sixfold
