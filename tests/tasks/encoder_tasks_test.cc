// Tasks that train an encoder alone: classification and masked language modelling.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/random.h"
#include "error_message.h"
#include "families/families.h"
#include "model_folder/derived.h"
#include "model_folder/model_folder.h"
#include "tasks/classification/classifier.h"
#include "tasks/classification/task.h"
#include "tasks/import_model.h"
#include "tasks/masked_language_model/mask_filler.h"
#include "tasks/masked_language_model/task.h"
#include "tasks/question_answering/task.h"
#include "tasks/tasks.h"
#include "tasks/translation/task.h"
#include "temporary_folder.h"
#include "train/trainer.h"
#include "train/training_log.h"

namespace sixfold {
namespace {

using Texts = std::vector<std::string>;

class EncoderTasks : public testing::Test {
 protected:
  EncoderTasks() {
    write_labelled(folder_ / "train", 300, 1);
    write_labelled(folder_ / "valid", 60, 2);
    write_text(folder_ / "text", 300);
    set(classes_);
    classes_.data.train = {folder_ / "train"}, classes_.data.valid = {folder_ / "valid"};
    set(masked_);
    masked_.data.train = {folder_ / "text"}, masked_.data.valid = {folder_ / "text"};
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
  /// The label of a text is that of its only word that has one.
  static void write_labelled(const std::string& path, int lines, uint64_t seed) {
    RandomStream random(seed, 0);
    std::string text;
    for (int i = 0; i < lines; ++i) {
      const uint32_t label = random.below(3);
      const uint32_t words = 2 + random.below(5), place = random.below(words);
      text += std::string(1, static_cast<char>('x' + label)) + "\t";
      for (uint32_t word = 0; word < words; ++word)
        text += std::string(1, static_cast<char>(word == place ? 'a' + label : 'k' + random.below(8))) + " ";
      text += "\n";
    }
    write_file_atomically(path, text);
  }
  /// Words in pairs: each word tells the other.
  static void write_text(const std::string& path, int lines) {
    RandomStream random(3, 0);
    std::string text;
    for (int i = 0; i < lines; ++i) {
      for (int pair = 0; pair < 4; ++pair) {
        const auto letter = static_cast<char>('a' + random.below(8));
        text += std::string{letter, ' ', static_cast<char>(letter - 'a' + 'A'), ' '};
      }
      text += "\n";
    }
    write_file_atomically(path, text);
  }
  TrainOutcome classify(const std::string& name, bool resume = false) const {
    return train(ClassificationConfig(classes_), {.run = folder_ / name, .resume = resume});
  }
  TrainOutcome mask(const std::string& name, bool resume = false) const {
    return train(MaskedLanguageModelConfig(masked_), {.run = folder_ / name, .resume = resume});
  }
  std::string weights(const std::string& name, int update = 24) const {
    return read_file(folder_ / name + fmt::format("/checkpoints/update-{:09}/model.safetensors", update));
  }
  double last_score(const std::string& name, const std::string& metric) const {
    return read_training_log(folder_ / name + "/train.jsonl").at("validation " + metric).values.back();
  }

  TemporaryFolder folder_;
  ClassificationOptions classes_;
  MaskedLanguageModelOptions masked_;
};

TEST_F(EncoderTasks, AClassifierHasTheLabelsOfItsTrainingData) {
  std::filesystem::create_directories(folder_ / "run");
  const auto task = ClassificationConfig(classes_).open({.run = folder_ / "run", .model = ""});
  const ModelConfig& config = task->model_config();
  EXPECT_EQ(config.head.kind, OutputHead::classes);
  EXPECT_EQ(labels_of(config), (Texts{"x", "y", "z"}));
  EXPECT_EQ(config.decoder_layers, 0);
  EXPECT_EQ(config.context_tokens, 512);
  EXPECT_EQ(task->training_data().size(), 300);
  EXPECT_EQ(task->validation_data()->size(), 60);
  EXPECT_EQ(task->metrics(), (Texts{"accuracy", "macro_f1"}));
}

TEST_F(EncoderTasks, LearnsToClassifyWithEveryPooling) {
  classes_.train.updates = 150;
  for (const Pooling pooling : {Pooling::first, Pooling::mean, Pooling::attention}) {
    classes_.classifier.pooling = pooling;
    const std::string name(name_of_enum(pooling));
    const Classifier classifier(classify(name).model, {.threads = 1});
    const auto found = classifier.classify(Texts{"k l a m", "b", "o c"});
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(found[i].label, classifier.labels()[i]) << name;
    EXPECT_EQ(last_score(name, "accuracy"), 100) << name;
    EXPECT_EQ(last_score(name, "macro_f1"), 100) << name;
  }
}

/// One whose network is that of BERT can be exported for transformers.
TEST_F(EncoderTasks, AClassifierAsThatOfBertIsExported) {
  classes_.train.updates = 150;
  classes_.tokenizer.kind = TokenizerKind::wordpiece;
  classes_.tokenizer.vocab_size = 60;
  classes_.model.positions = Positions::learned;
  classes_.model.postprocess_embedding = {ProcessStep::norm, ProcessStep::dropout};
  classes_.model.embedding_scale = false;
  classes_.data.max_tokens = 20;
  const std::string plain = classify("plain").model;
  EXPECT_NE(error_message([&] {
              export_hugging_face(plain, folder_ / "refused");
            }).find("as a BertForSequenceClassification: its head.dense is false"),
            std::string::npos);
  classes_.classifier.dense = true;
  const std::string model = classify("dense").model;
  EXPECT_EQ(last_score("dense", "accuracy"), 100);
  export_hugging_face(model, folder_ / "exported");
  import_hugging_face(folder_ / "exported", folder_ / "back");
  const Texts texts{"k l a m", "b", "o c"};
  const auto before = Classifier(model, {.threads = 1}).classify(texts),
             after = Classifier(folder_ / "back", {.threads = 1}).classify(texts);
  for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(before[i].probabilities, after[i].probabilities);
}

/// Of a pair of words, each tells the other.
TEST_F(EncoderTasks, LearnsToFillMasks) {
  masked_.train.updates = 500;
  const auto results =
      MaskFiller(mask("run").model, {.threads = 1}).fill(Texts{"a A <mask> B c C", "a A b B c C h <mask>"});
  EXPECT_EQ(results[0].text, "a A b B c C");
  EXPECT_EQ(results[1].text, "a A b B c C h H");
}

TEST_F(EncoderTasks, ResumeBitForBit) {
  classes_.model.dropout = masked_.model.dropout = 0.1f;
  classes_.classifier.pooling = Pooling::attention;
  classes_.classifier.dense = true;
  classify("classes"), mask("masked");
  classes_.train.updates = masked_.train.updates = 13;
  classify("classes-resumed"), mask("masked-resumed");
  classes_.train.updates = masked_.train.updates = 24;
  classify("classes-resumed", true), mask("masked-resumed", true);
  EXPECT_TRUE(weights("classes") == weights("classes-resumed"));
  EXPECT_TRUE(weights("masked") == weights("masked-resumed"));
}

TEST_F(EncoderTasks, TrainAlikeWithAnyNumberOfThreads) {
  classify("classes"), mask("masked");
  classes_.train.threads = masked_.train.threads = 2;
  classify("classes-2"), mask("masked-2");
  EXPECT_TRUE(weights("classes") == weights("classes-2"));
  EXPECT_TRUE(weights("masked") == weights("masked-2"));
}

/// Labels with other names, of the same texts, are other labels. The loss is weighted, as validation's.
TEST_F(EncoderTasks, AClassifierResumesWithItsOwnLabels) {
  classes_.data.class_weights = {"x=0.001", "y=0.001", "z=0.001"};
  classes_.log.every_updates = 5;
  classes_.train.updates = 13;
  classify("run");
  EXPECT_GT(read_training_log(folder_ / "run/train.jsonl").at("loss").values.back(), 0.05);
  std::string text = read_file(folder_ / "train"), valid = read_file(folder_ / "valid");
  for (std::string* one : {&text, &valid})
    for (char& c : *one)
      if (c >= 'x') c = static_cast<char>(c - 'x' + 'X');
  write_file_atomically(folder_ / "train", text);
  write_file_atomically(folder_ / "valid", valid);
  std::filesystem::remove_all(folder_ / "run/encoded-text");
  classes_.train.updates = 24;
  classes_.data.class_weights = {"X=0.001", "Y=0.001", "Z=0.001"};
  EXPECT_FALSE(error_message([&] { classify("run", true); }).empty());
  classes_.data.class_weights = {"x=0.001", "y=0.001", "z=0.001"};
  EXPECT_NE(
      error_message([&] { classify("run", true); }).find("the labels are not those that the run began with"),
      std::string::npos);
}

/// The text is needed once. Labels are part of what is stored.
TEST_F(EncoderTasks, ResumeWithTheDataThatTheyBeganWith) {
  classify("whole");
  classes_.train.updates = 13;
  classify("run");
  classes_.train.updates = 24;
  write_file_atomically(folder_ / "train", "other\ta\nx\tb\n");
  classify("run", true);
  EXPECT_TRUE(weights("run") == weights("whole"));
  std::filesystem::remove_all(folder_ / "run/encoded-text");
  classes_.train.updates = 30;
  const std::string error = error_message([&] { classify("run", true); });
  EXPECT_NE(error.find("is not the training data that the run began with"), std::string::npos) << error;
  write_labelled(folder_ / "train", 300, 1);
  EXPECT_NO_THROW(classify("run", true));
}

TEST_F(EncoderTasks, AClassifierRefusesLabelsThatItDoesNotLearn) {
  write_file_atomically(folder_ / "valid", "x\ta\nw\tb\n");
  EXPECT_NE(error_message([&] {
              classify("run");
            }).find("valid:2: the label 'w' does not occur in the training data"),
            std::string::npos);
  write_file_atomically(folder_ / "train", "x\ta\nx\tb\n");
  EXPECT_NE(error_message([&] { classify("one"); }).find("all texts have the label 'x'"), std::string::npos);
}

/// A balanced loss weighs rare labels as much as frequent ones.
TEST_F(EncoderTasks, AClassifierWeighsItsLabels) {
  const Texts labels{"a", "b"};
  EXPECT_EQ(class_weights({}, labels, {3, 1}), (std::vector<float>{1, 1}));
  EXPECT_EQ(class_weights({"balanced"}, labels, {3, 1}), (std::vector<float>{4.0f / 6, 2}));
  EXPECT_EQ(class_weights({"b=2.5"}, labels, {3, 1}), (std::vector<float>{1, 2.5}));
  const auto refuse = [&](const Texts& given, const std::string& part) {
    EXPECT_NE(error_message([&] { class_weights(given, labels, {3, 1}); }).find(part), std::string::npos);
  };
  refuse({"c=1"}, "data.class_weights: there is no label 'c' in the training data");
  refuse({"a"}, "expected 'balanced' alone or LABEL=FACTOR, found 'a'");
  refuse({"balanced", "a=2"}, "expected 'balanced' alone");
  refuse({"a=0"}, "'a=0': the factor must be a number above 0");
  refuse({"a=1x"}, "must be a number");
  refuse({"a=nan"}, "must be a number");
  refuse({"a=1", "a=2"}, "there are two factors for the label 'a'");
  EXPECT_EQ(class_weights({"a=2", "a=b=3"}, Texts{"a", "a=b"}, {1, 1}), (std::vector<float>{2, 3}));
  classes_.data.class_weights = {"y=100"};
  const Classifier classifier(classify("run").model, {.threads = 1});
  EXPECT_EQ(classifier.classify(Texts{"k"})[0].label, "y");
}

TEST_F(EncoderTasks, TextsThatAreTooLongAreCut) {
  classes_.data.max_tokens = 3;
  testing::internal::CaptureStderr();
  const Classifier classifier(classify("run").model, {.threads = 1});
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("texts have more than data.max_tokens or the positions allow, 3"), std::string::npos)
      << log;
  const auto found = classifier.classify(Texts{"k l m a b", "k l m", "  ", "k"});
  EXPECT_EQ(found[0].tokens_cut, 2u);
  EXPECT_EQ(found[0].probabilities, found[1].probabilities);
  EXPECT_EQ(found[2].error.value_or(""), "the text is empty");
  EXPECT_TRUE(found[2].label.empty());
  EXPECT_FALSE(found[3].label.empty());  // the others are served
}

/// A word is told by its neighbour.
TEST_F(EncoderTasks, LearnsToPredictMaskedTokens) {
  masked_.train.updates = 300;
  mask("run");
  const auto log = read_training_log(folder_ / "run/train.jsonl");
  const auto& losses = log.at("validation loss").values;
  EXPECT_GT(losses.front(), 2);
  // A pair may be masked as a whole; then its words are one of eight.
  EXPECT_LT(losses.back(), 0.9);
}

TEST_F(EncoderTasks, AClassifierStartsFromAMaskedLanguageModel) {
  masked_.data.train = {folder_ / "train"};  // its labels are words too
  masked_.data.valid = {};
  const std::string pretrained = mask("pretrained").model;
  classes_.start.model = pretrained;
  classes_.train.updates = 1;
  testing::internal::CaptureStderr();
  const std::string model = classify("run").model;
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("does not have: classifier.weight, classifier.bias"), std::string::npos) << log;
  const ModelConfig config = load_model_config(model);
  EXPECT_EQ(labels_of(config), (Texts{"x", "y", "z"}));
  EXPECT_EQ(config.source_tokenizer_hash, load_model_config(pretrained).source_tokenizer_hash);
  classes_.start.freeze = {ModelPart::encoder, ModelPart::embeddings};
  const std::string frozen = classify("frozen").model;
  const auto encoder = [](const std::string& folder) {
    return load_model(folder, make_backend({.device = "reference"}))
        ->parameters()[1]
        .tensor.to_doubles(*make_backend({.device = "reference"}));
  };
  EXPECT_EQ(encoder(frozen), encoder(pretrained));
  EXPECT_NE(encoder(model), encoder(pretrained));
}

/// A new output is trained beside the adapters, and kept with them.
TEST_F(EncoderTasks, AdaptersTrainAnOutputThatIsNew) {
  classes_.model.tied_embeddings = TiedEmbeddings::none;
  const std::string base = classify("base").model;
  masked_.model.tied_embeddings = TiedEmbeddings::none;
  masked_.data.train = {folder_ / "train"};
  masked_.data.valid = {};
  masked_.start.model = base;
  masked_.start.lora_rank = 2;
  masked_.train.updates = 4;
  const auto backend = make_backend({.device = "reference"});
  const auto weights_of = [&](const std::string& folder) {
    std::map<std::string, std::vector<double>> weights;
    const auto model = load_model(folder, backend);
    for (const Parameter& parameter : model->parameters())
      weights[parameter.name] = parameter.tensor.to_doubles(*backend);
    return weights;
  };
  const auto merged = weights_of(mask("merged").model);
  masked_.train.updates = 3;
  const auto shorter = weights_of(mask("shorter").model);
  ASSERT_TRUE(merged.contains("output_projection.weight"));
  EXPECT_NE(merged.at("output_projection.weight"), shorter.at("output_projection.weight"));
  masked_.train.updates = 4;
  masked_.start.lora_merge = false;
  EXPECT_EQ(weights_of(mask("apart").model), merged);
}

/// A BERT has few positions: by default it reads as many tokens as it has positions for.
TEST_F(EncoderTasks, AModelReadsAsManyTokensAsItHasPositions) {
  classes_.start.model = folder_ / "bert";
  import_model({.program = "hf", .path = SIXFOLD_TEST_GOLDENS "/hugging_face_families/bert_masked"},
               classes_.start.model);
  std::string text;
  for (int i = 0; i < 300; ++i) text += "k ";
  write_file_atomically(folder_ / "train", "x\ta\ny\t" + text + "\nz\tb\n");
  classes_.train.updates = 1;
  testing::internal::CaptureStderr();
  const std::string model = classify("run").model;
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(
      log.find("reads at most 158 tokens of a text instead of data.max_tokens, 512: it has 160 positions"),
      std::string::npos)
      << log;
  EXPECT_NE(log.find("1 text has more than data.max_tokens or the positions allow, 158"), std::string::npos)
      << log;
  EXPECT_EQ(load_model_config(model).context_tokens, 158);
  const auto found = Classifier(model, {.threads = 1}).classify(Texts{text, "a"});
  EXPECT_GT(found[0].tokens_cut, 0u);
  EXPECT_FALSE(found[1].label.empty());
  QuestionAnsweringOptions questions;
  set(questions);
  questions.start.model = classes_.start.model;
  write_file_atomically(folder_ / "questions", text + "a\tb k\ta\n");
  questions.data.train = {folder_ / "questions"};
  questions.train.updates = 1, questions.validation.every_updates = 0;
  const std::string answers = train(QuestionAnsweringConfig(questions), {.run = folder_ / "answers"}).model;
  EXPECT_EQ(load_model_config(answers).context_tokens, 160) << "the tokens around texts count";
}

/// The rows of an output belong to labels or tokens: another output begins anew.
TEST_F(EncoderTasks, KeepOnlyAnOutputOfTheSameLabels) {
  const auto log_of = [](const auto& run) {
    testing::internal::CaptureStderr();
    run();
    return testing::internal::GetCapturedStderr();
  };
  const std::string start = classify("first").model;
  classes_.start.model = masked_.start.model = start;
  classes_.train.updates = masked_.train.updates = 1;
  EXPECT_EQ(log_of([&] { classify("same"); }).find("new weights"), std::string::npos);
  EXPECT_EQ(load_model_config(mask("masked").model).head.kind, OutputHead::vocabulary);
  std::string text = read_file(folder_ / "train");
  for (char& c : text)
    if (c == 'x') c = 'X';
  write_file_atomically(folder_ / "train", text);
  classes_.data.valid.clear();
  classes_.validation.every_updates = 0;
  const std::string log = log_of([&] { classify("other"); });
  EXPECT_NE(log.find("new weights, which " + start + " does not have: classifier.weight, classifier.bias"),
            std::string::npos)
      << log;
  EXPECT_NE(error_message([&] {
              average_models({start, folder_ / "other/model"}, folder_ / "mean");
            }).find("labels differ"),
            std::string::npos);
  classes_.start.freeze = {ModelPart::head};
  EXPECT_NE(error_message([&] { classify("frozen"); }).find("start.freeze: the head"), std::string::npos);
  classes_.start.freeze = {ModelPart::decoder};
  EXPECT_NE(error_message([&] { classify("frozen"); }).find("has no decoder"), std::string::npos);
}

/// Also one with a vocabulary for each side, and with a decoder, which is left out.
TEST_F(EncoderTasks, StartFromATranslationModel) {
  TranslationOptions translation;
  set(translation);
  translation.model.decoder_layers = 1;
  translation.model.tied_embeddings = TiedEmbeddings::none;
  translation.tokenizer.joint = false;
  translation.data.train = {folder_ / "text", folder_ / "train"};
  translation.data.valid = {};
  translation.validation.every_updates = 0;
  translation.train.updates = 2;
  const std::string start = train(TranslationConfig(translation), {.run = folder_ / "translation"}).model;
  classes_.start.model = masked_.start.model = start;
  classes_.train.updates = masked_.train.updates = 3;
  testing::internal::CaptureStderr();
  const std::string masked = mask("masked").model;
  const std::string log = testing::internal::GetCapturedStderr();
  // The output of the translation model is that of the other vocabulary.
  EXPECT_NE(log.find("does not have: output_projection.weight"), std::string::npos) << log;
  for (const std::string& model : {classify("classes").model, masked}) {
    const ModelConfig config = load_model_config(model);
    EXPECT_EQ(config.decoder_layers, 0);
    EXPECT_EQ(config.source_tokenizer_hash, load_model_config(start).source_tokenizer_hash);
  }
}

TEST_F(EncoderTasks, RefuseWhatNeedsADecoder) {
  for (const std::string task : {"classification", "masked_language_model"}) {
    const auto refuse = [&](const std::string& yaml, const std::string& part) {
      const std::string path = folder_ / "config.yaml";
      write_file_atomically(path, "task: " + task + "\ndata: {train: [a]}\ntrain: {updates: 1}\n" + yaml);
      EXPECT_NE(error_message([&] { read_task_config(path, {}); }).find(part), std::string::npos)
          << error_message([&] { read_task_config(path, {}); });
    };
    refuse("model: {decoder_layers: 2}\n", "config.yaml:4: model.decoder_layers: a ");
    refuse("model: {decoder_mixer: lstm}\n", "has no decoder; remove the key");
    refuse("tokenizer: {joint: false}\n", "tokenizer.joint: a ");
    refuse("tokenizer: {target_normalization: nfkc}\n", "tokenizer.target_normalization: a ");
    refuse("model: {encoder_layers: 0}\n", "model.encoder_layers is 0");
    refuse("validation: {patience: 1}\n", "validation.patience: there is no validation data");
    refuse("sheep: 1\n", "sheep");
  }
}

/// What a run stores can be read as a config again.
TEST_F(EncoderTasks, AreReadFromAConfig) {
  const std::string path = folder_ / "config.yaml", stored = folder_ / "config.json";
  for (const std::string task : {"classification", "masked_language_model"}) {
    write_file_atomically(path, "task: " + task +
                                    "\nmodel: {preset: tiny}\ntokenizer: {normalization: nmt_nfkc_cf}\n"
                                    "data: {train: [a]}\ntrain: {updates: 1}\n");
    const OptionNode options = read_task_config(path, {})->options();
    EXPECT_EQ(options.find_path("task")->text, task);
    EXPECT_EQ(options.find_path("model.decoder_layers")->text, "0");
    EXPECT_EQ(options.find_path("model.d_model")->text, "128");
    EXPECT_EQ(options.find_path("tokenizer.target_normalization")->text, "nmt_nfkc_cf");
    write_file_atomically(stored, to_json(options));
    EXPECT_EQ(to_json(read_task_config(stored, {})->options()), to_json(options));
  }
}

}  // namespace
}  // namespace sixfold
