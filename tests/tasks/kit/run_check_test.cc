#include "tasks/kit/run_check.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
#include "tasks/tasks.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

/// Each task looks at its run: a large model and no time are found with any data.
TEST(RunCheck, OfEachTask) {
  const TemporaryFolder folder;
  const auto put = [&](const std::string& name, const std::string& text) {
    write_file_atomically(folder / name, text);
    return folder / name;
  };
  const std::string text = put("text", "a dog\n"), labelled = put("labelled.tsv", "x\ta dog\ny\ta cat\n");
  const std::string questions = put("questions.tsv", "the dog is big\twho is big?\tdog\n");
  put("image.pgm", std::string("P5 4 4 255\n0123456789abcdef"));
  const std::string images = put("images", "image.pgm\n");
  for (const TaskEntry& task : builtin_tasks()) {
    if (!task.is_trained()) continue;
    SCOPED_TRACE(task.name);
    const bool reads_images = task.name.starts_with("image");
    std::string train = reads_images ? images + ", " + text : text;
    if (task.name == "translation") train = text + ", " + text;
    if (task.name == "classification") train = labelled;
    if (task.name == "question_answering") train = questions;
    const std::string config =
        put("config.yaml", "task: " + std::string(task.name) + "\ndata: {train: [" + train +
                               "]}\nmodel: {d_model: 4096, d_ff: 16384}\ntrain: {minutes: 0.01}\n");
    const std::vector<Finding> findings = read_task_config(config, {})->check({.folder = folder.path()});
    EXPECT_NE(std::ranges::find(findings, "too-few-updates", &Finding::id), findings.end())
        << to_text(findings);
  }
}

}  // namespace
}  // namespace sixfold
