#include "tasks/question_answering/task.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "data/check/checks.h"
#include "data/question_dataset.h"
#include "model_folder/binding.h"
#include "tasks/kit/encoder_task.h"
#include "tasks/kit/text_data.h"
#include "tasks/question_answering/scores.h"

namespace sixfold {
namespace {

StoredText read_text(const QuestionAnsweringOptions& options, const TaskStart& start) {
  const QuestionDataOptions& data = options.data;
  const auto training_text = [&]() -> TextReader {
    return [&](const auto& use) {
      QuestionReader reader(data.train, data.invalid_utf8);
      for (Passage text; reader.next(text);) {
        throw_if_stopped(start.stop);
        use(without_line_ends(text.text));
        for (const PassageQuestion& question : text.questions) use(without_line_ends(question.text));
      }
    };
  };
  const auto encode = [&](const Tokenizers& tokenizers, const auto&) {
    return question_encoder(*tokenizers.source, data.invalid_utf8, start.threads);
  };
  return read_stored_text(
      start, {.files = {data.train, data.valid},
              .tokenizer = options.tokenizer,
              .tokenizers_from = options.tokenizers_from(),
              .settings = fmt::format("questions, invalid_utf8 {}", name_of_enum(data.invalid_utf8)),
              .training_text = training_text,
              .encode = encode});
}

/// Returns the config of the run's model: that of the checkpoint if the run is resumed, otherwise that of a new
/// model, which has the encoder of start.model if there is one.
ModelConfig config_of(const QuestionAnsweringOptions& options, const TaskStart& start, const StoredText& text) {
  ModelConfig config = initial_config(options.model, options.generation, start.model);
  if (!start.model.empty() && !start.resumed)
    keep_encoder(config, start.model, QuestionAnsweringOptions::task_name);
  bind_tokenizers(config, text.tokenizers);
  config.head.kind = OutputHead::span;
  AnswerSettings settings = options.answers;
  if (config.task == QuestionAnsweringOptions::task_name)  // the model was trained with them
    settings.separators = settings_of<AnswerSettings>(config).separators;
  config.task = QuestionAnsweringOptions::task_name;
  config.settings = write_options(settings);
  config.context_tokens = context_tokens_of(config, options.data.max_tokens, /*special_tokens=*/0);
  return config;
}

class QuestionAnsweringTask : public Task {
 public:
  QuestionAnsweringTask(const QuestionAnsweringOptions& options, const TaskStart& start, StoredText text)
      : validation_(options.validation),
        batch_tokens_(options.data.batch_tokens),
        tokenizers_(text.tokenizers),
        config_(config_of(options, start, text)),
        record_(std::move(text.record)),
        train_(dataset(encoded_data_of(start), false)) {
    if (record_.validation.documents > 0) valid_.emplace(dataset(encoded_data_of(start), true));
    describe(train_, "training");
    if (valid_) describe(*valid_, "validation");
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
    return {.scores = answer_scores(model, *valid_, validation_, max_batch_tokens(run.part_tokens), run)};
  }
  int64_t score_bytes(int64_t part_tokens) const override {
    return answer_score_bytes(*valid_, max_batch_tokens(part_tokens));
  }

  void write(const std::string& folder) const override { save_tokenizers(tokenizers_, folder); }
  std::string history() const override { return history_of(record_); }

 private:
  int64_t max_batch_tokens(int64_t part_tokens) const {
    return part_tokens > 0 ? std::min(batch_tokens_, part_tokens) : batch_tokens_;
  }
  QuestionDataset dataset(const std::string& store, bool validation) const {
    const auto& part = validation ? record_.validation : record_.training;
    return {map_sequences(store, validation),
            tokenizers_,
            {.bos = tokenizers_.source->bos(),
             .eos = tokenizers_.source->eos(),
             .tokens = config_.context_tokens,
             .stride = settings_of<AnswerSettings>(config_).stride,
             .separators = settings_of<AnswerSettings>(config_).separators},
            part.hash};
  }
  void describe(const QuestionDataset& data, const char* name) const {
    log_info("{} data: {}, in {} of at most {}", name, counted(data.questions(), "question"),
             counted(data.size(), "window"), counted(config_.context_tokens, "token"));
    if (const int64_t lost = data.without_window(); lost > 0)
      log_warning(
          "{} data: the loss leaves out {}, whose answers are longer than half a window; raise "
          "data.max_tokens",
          name, counted(lost, "question"));
    if (const int64_t longer = data.longer_answers(settings_of<AnswerSettings>(config_).max_tokens); longer > 0)
      log_warning(
          "{} data: the answers to {} are longer than {}, and the model can't give them; raise "
          "answers.max_tokens",
          name, counted(longer, "question"), counted(settings_of<AnswerSettings>(config_).max_tokens, "token"));
    if (const int64_t cut = data.cut(); cut > 0)
      log_warning(
          "{} data: the model reads only the beginning of {}: a question may have at most half of the {} "
          "tokens of a window",
          name, counted(cut, "question"), config_.context_tokens);
  }

  MetricValidationOptions validation_;
  int64_t batch_tokens_;
  Tokenizers tokenizers_;
  ModelConfig config_;
  SequenceStoreRecord record_;
  QuestionDataset train_;
  std::optional<QuestionDataset> valid_;
};

void describe_question_answering(const ModelConfig& model, const InfoLine& line) {
  const auto settings = settings_of<AnswerSettings>(model);
  line("answers",
       fmt::format("questions about texts, read in windows of {}, one every {} tokens; answers of at most {}",
                   counted(model.context_tokens, "token"), settings.stride,
                   counted(settings.max_tokens, "token")));
}

}  // namespace

std::vector<Finding> QuestionAnsweringConfig::check_data(const std::atomic<int>* stop) const {
  const QuestionDataOptions& data = options_.data;
  return check_questions(
      {.train = data.train, .valid = data.valid, .invalid = data.invalid_utf8, .stop = stop});
}

HeadConfig QuestionAnsweringConfig::expected_head() const { return {.kind = OutputHead::span}; }

bool QuestionAnsweringConfig::is_data_file(std::string_view name) const { return is_sequence_store_file(name); }

std::unique_ptr<Task> QuestionAnsweringConfig::open(const TaskStart& start) const {
  return std::make_unique<QuestionAnsweringTask>(options_, start, read_text(options_, start));
}

TaskEntry question_answering_entry() {
  return task_entry<QuestionAnsweringConfig, question_answering_options_of>(
      "answers questions about texts", "answer", describe_question_answering);
}

}  // namespace sixfold
