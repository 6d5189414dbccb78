#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "parallel_text.h"
#include "program/shell.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

class SweepCommand : public testing::Test {
 protected:
  SweepCommand() {
    write_parallel_text(folder_ / "train.a", folder_ / "train.b", 60, 1);
    write_parallel_text(folder_ / "valid.a", folder_ / "valid.b", 10, 2);
    write_file_atomically(sweep_, "base:\n" + config(6) +
                                      "rows:\n"
                                      "  base: {}\n"
                                      "  heads-1: {model.heads: 1}\n"
                                      "  wide: {model.d_model: 16, model.d_ff: 32}\n");
  }

  /// A config whose lines begin with two spaces.
  std::string config(int updates) const {
    return fmt::format(R"(  model: {{d_model: 8, d_ff: 16, heads: 2, encoder_layers: 1, decoder_layers: 1}}
  tokenizer: {{kind: whitespace, vocab_size: 0}}
  generation: {{length_factor: 0, length_offset: 4}}
  data: {{train: [{0}/train.a, {0}/train.b], valid: [{0}/valid.a, {0}/valid.b], batch_tokens: 200}}
  train: {{updates: {1}, threads: 1, precision: fp32}}
  checkpoint: {{every_updates: 2}}
  validation: {{every_updates: 3, metrics: [loss, perplexity, bleu]}}
)",
                       folder_.path().string(), updates);
  }
  Outcome sweep(const std::string& arguments) const {
    return sixfold("sweep " + arguments + " --output " + output_);
  }
  std::string model_of(const std::string& name) const {
    return output_ + "/" + name + "/model/model.safetensors";
  }
  nlohmann::json rows() const { return nlohmann::json::parse(read_file(output_ + "/table.json")).at("rows"); }
  static bool says(const Outcome& outcome, const std::string& part) {
    return outcome.text.find(part) != std::string::npos;
  }

  TemporaryFolder folder_;
  const std::string sweep_ = folder_ / "sweep.yaml", output_ = folder_ / "out";
};

TEST_F(SweepCommand, TrainsEachRecipeAndComparesThem) {
  const Outcome outcome = sweep(sweep_ + " --test " + (folder_ / "valid.a") + "," + (folder_ / "valid.b"));
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  for (const char* part : {"recipe 1 of 3, base", "recipe 3 of 3, wide", "| heads-1 | model.heads 1 |"})
    EXPECT_TRUE(says(outcome, part)) << part << "\n" << outcome.text;
  const auto rows = this->rows();
  ASSERT_EQ(rows.size(), 3u);
  for (const auto& row : rows) {
    EXPECT_TRUE(row.at("finished").get<bool>());
    EXPECT_EQ(row.at("updates"), 6);
    EXPECT_TRUE(row.at("test_bleu").is_number());
    EXPECT_TRUE(row.at("seconds").is_number());
    for (const char* score : {"loss", "perplexity", "bleu"})
      EXPECT_TRUE(row.at("validation").at(score).is_number());
  }
  EXPECT_EQ(rows[0].at("parameters"), rows[1].at("parameters"));
  EXPECT_GT(rows[2].at("parameters"), rows[0].at("parameters"));
  EXPECT_NE(read_file(output_ + "/table.md").find("nrefs:1|case:mixed"), std::string::npos);
  EXPECT_NE(read_file(output_ + "/table.svg").find("BLEU (test)"), std::string::npos);
  // The validation scores are those of the log.
  const std::string log = read_file(output_ + "/wide/train.jsonl");
  EXPECT_NE(log.find(rows[2].at("validation").at("loss").dump()), std::string::npos) << log;
}

TEST_F(SweepCommand, GoesOnWhereItWasStopped) {
  // A smaller sweep, and a run of another that was stopped: what is left to do is trained, the rest is not.
  ASSERT_EQ(sweep(sweep_ + " --set train.updates=4").status, 0);
  const auto written = fs::last_write_time(model_of("base"));
  const Outcome again = sweep(sweep_ + " --set train.updates=4");
  ASSERT_EQ(again.status, 0) << again.text;
  EXPECT_TRUE(says(again, "recipe 2 of 3, heads-1: already trained")) << again.text;
  EXPECT_FALSE(says(again, "update 4")) << again.text;
  EXPECT_EQ(fs::last_write_time(model_of("base")), written);

  fs::remove_all(output_ + "/wide");  // as if it had not begun yet
  // The learning rates of the others are those of a run that was to end at update 4.
  expect_error(sweep(sweep_),
               "base and " + output_ +
                   "/wide differ in what was changed during the training (train.updates from 4 to 6 after "
                   "update 4, and nothing)");
  EXPECT_FALSE(fs::exists(output_ + "/wide"));
  const Outcome longer = sweep(sweep_ + " --may-differ changes");
  ASSERT_EQ(longer.status, 0) << longer.text;
  EXPECT_TRUE(says(longer, "resuming from " + output_ + "/base/checkpoints/update-000000004")) << longer.text;
  EXPECT_TRUE(says(longer, "wide: there is no checkpoint to resume from yet")) << longer.text;
  for (const auto& row : rows()) EXPECT_EQ(row.at("updates"), 6);
}

/// The runs, the table, and its scores stay as they are.
TEST_F(SweepCommand, OtherSettingsNeedAnotherFolder) {
  ASSERT_EQ(sweep(sweep_).status, 0);
  const std::string table_before = read_file(output_ + "/table.json"),
                    config_before = read_file(output_ + "/base/config.json");
  expect_error(
      sweep(sweep_ + " --set train.label_smoothing=0.3"),
      output_ + "/base: was trained with other settings of train.label_smoothing; give another --output");
  EXPECT_EQ(read_file(output_ + "/table.json"), table_before);
  EXPECT_EQ(read_file(output_ + "/base/config.json"), config_before);
  expect_error(sweep(sweep_ + " --set train.updates=2"), "was trained with other settings of train.updates");
  EXPECT_EQ(read_file(output_ + "/table.json"), table_before);
}

/// The picture is that of the table.
TEST_F(SweepCommand, OtherRecipesHaveATableOfTheirOwn) {
  ASSERT_EQ(sweep(sweep_).status, 0);
  ASSERT_TRUE(fs::exists(output_ + "/table.svg"));
  write_file_atomically(folder_ / "lost.yaml",
                        "base:\n" + config(2) + "rows: {lost: {data.train: [no.a, no.b]}}\n");
  EXPECT_EQ(sweep(folder_ / "lost.yaml").status, 1);
  EXPECT_FALSE(fs::exists(output_ + "/table.svg"));
  EXPECT_EQ(rows().size(), 1u);
  // Who doesn't read the table is told that a recipe failed too.
  const Outcome unread = shell("bash -c 'set -o pipefail; " SIXFOLD_BINARY " sweep " + (folder_ / "lost.yaml") +
                               " --output " + output_ + " | true'");
  EXPECT_EQ(unread.status, 1) << unread.text;
}

TEST_F(SweepCommand, ADamagedModelIsNotAResult) {
  ASSERT_EQ(sweep(sweep_).status, 0);
  const std::string whole = read_file(model_of("base"));
  write_file_atomically(model_of("base"), "x");
  const Outcome again = sweep(sweep_);
  EXPECT_FALSE(says(again, "base: already trained")) << again.text;
  EXPECT_TRUE(read_file(model_of("base")) == whole || again.status != 0) << again.text;
}

TEST_F(SweepCommand, AFolderThatCantBeReadFailsAlone) {
  ASSERT_EQ(sweep(sweep_ + " --set train.updates=2").status, 0);
  fs::remove_all(output_ + "/base");
  fs::create_symlink("base", output_ + "/base");
  const Outcome outcome = sweep(sweep_ + " --set train.updates=2");
  EXPECT_NE(outcome.status, 0);
  EXPECT_TRUE(says(outcome, "| heads-1 |")) << outcome.text;
}

TEST_F(SweepCommand, AClosedStandardOutputReachesNoFile) {
  const Outcome outcome = shell(SIXFOLD_BINARY " sweep " + sweep_ + " --output " + output_ + " >&-");
  EXPECT_EQ(outcome.status, 1) << outcome.text;
  EXPECT_EQ(read_file(output_ + "/sixfold-sweep").find("|"), std::string::npos);
  EXPECT_TRUE(fs::exists(output_ + "/table.md"));
}

TEST_F(SweepCommand, AnInterruptStopsItAndTheSameCommandResumes) {
  const std::string log = folder_ / "log", setting = " --set checkpoint.every_updates=0 log.every_updates=1";
  const Outcome outcome = shell(SIXFOLD_BINARY " sweep " + sweep_ + " --output " + output_ + setting +
                                " train.updates=100000 2> " + log + " & until grep -qs 'update 9/' " + log +
                                " || ! kill -0 $!; do sleep 0.01; done; kill -TERM $!; wait $!");
  EXPECT_EQ(outcome.status, 143) << read_file(log);
  EXPECT_NE(read_file(log).find("stopped at recipe 1 of 3, base; the same command resumes there"),
            std::string::npos)
      << read_file(log);
  EXPECT_FALSE(fs::exists(output_ + "/heads-1"));
  std::string checkpoint;
  for (const auto& entry : fs::directory_iterator(output_ + "/base/checkpoints"))
    checkpoint = std::max(checkpoint, entry.path().string());
  const int updates = std::stoi(checkpoint.substr(checkpoint.rfind('-') + 1)) + 2;
  const Outcome resumed =
      sweep(sweep_ + " --may-differ changes" + setting + " train.updates=" + std::to_string(updates));
  ASSERT_EQ(resumed.status, 0) << resumed.text;
  EXPECT_TRUE(says(resumed, "resuming from " + checkpoint)) << resumed.text;
  for (const auto& row : rows()) EXPECT_EQ(row.at("updates"), updates);
}

/// The means of table.json are those of the runs, and each run is what `train` makes with its seed.
TEST_F(SweepCommand, SeedsGiveMeansAndDeviations) {
  const std::string test = " --test " + (folder_ / "valid.a") + "," + (folder_ / "valid.b");
  ASSERT_EQ(sweep(sweep_).status, 0);
  const auto written = fs::last_write_time(model_of("base"));
  const Outcome outcome = sweep(sweep_ + test + " --seeds 3");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_TRUE(says(outcome, "recipe 1 of 3, base, seed 1: already trained")) << outcome.text;
  EXPECT_EQ(fs::last_write_time(model_of("base")), written) << "more seeds keep the runs that there are";
  for (const char* part : {"±: standard deviation", "adjusted by Holm's method for 2 comparisons",
                           "approximate randomization over the lines"})
    EXPECT_TRUE(says(outcome, part)) << part << "\n" << outcome.text;
  for (const auto& row : rows()) {
    const auto& runs = row.at("runs");
    ASSERT_EQ(runs.size(), 3u);
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(runs[i].at("seed"), i + 1);
    EXPECT_EQ(runs[1].at("run"), output_ + "/" + row.at("name").get<std::string>() + ".seed-2");
    const auto value = [&](size_t i) { return runs[i].at("validation").at("perplexity").get<double>(); };
    const double mean = (value(0) + value(1) + value(2)) / 3;
    double squares = 0;
    for (size_t i = 0; i < 3; ++i) squares += (value(i) - mean) * (value(i) - mean);
    const auto& found = row.at("means").at("validation_perplexity");
    EXPECT_NEAR(found.at("mean").get<double>(), mean, 1e-9);
    EXPECT_NEAR(found.at("standard_deviation").get<double>(), std::sqrt(squares / 2), 1e-9);
    EXPECT_EQ(found.contains("p_value"), row.at("name") != "base");
    EXPECT_FALSE(row.at("means").at("updates").contains("p_value")) << "seeds do not decide it";
  }
  const Outcome alone = sixfold("train " + (output_ + "/base/config.json") + " --output " +
                                (folder_ / "alone") + " --set train.seed=2");
  ASSERT_EQ(alone.status, 0) << alone.text;
  EXPECT_TRUE(read_file(folder_ / "alone/model/model.safetensors") == read_file(model_of("base.seed-2")));
  EXPECT_NE(read_file(output_ + "/table.svg").find("class=\"line0\""), std::string::npos);
  const Outcome two = sweep(sweep_ + " --seeds 2");
  EXPECT_TRUE(
      says(two, "Differences may be due to the seeds; they are tested from 3 trainings of each recipe on"))
      << two.text;
  EXPECT_FALSE(rows()[1].at("means").at("validation_perplexity").contains("p_value"));
}

/// A run that was killed goes on, whichever seed it has, and the result is that of a sweep that was not.
TEST_F(SweepCommand, ResumesInTheMiddleOfTheSeeds) {
  const std::string several = sweep_ + " --seeds 2", whole = folder_ / "whole";
  ASSERT_EQ(sweep(several).status, 0);
  fs::copy(output_, whole, fs::copy_options::recursive);
  // What a kill leaves behind: no model, and the checkpoint before the last.
  fs::remove_all(output_ + "/heads-1.seed-2/model");
  fs::remove_all(output_ + "/heads-1.seed-2/checkpoints/update-000000006");
  fs::remove_all(output_ + "/wide.seed-2");
  const Outcome resumed = sweep(several);
  ASSERT_EQ(resumed.status, 0) << resumed.text;
  EXPECT_TRUE(says(resumed, "recipe 1 of 3, base, seed 2: already trained")) << resumed.text;
  EXPECT_TRUE(says(resumed, "resuming from " + output_ + "/heads-1.seed-2/checkpoints/update-000000004"))
      << resumed.text;
  for (const char* name : {"base.seed-2", "heads-1.seed-2", "wide.seed-2"})
    EXPECT_TRUE(read_file(model_of(name)) == read_file(whole + "/" + name + "/model/model.safetensors"))
        << name;
}

TEST_F(SweepCommand, ARowThatIsNotWholeIsNotTested) {
  write_file_atomically(folder_ / "some.yaml",
                        "base:\n" + config(2) +
                            "seeds: 3\nrows: {found: {}, lost: {data.train: [no.a, no.b]}, "
                            "other: {model.heads: 1}, elsewhere: {data.valid: [" +
                            (folder_ / "train.a") + ", " + (folder_ / "train.b") + "]}}\n");
  const Outcome outcome = sweep(folder_ / "some.yaml");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(says(outcome, "3 of 12 trainings failed: lost, lost.seed-2, lost.seed-3; ")) << outcome.text;
  EXPECT_NE(read_file(output_ + "/table.md").find("| seed 1 failed: "), std::string::npos);
  EXPECT_FALSE(rows()[1].contains("means"));
  EXPECT_TRUE(rows()[2].at("means").at("validation_perplexity").contains("p_value"));
  EXPECT_FALSE(rows()[3].at("means").at("validation_perplexity").contains("p_value")) << "on another text";
  fs::remove_all(output_ + "/other.seed-3");
  fs::create_symlink("other.seed-3", output_ + "/other.seed-3");
  sweep(folder_ / "some.yaml");
  EXPECT_EQ(rows()[2].at("runs")[1].at("finished"), true);
  EXPECT_FALSE(rows()[2].at("means").at("validation_perplexity").contains("p_value"));
}

TEST_F(SweepCommand, FoldersOfSeedsBelongToOneRecipe) {
  write_file_atomically(folder_ / "twice.yaml", "base:\n" + config(2) + "rows: {a.seed-2: {}, a: {}}\n");
  expect_error(sweep(folder_ / "twice.yaml" + " --seeds 2"),
               "twice.yaml: a: seed 2 needs the folder " + output_ + "/a.seed-2, which another recipe has");
  expect_error(sweep(sweep_ + " --seeds 0"), "--seeds");
  EXPECT_FALSE(fs::exists(output_));
}

/// Whatever else decides a result has to be the same, or be stated. A run that another version made, or another
/// processor, is imitated by its records.
TEST_F(SweepCommand, RowsThatDifferInWhatIsNotStatedAreRefused) {
  const std::string command = sweep_ + " --set train.updates=2";
  ASSERT_EQ(sweep(command).status, 0);
  const std::string records = output_ + "/wide/model/provenance.json", whole = read_file(records);
  const auto step = nlohmann::json::parse(whole).back();
  const auto change = [&](const std::string& key, const nlohmann::json& value) {
    auto steps = nlohmann::json::parse(whole);
    steps.back()[key] = value;
    write_file_atomically(records, steps.dump());
  };
  const auto refused = [&](const std::string& name, const std::string& what) {
    const std::string table = read_file(output_ + "/table.json");
    const Outcome outcome = sweep(command);
    expect_error(outcome, output_ + "/base and " + output_ + "/wide differ in " + what);
    EXPECT_TRUE(says(outcome, "--may-differ " + name)) << outcome.text;
    EXPECT_EQ(read_file(output_ + "/table.json"), table);
    const Outcome allowed = sweep(command + " --may-differ " + name);
    EXPECT_EQ(allowed.status, 0) << allowed.text;
    EXPECT_TRUE(says(allowed, "model.d_ff 32, " + name)) << "the table states it\n" << allowed.text;
  };
  change("version", "0.1.0");
  refused("version", "the version of Sixfold (" + step.at("version").get<std::string>() +
                         ", and 0.1.0), which no recipe states");
  change("precision", "bf16");
  refused("precision",
          "the precision (fp32, and bf16), which no recipe states, so that they can't be compared. "
          "State it in the recipes (train.precision), remove the folder");
  change("instruction_set", "cpu, NEON");
  refused("instruction_set", "the instruction set (");
  EXPECT_EQ(sweep(command + " --other-processor").status, 0);
  change("changes", {{{"update", 1}, {"what", "schedule.learning_rate"}, {"from", "1"}, {"to", "0"}}});
  refused("changes",
          "what was changed during the training (nothing, and schedule.learning_rate from 1 to 0 "
          "after update 1)");
  auto text = step.at("text");
  text[0]["hash"] = "0";
  for (const char* file : {"train.a", "train.b"}) fs::remove(folder_ / file);  // which would tell
  change("text", text);
  refused("text", "the training text (");
  write_file_atomically(records, whole);
  EXPECT_EQ(sweep(command).status, 0);
  expect_error(sweep(command + " --may-differ weather"), "--may-differ");
}

/// Before a row is trained for nothing. A text that changes meanwhile is imitated by the record of the first
/// row.
TEST_F(SweepCommand, ATextThatHasChangedIsNoticedBeforeTheNextRow) {
  const std::string command = sweep_ + " --set train.updates=2";
  ASSERT_EQ(sweep(command).status, 0);
  const std::string records = output_ + "/base/model/provenance.json";
  auto steps = nlohmann::json::parse(read_file(records));
  steps.back()["text"].push_back({{"path", "other"}, {"bytes", 1}, {"hash", "0"}});
  write_file_atomically(records, steps.dump());
  for (const char* row : {"/heads-1", "/wide"}) fs::remove_all(output_ + row);
  const Outcome refused = sweep(command);
  EXPECT_NE(refused.status, 0);
  EXPECT_TRUE(says(refused, output_ + "/base and " + output_ + "/heads-1 differ in the training text ("))
      << refused.text;
  EXPECT_FALSE(fs::exists(output_ + "/heads-1"));
  const Outcome allowed = sweep(command + " --may-differ text");
  EXPECT_EQ(allowed.status, 0) << allowed.text;
}

/// Their records have the text as it is compared before a row is trained.
TEST_F(SweepCommand, RowsOfEachTaskCanBeCompared) {
  const std::string configs = SIXFOLD_SOURCE_DIR "/tests/compatibility/0.2.0";
  for (const auto& config : fs::directory_iterator(configs + "/configs")) {
    const std::string name = config.path().stem().string();
    write_file_atomically(folder_ / "two.yaml", "base: " + config.path().string() +
                                                    "\nrows: {a: {}, b: {train.label_smoothing: 0.05}}\n");
    const Outcome outcome = shell("cd " + configs + " && " SIXFOLD_BINARY " sweep " + (folder_ / "two.yaml") +
                                  " --output " + (folder_ / name) + " --set train.updates=2");
    EXPECT_EQ(outcome.status, 0) << name << "\n" << outcome.text;
  }
}

TEST_F(SweepCommand, SizesThatAreChosenForSomeRowsAreStated) {
  write_file_atomically(folder_ / "base.yaml", "data: {train: [" + (folder_ / "train.a") + ", " +
                                                   (folder_ / "train.b") +
                                                   "]}\ntokenizer: {kind: whitespace, vocab_size: 0}\n"
                                                   "train: {threads: 4, precision: fp32}\n");
  write_file_atomically(folder_ / "grid.yaml",
                        "base: " + (folder_ / "base.yaml") + "\ngrid: {train.minutes: [1e-6, 1]}\n");
  sweep(folder_ / "grid.yaml" + " --set data.valid=no.a,no.b");  // with which no training begins
  const std::string table = read_file(output_ + "/table.md");
  EXPECT_NE(table.find("| train.minutes 1e-6 |"), std::string::npos) << "the first has no changes\n" << table;
  EXPECT_NE(table.find("| train.minutes 1, model.dropout 0.3 |"), std::string::npos) << table;
  EXPECT_EQ(table.find("model.d_model"), std::string::npos) << "it is the same in all rows\n" << table;
}

/// The table of a sweep that has begun is the same, also where a row has no sizes of its own, or those of a
/// preset, and where rows train models for several tasks.
TEST_F(SweepCommand, StatedSizesDoNotDependOnWhatIsTrained) {
  const std::string data = "data: {train: [" + (folder_ / "train.a") + ", " + (folder_ / "train.b") + "]}\n",
                    tokens = "tokenizer: {kind: whitespace, vocab_size: 0}\n";
  write_file_atomically(folder_ / "open.yaml", data + tokens + "train: {minutes: 1e-6, precision: fp32}\n");
  write_file_atomically(
      folder_ / "preset.yaml",
      data + tokens + "train: {updates: 1, precision: fp32}\nmodel: {preset: tiny, d_ff: 8}\n");
  write_file_atomically(folder_ / "lm.yaml",
                        "task: language_model\ndata: {train: [" + (folder_ / "train.a") +
                            "]}\ntokenizer: {kind: bytes}\n"
                            "train: {updates: 1, precision: fp32}\nmodel: {d_model: 8, heads: 1, d_ff: 8, "
                            "decoder_layers: 1}\n");
  const std::string recipes = folder_ / "open.yaml " + (folder_ / "preset.yaml ") + (folder_ / "lm.yaml");
  const auto changes = [&] {
    std::vector<std::string> all;
    for (const auto& row : rows()) all.push_back(row.at("changes"));
    return all;
  };
  ASSERT_EQ(sweep(recipes).status, 0);
  const std::vector<std::string> first = changes();
  EXPECT_EQ(first[0], "");
  ASSERT_EQ(sweep(recipes).status, 0);
  EXPECT_EQ(changes(), first);
}

TEST_F(SweepCommand, AFailureDoesNotStopTheOthers) {
  fs::create_directory(folder_ / "recipes");
  const auto write = [&](const std::string& name, const std::string& change) {
    write_file_atomically(folder_ / ("recipes/" + name), "base:\n" + config(2) + "rows: {" + change + "}\n");
  };
  write("a.yaml", "lost: {data.train: [nowhere.a, nowhere.b]}");
  write("b.yaml", "found: {}");
  const Outcome outcome = sweep(folder_ / "recipes");
  EXPECT_EQ(outcome.status, 1) << outcome.text;
  EXPECT_TRUE(says(outcome, "warning: lost failed: ")) << outcome.text;
  EXPECT_TRUE(says(outcome, "error: 1 of 2 recipes failed: lost; ")) << outcome.text;
  EXPECT_TRUE(fs::exists(model_of("found")));
  EXPECT_NE(read_file(output_ + "/table.md").find("failed: "), std::string::npos);
  EXPECT_NE(rows().at(0).at("failure").get<std::string>().find("nowhere.a"), std::string::npos);
  EXPECT_TRUE(rows().at(1).at("finished").get<bool>());
}

TEST_F(SweepCommand, AFolderBelongsToOneSweepAtATime) {
  ASSERT_EQ(sweep(sweep_ + " --set train.updates=2").status, 0);
  const Outcome outcome = shell("flock -n " + output_ + "/sixfold-sweep " SIXFOLD_BINARY " sweep " + sweep_ +
                                " --output " + output_);
  expect_error(outcome, "another sweep is running in this folder");
}

TEST_F(SweepCommand, SaysWhatIsWrongBeforeItWritesAnything) {
  expect_error(sweep(""), "no recipe is given");
  expect_error(sixfold("sweep " + sweep_), "--output is required");
  expect_error(sweep(folder_ / "nowhere.yaml"), "nowhere.yaml");
  expect_error(sweep(sweep_ + " " + sweep_), "are both named 'base'");
  expect_error(sweep(sweep_ + " --set model.kv_heads=3"),
               "sweep.yaml: base: kv_heads: 2 heads of queries can't share 3");
  expect_error(sweep(sweep_ + " --test " + (folder_ / "valid.a")), "--test: expected two files");
  expect_error(sweep(sweep_ + " --test " + (folder_ / "valid.a") + "," + (folder_ / "train.b")), "60 lines");
  expect_error(sweep("--set train.updates=3 " + sweep_ + " --test x,y"), "x: ");
  write_file_atomically(folder_ / "lm.yaml", "task: language_model\ndata: {train: [a]}\ntrain: {updates: 1}\n");
  expect_error(sweep((folder_ / "lm.yaml") + " --test " + (folder_ / "valid.a") + "," + (folder_ / "valid.b")),
               "--test: lm does not train a translation model");
  EXPECT_FALSE(fs::exists(output_));
}

}  // namespace
}  // namespace sixfold
