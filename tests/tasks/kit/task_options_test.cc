#include "tasks/kit/task_options.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "tasks/tasks.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

using Texts = std::vector<std::string>;

/// What is said about the settings of a task, without the ends of the sentences.
Texts advice(const std::string& task, const Texts& settings, bool from_model = true) {
  const TemporaryFolder folder;
  const std::string path = folder / "config.yaml";
  write_file_atomically(path, "task: " + task + "\ndata: {train: [a, b]}\ntrain: {updates: 1}\n");
  Texts assignments = settings;
  if (from_model) assignments.emplace_back("start.model=m");
  Texts all;
  for (const std::string& line : read_task_config(path, assignments)->advice())
    all.push_back(line.substr(0, line.find_first_of(" ")));
  return all;
}

const Texts every_task{"translation",        "classification",       "masked_language_model",
                       "question_answering", "image_classification", "image_captioning",
                       "language_model"};

/// The defaults of a task and those of a preset are nobody's choice.
TEST(TaskAdvice, NamesNothingThatNobodySet) {
  for (const std::string& task : every_task) {
    EXPECT_EQ(advice(task, {}), Texts()) << task;
    EXPECT_EQ(advice(task, {}, false), Texts()) << task;
    EXPECT_EQ(advice(task, {"model.preset=big"}), Texts{"model.preset"}) << task;
    EXPECT_EQ(
        advice(task, {"model.dropout=0.3", "model.attention_dropout=0.2", "model.activation_dropout=0.1"}),
        Texts())
        << task;
  }
}

/// The keys that `train --options` prints are a config, and so is what a run stores.
TEST(TaskOptions, AreReadAgain) {
  const TemporaryFolder folder;
  const std::string path = folder / "config.yaml";
  for (const TaskEntry& task : builtin_tasks()) {
    if (!task.is_trained()) continue;
    write_file_atomically(path, to_documented_yaml(task.default_options()));
    const Texts needed{"data.train=[a, b]", "train.updates=1"};
    const OptionNode options = read_task_config(path, needed)->options();
    write_file_atomically(path, to_json(options));
    EXPECT_EQ(to_json(read_task_config(path, {})->options()), to_json(options));
  }
}

TEST(TaskAdvice, NamesTheArchitectureBesideAModel) {
  const Texts settings{"model.kv_heads=2",   "model.activation=gelu", "model.norm=rms",
                       "model.positions=t5", "model.preprocess=norm", "model.embedding_scale=false"};
  const Texts keys{"model.kv_heads",  "model.activation", "model.norm",
                   "model.positions", "model.preprocess", "model.embedding_scale"};
  for (const std::string& task : every_task) {
    EXPECT_EQ(advice(task, settings), keys) << task;
    EXPECT_EQ(advice(task, settings, false), Texts()) << task;
  }
  EXPECT_EQ(advice("translation", {"model.preset=small", "model.d_model=512"}),
            (Texts{"model.preset", "model.d_model"}));
  EXPECT_EQ(advice("image_captioning", {"model.positions=sinusoidal"}), Texts{"model.positions"});
  for (const char* task : {"classification", "image_classification"})
    EXPECT_EQ(advice(task, {"classifier.activation=gelu"}), Texts{"classifier.activation"});
}

TEST(TaskAdvice, NamesTheTokenizerBesideAModel) {
  for (const std::string& task : every_task) {
    if (task == "image_classification") continue;  // has no tokenizer
    const Texts settings{"tokenizer.kind=whitespace", "tokenizer.vocab_size=99"};
    EXPECT_EQ(advice(task, settings), (Texts{"tokenizer.kind", "tokenizer.vocab_size"})) << task;
    EXPECT_EQ(advice(task, settings, false), Texts()) << task;
  }
  EXPECT_EQ(advice("classification", {"tokenizer.normalization=nfkc"}), Texts{"tokenizer.normalization"});
  EXPECT_EQ(advice("classification", {"tokenizer.byte_fallback=false"}), Texts{"tokenizer.byte_fallback"});
  EXPECT_EQ(advice("translation", {"tokenizer.joint=false", "tokenizer.target_normalization=nfkc"}),
            (Texts{"tokenizer.joint", "tokenizer.target_normalization"}));
}

TEST(TaskAdvice, NamesGenerationWhereItHasNoEffect) {
  const Texts settings{"generation.beam_size=3", "generation.length_factor=2", "generation.length_offset=9",
                       "generation.min_new_tokens=5"};
  for (const std::string task : {"classification", "masked_language_model", "question_answering"})
    EXPECT_EQ(advice(task, settings, false), (Texts{"generation.beam_size", "generation.length_factor",
                                                    "generation.length_offset", "generation.min_new_tokens"}));
  EXPECT_EQ(advice("language_model", settings, false),
            (Texts{"generation.beam_size", "generation.length_factor", "generation.length_offset"}));
  for (const std::string task : {"translation", "image_captioning"})
    EXPECT_EQ(advice(task, settings, false), Texts()) << task;
  for (const std::string task : {"translation", "classification", "language_model"})
    EXPECT_EQ(advice(task, settings), Texts{"generation"}) << task;
}

}  // namespace
}  // namespace sixfold
