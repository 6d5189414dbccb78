#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "program/shell.h"
#include "program/small_language_model.h"
#include "program/small_model.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

TEST(CheckCommand, SaysWhichSettingsHaveNoEffect) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a", "a b\nb c\n");
  write_file_atomically(folder / "b", "c d\nd e\n");
  const std::string config = folder / "run.yaml";
  write_file_atomically(
      config, "data: {train: [" + (folder / "a") + ", " + (folder / "b") + "]}\ntrain: {epochs: 1}\n");
  const Outcome none = sixfold("check " + config);
  EXPECT_EQ(none.status, 0) << none.text;
  const Outcome found = sixfold("check --json " + config + " --set data.shortlist=true");
  EXPECT_EQ(found.status, 3) << found.text;
  const auto findings = nlohmann::json::parse(found.text);
  ASSERT_EQ(findings.size(), 1u) << found.text;
  EXPECT_EQ(findings[0]["id"], "settings");
  EXPECT_EQ(findings[0]["severity"], "warning");
  EXPECT_EQ(findings[0]["text"],
            "data.shortlist has no effect without data.valid, with which lists are measured");
  // Whatever training warns of when it begins.
  for (const char* setting :
       {"schedule.factor=2", "schedule.kind=noam schedule.learning_rate=0.01", "teacher.temperature=2",
        "start.lora_alpha=4", "model.kernel_size=5", "train.r_drop=3 model.dropout=0",
        "train.epochs=0 train.updates=5 schedule.warmup=9",
        "train.r_drop=3 model.postprocess=[add,norm] "
        "model.postprocess_embedding=[]"}) {
    const Outcome outcome = sixfold("check --json " + config + " --set " + setting);
    EXPECT_EQ(outcome.status, 3) << setting;
    ASSERT_EQ(nlohmann::json::parse(outcome.text).size(), 1u) << outcome.text;
    EXPECT_EQ(nlohmann::json::parse(outcome.text)[0]["id"], "settings") << setting;
  }
  // Whatever training refuses before it reads the data.
  for (const char* setting : {"schedule.kind=plateau", "data.weights=1 data.temperature=2",
                              "data.weights=[1,2]", "'tokenizer.user_defined_symbols=[\"a b\"]'",
                              "tokenizer.vocab_size=3", "tokenizer.kind=characters tokenizer.vocab_size=4",
                              "tokenizer.target_normalization=nfkc", "generation.alignment_layer=9"})
    EXPECT_EQ(sixfold("check " + config + " --set " + setting).status, 2) << setting;
}

/// A run that starts from a model has its architecture, in which dropout may have no place.
TEST(CheckCommand, KnowsTheModelThatARunStartsFrom) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a", "a b\nb c\n");
  write_file_atomically(folder / "b", "c d\nd e\n");
  const std::string data = "data: {train: [" + (folder / "a") + ", " + (folder / "b") + "]}\n";
  write_file_atomically(folder / "first.yaml",
                        data +
                            "train: {updates: 1}\ntokenizer: {kind: whitespace, vocab_size: 0}\n"
                            "model: {d_model: 8, heads: 2, d_ff: 8, encoder_layers: 1, decoder_layers: 1, "
                            "postprocess_embedding: [], preprocess: [norm], postprocess: [add]}\n");
  ASSERT_EQ(sixfold("train " + (folder / "first.yaml") + " --output " + (folder / "first")).status, 0);
  write_file_atomically(folder / "next.yaml", data + "train: {updates: 1}\nstart: {model: " +
                                                  (folder / "first/model") + "}\nmodel: {dropout: 0.3}\n");
  const Outcome found = sixfold("check " + (folder / "next.yaml"));
  EXPECT_EQ(found.status, 3) << found.text;
  EXPECT_NE(found.text.find("model.dropout: no step"), std::string::npos) << found.text;
  EXPECT_NE(sixfold("check " + (folder / "next.yaml") + " --set train.r_drop=1")
                .text.find("train.r_drop has no effect"),
            std::string::npos);
}

/// The config names its files by absolute paths, so that the working folder does not matter.
TEST(CheckCommand, NeedsNoWorkingFolder) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a", "a b\nb c\n");
  write_file_atomically(folder / "run.yaml", "data: {train: [" + (folder / "a") + ", " + (folder / "a") +
                                                 "]}\ntrain: {epochs: 1}\n");
  const Outcome outcome = shell("mkdir " + (folder / "gone") + " && cd " + (folder / "gone") +
                                " && rmdir ../gone && " SIXFOLD_BINARY " check " + (folder / "run.yaml"));
  EXPECT_EQ(outcome.status, 0) << outcome.text;
}

/// What training would refuse after it has encoded the text.
TEST(CheckCommand, KnowsTheModelsThatARunReads) {
  const TemporaryFolder folder;
  write_small_model(folder / "model", 1);
  write_small_language_model(folder / "language", 1);
  std::string text;
  for (int i = 0; i < 50; ++i) text += "a b c\nb c d\n";
  write_file_atomically(folder / "a", text);
  write_file_atomically(folder / "run.yaml", "data: {train: [" + (folder / "a") + ", " + (folder / "a") +
                                                 "]}\ntrain: {updates: 9}\n");
  const auto found = [&](const std::string& settings) {
    return sixfold("check " + (folder / "run.yaml") + " --set " + settings).text;
  };
  const std::string adapters =
      "start.model=" + (folder / "model") + " start.lora_rank=2 start.lora_projections=";
  EXPECT_NE(found(adapters + "[q_proj,nonsense]").find("'nonsense' is not a linear map"), std::string::npos);
  EXPECT_EQ(found(adapters + "[q_proj]").find("lora-projections"), std::string::npos);
  EXPECT_NE(found("teacher.model=" + (folder / "language")).find("is a model of the task language_model"),
            std::string::npos);
  EXPECT_EQ(found("teacher.model=" + (folder / "model")).find("teacher-model"), std::string::npos);
}

}  // namespace
}  // namespace sixfold
