// The task question_answering: what it learns, what it resumes, and what it refuses.
#include "tasks/question_answering/task.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/random.h"
#include "data/question_reader.h"
#include "error_message.h"
#include "metrics/answers.h"
#include "model_folder/model_folder.h"
#include "tasks/classification/task.h"
#include "tasks/masked_language_model/task.h"
#include "tasks/question_answering/question_answerer.h"
#include "tasks/tasks.h"
#include "temporary_folder.h"
#include "train/trainer.h"
#include "train/training_log.h"

namespace sixfold {
namespace {

using Texts = std::vector<std::string>;

class QuestionAnsweringTask : public testing::Test {
 protected:
  QuestionAnsweringTask() {
    write_questions(folder_ / "train.tsv", 200, 1);
    write_questions(folder_ / "valid.tsv", 40, 2);
    set(options_);
    options_.data.train = {folder_ / "train.tsv"}, options_.data.valid = {folder_ / "valid.tsv"};
    options_.answers.max_tokens = 4;
  }
  template <class Options>
  static void set(Options& options) {
    options.model.d_model = 16, options.model.d_ff = 32, options.model.heads = 2;
    options.model.encoder_layers = 1;
    options.model.dropout = 0;
    options.tokenizer.kind = TokenizerKind::whitespace;
    options.tokenizer.vocab_size = 0;
    options.data.batch_tokens = 300;
    options.train.updates = 24;
    options.train.threads = 1;
    options.train.precision = Precision::fp32;
    options.schedule.kind = ScheduleKind::constant;
    options.schedule.learning_rate = 5e-3;
    options.schedule.warmup = 3;
    options.checkpoint.every_updates = 10;
    options.validation.every_updates = 12;
  }
  /// Texts of words among which are a colour and, elsewhere, one or two numbers; questions for either.
  static void write_questions(const std::string& path, int texts, uint64_t seed) {
    RandomStream random(seed, 0);
    std::string lines;
    for (int i = 0; i < texts; ++i) {
      const std::string colour = random.below(2) > 0 ? "red" : "blue",
                        number = random.below(2) > 0 ? "7" : "7 8";
      const bool swap = random.below(2) > 0;
      const auto words = [&] {
        std::string all;
        for (uint32_t count = 1 + random.below(3); count > 0; --count)
          all += std::string(1, static_cast<char>('a' + random.below(6))) + " ";
        return all;
      };
      const std::string text =
          words() + (swap ? number : colour) + " " + words() + (swap ? colour : number) + " " + words();
      lines += text + "\thow many ?\t" + number + "\n" + text + "\twhich colour ?\t" + colour + "\n";
    }
    write_file_atomically(path, lines);
  }
  TrainOutcome answer(const std::string& name, bool resume = false) const {
    return train(QuestionAnsweringConfig(options_), {.run = folder_ / name, .resume = resume});
  }
  std::string weights(const std::string& name, int update = 24) const {
    return read_file(folder_ / name + fmt::format("/checkpoints/update-{:09}/model.safetensors", update));
  }
  double last_score(const std::string& name, const std::string& metric) const {
    return read_training_log(folder_ / name + "/train.jsonl").at("validation " + metric).values.back();
  }
  static std::string log_of(const auto& run) {
    testing::internal::CaptureStderr();
    run();
    return testing::internal::GetCapturedStderr();
  }

  TemporaryFolder folder_;
  QuestionAnsweringOptions options_;
};

TEST_F(QuestionAnsweringTask, HasTheModelOfItsOptions) {
  std::filesystem::create_directories(folder_ / "run");
  options_.data.max_tokens = 40;
  const auto task = QuestionAnsweringConfig(options_).open({.run = folder_ / "run", .model = ""});
  const ModelConfig& config = task->model_config();
  EXPECT_EQ(config.head.kind, OutputHead::span);
  EXPECT_EQ(config.decoder_layers, 0);
  EXPECT_EQ(config.context_tokens, 40);
  EXPECT_EQ(settings_of<AnswerSettings>(config).max_tokens, 4);
  EXPECT_EQ(task->training_data().size(), 400);
  EXPECT_EQ(task->validation_data()->size(), 80);
  EXPECT_EQ(task->metrics(), (Texts{"squad_exact_match", "squad_f1"}));
}

TEST_F(QuestionAnsweringTask, LearnsToAnswer) {
  options_.train.updates = 200;
  const QuestionAnswerer answerer(answer("run").model, {.threads = 1});
  EXPECT_EQ(last_score("run", "squad_exact_match"), 100);
  EXPECT_EQ(last_score("run", "squad_f1"), 100);
  const std::vector<TextQuestion> questions{{"a red b c 7 8 d", "how many ?"},
                                            {"a red b c 7 8 d", "which colour ?"}};
  const auto answers = answerer.answers(questions);
  EXPECT_EQ(answers[0].text, "7 8");
  EXPECT_EQ(answers[0].begin, 10u);
  EXPECT_EQ(answers[1].text, "red");
}

/// Validation counts as the facade answers, and as SQuAD's script scores.
TEST_F(QuestionAnsweringTask, ValidatesByItsAnswers) {
  options_.data.max_tokens = 14;  // windows
  options_.answers.stride = 2;
  options_.train.updates = options_.validation.every_updates = 8;
  const QuestionAnswerer answerer(answer("run").model, {.threads = 1});
  int questions = 0;
  double exact = 0;
  QuestionReader reader({folder_ / "valid.tsv"}, InvalidUtf8::error);
  for (Passage text; reader.next(text);)
    for (const PassageQuestion& one : text.questions) {
      const TextQuestion question{text.text, one.text};
      exact += normalize_answer(answerer.answers(std::span(&question, 1))[0].text) ==
               normalize_answer(one.answers[0].text);
      ++questions;
    }
  EXPECT_EQ(questions, 80);
  EXPECT_GT(exact, 0);
  EXPECT_LT(exact, 80) << "a model that is not perfect tells the ways of counting apart";
  EXPECT_NEAR(last_score("run", "squad_exact_match"), 100 * exact / questions, 1e-9);
  EXPECT_GE(last_score("run", "squad_f1"), last_score("run", "squad_exact_match"));
}

TEST_F(QuestionAnsweringTask, ResumesBitForBit) {
  options_.model.dropout = 0.1f;
  options_.train.label_smoothing = 0.1f;
  answer("whole");
  options_.train.updates = 13;
  answer("resumed");
  options_.train.updates = 24;
  answer("resumed", true);
  EXPECT_TRUE(weights("whole") == weights("resumed"));
}

TEST_F(QuestionAnsweringTask, TrainsAlikeWithAnyNumberOfThreads) {
  answer("one");
  options_.train.threads = 2;
  answer("two");
  EXPECT_TRUE(weights("one") == weights("two"));
}

/// The text is needed once, and must be the same if it is read again.
TEST_F(QuestionAnsweringTask, ResumesWithItsData) {
  answer("whole");
  options_.train.updates = 13;
  answer("run");
  options_.train.updates = 24;
  write_file_atomically(folder_ / "train.tsv", "a b\tc\ta\n");
  answer("run", true);
  EXPECT_TRUE(weights("run") == weights("whole"));
  std::filesystem::remove_all(folder_ / "run/encoded-text");
  options_.train.updates = 30;
  const std::string error = error_message([&] { answer("run", true); });
  EXPECT_NE(error.find("is not the training data that the run began with"), std::string::npos) << error;
  write_questions(folder_ / "train.tsv", 200, 1);
  EXPECT_NO_THROW(answer("run", true));
}

TEST_F(QuestionAnsweringTask, StartsFromOtherEncoders) {
  MaskedLanguageModelOptions masked;
  set(masked);
  masked.data.train = {folder_ / "train.tsv"};
  masked.validation.every_updates = 0;
  const std::string pretrained = train(MaskedLanguageModelConfig(masked), {.run = folder_ / "masked"}).model;
  options_.start.model = pretrained;
  options_.train.updates = 1;
  EXPECT_NE(log_of([&] { answer("run"); }).find("does not have: qa_outputs.weight"), std::string::npos);
  EXPECT_EQ(load_model_config(folder_ / "run/model").source_tokenizer_hash,
            load_model_config(pretrained).source_tokenizer_hash);
  options_.start.freeze = {ModelPart::encoder, ModelPart::embeddings};
  answer("frozen");
  const auto tensors = [](const std::string& folder) {
    std::map<std::string, std::vector<double>> all;
    const auto backend = make_backend({.device = "reference"});
    const auto model = load_model(folder, backend);
    for (const Parameter& parameter : model->parameters())
      all[parameter.name] = parameter.tensor.to_doubles(*backend);
    return all;
  };
  const auto before = tensors(pretrained), frozen = tensors(folder_ / "frozen/model"),
             free = tensors(folder_ / "run/model");
  for (const auto& [name, values] : frozen) {
    if (name == "qa_outputs.weight") continue;
    EXPECT_EQ(values, before.at(name)) << name;
  }
  EXPECT_NE(free, frozen);
  // A model of the same kind keeps its head; another task keeps the encoder of this one.
  options_.start.model = folder_ / "run/model";
  options_.start.freeze.clear();
  EXPECT_EQ(log_of([&] { answer("again"); }).find("new weights"), std::string::npos);
  ClassificationOptions classes;
  set(classes);
  write_file_atomically(folder_ / "labelled", "x\ta b\ny\tc d\n");
  classes.data.train = {folder_ / "labelled"};
  classes.validation.every_updates = 0;
  classes.train.updates = 1;
  classes.start.model = folder_ / "run/model";
  const std::string log = log_of([&] { train(ClassificationConfig(classes), {.run = folder_ / "classes"}); });
  EXPECT_NE(log.find("does not have: classifier.weight"), std::string::npos) << log;
  EXPECT_EQ(labels_of(load_model_config(folder_ / "classes/model")), (Texts{"x", "y"}));
}

TEST_F(QuestionAnsweringTask, SaysWhatItCannotRead) {
  options_.train.updates = 1;
  options_.data.max_tokens = 10;
  write_file_atomically(
      folder_ / "train.tsv",
      "a b c d e f\twho ?\tb\na b c d e f g h\twho ?\ta b c d e f\na b\ta b c d e f g h\ta\n");
  const std::string log = log_of([&] { answer("run"); });
  EXPECT_NE(log.find("the loss leaves out 1 question, whose answers are longer than half a window"),
            std::string::npos)
      << log;
  EXPECT_NE(log.find("training data: the model reads only the beginning of 1 question"), std::string::npos)
      << log;
}

TEST_F(QuestionAnsweringTask, RefusesBadData) {
  const auto refuse = [&](const std::string& lines, const std::string& part) {
    write_file_atomically(folder_ / "train.tsv", lines);
    const std::string error = error_message([&] { answer("bad"); });
    EXPECT_NE(error.find(part), std::string::npos) << error;
  };
  refuse("a b\tc\td\n", "train.tsv:1: the answer 'd' is not in the text");
  refuse("a b\tc\n", "train.tsv:1: expected a text, a tab, a question, a tab and an answer");
  refuse("\n", "data.train: there is no text");
  write_file_atomically(folder_ / "train.json", R"({"data": [{"paragraphs": [{"context": "a"}]}]})");
  options_.data.train = {folder_ / "train.json"};
  EXPECT_NE(error_message([&] { answer("bad"); }).find("train.json: data[0].paragraphs[0]: 'qas' is missing"),
            std::string::npos);
}

TEST_F(QuestionAnsweringTask, IsReadFromAConfig) {
  const std::string path = folder_ / "config.yaml", stored = folder_ / "config.json";
  const auto write = [&](const std::string& yaml) {
    write_file_atomically(path, "task: question_answering\ndata: {train: [a]}\ntrain: {updates: 1}\n" + yaml);
  };
  const auto refuse = [&](const std::string& yaml, const std::string& part) {
    write(yaml);
    const std::string error = error_message([&] { read_task_config(path, {}); });
    EXPECT_NE(error.find(part), std::string::npos) << error;
  };
  refuse("model: {decoder_layers: 2}\n", "config.yaml:4: model.decoder_layers: a ");
  refuse("tokenizer: {joint: false}\n", "tokenizer.joint: a ");
  refuse("model: {encoder_layers: 0}\n", "model.encoder_layers is 0");
  refuse("answers: {stride: 0}\n", "answers.stride");
  refuse("answers: {max_tokens: 0}\n", "answers.max_tokens");
  refuse("model: {positions: learned, max_positions: 100, beyond_positions: error}\n",
         "model.max_positions is 100, but data.max_tokens is 384; there must be a position for each token");
  refuse("validation: {best_by: accuracy}\n", "validation.best_by");
  refuse("validation: {patience: 1}\n", "validation.patience: there is no validation data");
  refuse("sheep: 1\n", "sheep");
  write("model: {preset: tiny}\nanswers: {stride: 64}\n");
  const OptionNode options = read_task_config(path, {})->options();
  EXPECT_EQ(options.find_path("task")->text, "question_answering");
  EXPECT_EQ(options.find_path("model.decoder_layers")->text, "0");
  EXPECT_EQ(options.find_path("answers.stride")->text, "64");
  write_file_atomically(stored, to_json(options));
  EXPECT_EQ(to_json(read_task_config(stored, {})->options()), to_json(options));
}

}  // namespace
}  // namespace sixfold
