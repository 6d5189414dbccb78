// Models of embeddings are not trained, but other encoders are that start from them.
#include "tasks/embedding/task.h"

#include <gtest/gtest.h>

#include <map>

#include "base/file.h"
#include "error_message.h"
#include "program/small_embedder.h"
#include "tasks/tasks.h"
#include "temporary_folder.h"
#include "train/trainer.h"

namespace sixfold {
namespace {

using Tensors = std::map<std::string, std::vector<double>>;

Tensors tensors_of(const std::string& folder) {
  const auto backend = make_backend({.device = "reference"});
  const auto model = load_model(folder, backend);
  Tensors all;
  for (const Parameter& parameter : model->parameters())
    all[parameter.name] = parameter.tensor.to_doubles(*backend);
  return all;
}

class StartFromEmbeddings : public testing::Test {
 protected:
  StartFromEmbeddings() {
    write_small_embedder(start_, 3, true, [](ModelConfig& config) { config.head.dense = true; });
    write_file_atomically(folder_ / "labelled", "x\ta b\ny\tc d\n");
    write_file_atomically(folder_ / "text", "a b c\nd e f\n");
    write_file_atomically(folder_ / "questions", "a b c d\tb\tc\na b c d\ta\tb\n");
  }
  /// Trains a model of `task` that starts from the embeddings, with frozen weights of its encoder.
  std::string trained(const std::string& task, const std::string& data) {
    const std::string config = fmt::format(
        "task: {}\nstart: {{model: {}, freeze: [encoder]}}\ndata: {{train: [{}], "
        "batch_tokens: 100, {}: 16}}\ntrain: {{updates: 2, threads: 1, precision: fp32}}\n",
        task, start_, folder_ / data, task == "masked_language_model" ? "block_tokens" : "max_tokens");
    write_file_atomically(folder_ / "config.yaml", config);
    testing::internal::CaptureStderr();
    const std::string model =
        train(*read_task_config(folder_ / "config.yaml", {}), {.run = folder_ / task}).model;
    log_ = testing::internal::GetCapturedStderr();
    return model;
  }
  TemporaryFolder folder_;
  const std::string start_ = folder_ / "start";
  std::string log_;
};

/// The encoder is that of the embeddings; the head is new.
TEST_F(StartFromEmbeddings, EveryTaskOfAnEncoderCan) {
  const Tensors before = tensors_of(start_);
  const std::map<std::string, std::string> tasks{
      {"classification", "labelled"}, {"masked_language_model", "text"}, {"question_answering", "questions"}};
  for (const auto& [task, data] : tasks) {
    const std::string model = trained(task, data);
    const ModelConfig config = load_model_config(model);
    EXPECT_EQ(config.task, task);
    EXPECT_FALSE(config.head.dense) << "the map of the old head";
    size_t same = 0;
    for (const auto& [name, values] : tensors_of(model)) {
      if (!name.starts_with("encoder.")) continue;
      EXPECT_EQ(values, before.at(name)) << task << ": " << name;
      ++same;
    }
    EXPECT_EQ(same, before.size() - 3) << "all but the embedding, and the map of the old head";
    // The output of a masked language model is the embedding of its input, which is not new.
    const bool is_new = log_.find("new weights, which " + start_ + " does not have: ") != std::string::npos;
    EXPECT_EQ(is_new, task != "masked_language_model") << log_;
  }
}

TEST_F(StartFromEmbeddings, NoTaskOfADecoderCan) {
  for (const std::string task : {"translation", "language_model"}) {
    const std::string data =
        task == "translation" ? folder_ / "text" + ", " + folder_ / "text" : folder_ / "text";
    write_file_atomically(folder_ / "config.yaml",
                          fmt::format("{}start: {{model: {}}}\ndata: {{train: [{}]}}\ntrain: {{updates: 2}}\n",
                                      task == "translation" ? "" : "task: language_model\n", start_, data));
    const std::string error =
        error_message([&] { train(*read_task_config(folder_ / "config.yaml", {}), {.run = folder_ / task}); });
    EXPECT_TRUE(error.starts_with(start_ + ": is a model for the task 'embedding', not '" + task)) << error;
  }
}

TEST(EmbeddingTask, IsNotTrained) {
  const std::string error = error_message([] {
    train(*task_config_of(parse_yaml_options("task: embedding\ndata: {train: [a]}\n", "config.yaml"),
                          "config.yaml"),
          {});
  });
  EXPECT_EQ(error,
            "config.yaml:1: models of the task 'embedding' are imported, and not trained; train one of another "
            "task that starts from such a model (start.model), as classification can");
  EXPECT_EQ(find_task("embedding")->config_of, nullptr);
  const std::string unknown = error_message([] { trained_task("embeding", "--options"); });
  EXPECT_EQ(unknown.find("embedding'?"), std::string::npos) << unknown;
}

}  // namespace
}  // namespace sixfold
