#include "tasks/translation/task.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/check/checks.h"
#include "data/pair_dataset.h"
#include "model/describe.h"
#include "model_folder/binding.h"
#include "tasks/translation/alignment_layer.h"
#include "tasks/translation/confidence.h"
#include "tasks/translation/data.h"
#include "tasks/translation/lossless_shortlist.h"
#include "tasks/translation/scores.h"
#include "tasks/translation/settings.h"

namespace sixfold {
namespace {

/// Returns the config of the run's model. It is based on that of the model folder `start.model`, if there is
/// one.
ModelConfig config_of(const TranslationOptions& options, const TaskStart& start, const Tokenizers& tokenizers) {
  ModelConfig config = initial_config(options.model, options.generation, start.model);
  if (!start.model.empty() && !start.resumed)
    config.generation.alignment_layer = GenerationConfig().alignment_layer;  // `measure` finds it
  bind_tokenizers(config, tokenizers);
  config.task = TranslationSettings::task;
  TranslationSettings settings = settings_for(config, options.data);
  settings.confidence.clear();  // `measure` fits it
  config.settings = write_options(settings);
  if (!settings.language_token.empty())
    config.generation.forced_first_token =
        layout_of(settings, config.generation, *tokenizers.source).target_language;
  require(config.tied_embeddings != TiedEmbeddings::all || tokenizers.joint,
          "model.tied_embeddings: 'all' needs a joint vocabulary; set it to decoder or none{}",
          options.tokenizers_from().empty() ? ", or tokenizer.joint to true" : "");
  return config;
}

/// Throws an input error that names the first pair that has more tokens than the model has positions.
void require_positions_for(const ModelConfig& config, const TokenCorpus& corpus, const std::string& key) {
  if (!config.limits_length()) return;
  for (int64_t i = 0; i < corpus.size(); ++i) {
    const int64_t tokens = std::max(std::ssize(corpus.source[i]), std::ssize(corpus.target[i]) + 1);
    if (tokens > config.max_positions)
      require_positions(config, tokens, fmt::format("{}: pair {} of those that are kept", key, i + 1));
  }
}

/// The maximum number of tokens of each side of a pair, as `config` and the teacher have positions for them.
int64_t max_side_tokens(const ModelConfig& config, const TranslationOptions& options) {
  int64_t most = options.data.max_length;
  const auto limit = [&](const ModelConfig& c) {
    if (c.limits_length()) most = std::min<int64_t>(most, c.max_positions - 1);
  };
  limit(config);
  if (const std::string& teacher = options.teacher.model; !teacher.empty()) limit(load_model_config(teacher));
  return most;
}

class TranslationTask : public Task {
 public:
  TranslationTask(const TranslationOptions& options, const TaskStart& start, TranslationData data)
      : validation_(options.validation),
        several_languages_(!options.data.languages.empty()),
        wants_shortlist_(options.data.shortlist),
        stop_(start.stop),
        tokenizers_(data.tokenizers),
        config_(config_of(options, start, tokenizers_)),
        record_(std::move(data.record)),
        layout_(std::move(data.layout)),
        train_(std::move(data.train), tokenizers_, config_.target_ends(), record_.hash,
               {options.data.token_dropout, options.train.seed}, layout_,
               {options.data.subword_sampling, options.train.seed, max_side_tokens(config_, options)}),
        valid_text_(std::move(data.valid_text)),
        valid_(std::move(data.valid), tokenizers_, config_.target_ends(), data.valid_hash) {
    require_positions_for(config_, train_.corpus(), "data.train");
    require_positions_for(config_, valid_.corpus(), "data.valid");
    if (const ParallelText& text = valid_text_; text.size() > 0)
      validation_.try_program({tokenizers_.target->join(text.target[0])}, {text.source[0]}, start.stop);
  }

  const ModelConfig& model_config() const override { return config_; }
  const Dataset& training_data() const override { return train_; }
  const Dataset* validation_data() const override { return valid_.corpus().size() > 0 ? &valid_ : nullptr; }

  std::vector<std::string> metrics() const override { return validation_.metrics.chosen; }
  Evaluation evaluate(const Transformer& model, const EvaluationRun& run) const override {
    return evaluate_translation(model, tokenizers_, {valid_text_, valid_.corpus(), layout_, several_languages_},
                                validation_, run);
  }
  int64_t score_bytes(int64_t part_tokens) const override {
    return std::max(translation_score_bytes(config_, valid_.corpus(), validation_, part_tokens),
                    wants_shortlist_ ? shortlist_bytes(train_.corpus()) : 0);
  }

  void measure(Transformer& model) const override {
    model.pack();
    model.set_generation(with_alignment_layer(model, tokenizers_));
    auto settings = settings_of<TranslationSettings>(model.config());
    SearchOptions search{.rules = model.config().generation};
    measure_if_possible("shortlist", [&] {
      if (wants_shortlist_)
        shortlist_ =
            lossless_shortlist(model, *tokenizers_.target, train_.corpus(), referenced_text(), search, stop_);
    });
    search.shortlist = shortlist_ ? &*shortlist_ : nullptr;
    measure_if_possible("confidence of its translations", [&] {
      settings.confidence = fit_confidence(model, tokenizers_, referenced_text(), search, stop_);
    });
    model.discard_packed();
    model.set_settings(write_options(settings));
  }
  int64_t measure_tokens() const override {
    const int beam_size = config_.generation.beam_size;
    return translation_tokens(referenced_text(), beam_size) +
           (wants_shortlist_ ? shortlist_tokens(train_.corpus(), referenced_text(), beam_size) : 0);
  }
  void write(const std::string& folder) const override {
    save_tokenizers(tokenizers_, folder);
    if (shortlist_) save_shortlist(folder + "/" + Shortlist::file_name, *shortlist_, config_);
  }
  std::string history() const override {
    nlohmann::ordered_json text;
    text["pairs"] = record_.report.kept();
    for (const FileStamp& file : record_.files)
      text["text"].push_back({{"path", file.path}, {"bytes", file.bytes}, {"hash", file.hash}});
    return text.dump();
  }

 private:
  /// Training must not fail because of what is measured when it has ended.
  template <class Measure>
  static void measure_if_possible(const char* what, const Measure& measure) {
    try {
      measure();
    } catch (const Cancelled&) {
      throw;
    } catch (const Error& error) {
      log_warning("the model has no {}: {}", what, error.what());
    }
  }

  ReferencedText referenced_text() const {
    return {static_cast<size_t>(valid_text_.size()),
            [this](size_t line) {
              const auto ids = valid_.corpus().source[static_cast<int64_t>(line)];
              return std::vector<int32_t>(ids.begin(), ids.end());
            },
            [this](size_t line) { return tokenizers_.target->join(valid_text_.target[line]); }};
  }

  TranslationValidationOptions validation_;
  bool several_languages_, wants_shortlist_;
  const std::atomic<int>* stop_;
  Tokenizers tokenizers_;
  ModelConfig config_;
  TokenStoreRecord record_;
  PairLayout layout_;
  PairDataset train_;
  ParallelText valid_text_;
  PairDataset valid_;
  mutable std::optional<Shortlist> shortlist_;  // once `measure` has chosen one
};

void describe_translation(const ModelConfig& model, const InfoLine& line) {
  const auto settings = settings_of<TranslationSettings>(model);
  if (!settings.source_language.empty() && !settings.target_language.empty())
    line("translates", fmt::format("{} to {}", settings.source_language, settings.target_language));
  if (!settings.directions.empty()) line("translates", join(settings.directions));
  line("search", describe_search(model.generation));
  line("aligns",
       fmt::format("words by decoder layer {} of 0 to {}", model.alignment_layer(), model.decoder_layers - 1));
  line("confidence", settings.confidence.empty() ? "none; 'sixfold confidence' fits it"
                     : settings.confidence.size() != confidence_features + 1
                         ? "of another version; 'sixfold confidence' fits it again"
                         : "of translations: fitted");
}

}  // namespace

OptionNode TranslationConfig::read_stored(OptionNode stored) const {
  upgrade_translation_options(stored);
  return TaskConfigOf::read_stored(std::move(stored));
}

std::vector<Finding> TranslationConfig::check_data(const std::atomic<int>* stop) const {
  const ParallelDataOptions& data = options_.data;
  const std::vector<CorpusFiles> train = training_files(data), valid = files_of(data, data.valid, "data.valid"),
                                 test = files_of(data, data.test, "data.test");
  ParallelCheck check{.train = train,
                      .valid = valid,
                      .test = test,
                      .invalid = data.invalid_utf8,
                      .languages = {data.source_language, data.target_language},
                      .tokenizers = given_tokenizers(options_),
                      .drops_repeats = data.repeats == Repeats::drop,
                      .max_ratio = data.max_ratio,
                      .max_length = data.max_length,
                      .stop = stop};
  if (data.languages.empty()) return check_parallel(check);
  // Findings about languages are reported for each text, and all others once for all texts together.
  const auto is_about_languages = [](const Finding& finding) {
    return finding.id.starts_with("languages") || finding.id == "targets-shuffled" || finding.id == "scripts" ||
           finding.id == "length-ratio";
  };
  std::vector<Finding> all = check_parallel(check);
  std::erase_if(all, is_about_languages);
  check.is_direction = true;
  for (size_t i = 0; i < train.size(); ++i) {
    const auto one = [&](const std::vector<CorpusFiles>& texts) {
      return texts.empty() ? texts : std::vector{texts[i]};
    };
    const LanguagePair languages = *language_pair(data.languages[i]);
    check.languages = {languages.source, languages.target};
    check.train = one(train), check.valid = one(valid), check.test = one(test);
    for (Finding& finding : check_parallel(check))
      if (is_about_languages(finding)) all.push_back(std::move(finding));
  }
  return all;
}

void TranslationConfig::require_start(ModelConfig& config) const {
  require_task(config, TranslationSettings::network, options_.start.model);
}

bool TranslationConfig::is_data_file(std::string_view name) const { return is_token_store_file(name); }

std::unique_ptr<Task> TranslationConfig::open(const TaskStart& start) const {
  return std::make_unique<TranslationTask>(options_, start, read_translation_data(options_, start));
}

TaskEntry translation_entry() {
  return task_entry<TranslationConfig, translation_options_of>("translates text", "translate",
                                                               describe_translation);
}

}  // namespace sixfold
