#include <gtest/gtest.h>

#include "base/file.h"
#include "model_folder/ownership.h"
#include "program/shell.h"
#include "program/small_model.h"
#include "tasks/translation/settings.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

class Plot : public testing::Test {
 protected:
  Plot() { write_small_model(model_, 1); }
  Outcome plot(const std::string& options) { return sixfold("plot attention " + model_ + " " + options); }
  TemporaryFolder folder_;
  const std::string model_ = folder_ / "model", picture_ = folder_ / "attention.svg";
};

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != text.npos; ++at) ++found;
  return found;
}

TEST_F(Plot, DrawsEveryHead) {
  const Outcome outcome = plot("--text 'a b c' --target 'd e' --output " + picture_);
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  const std::string svg = read_file(picture_);
  EXPECT_TRUE(svg.starts_with("<svg") || svg.starts_with("<?xml")) << svg.substr(0, 100);
  EXPECT_NE(svg.find("Attention of decoder layer 2 of 2 to the source"), std::string::npos);
  // Two heads and their mean; each cell, 3 target by 4 source symbols with the ends, tells its weight.
  EXPECT_EQ(count(svg, " → "), 3 * 3 * 4);
}

TEST_F(Plot, DrawsItsOwnTranslationAndAnyLayer) {
  const Outcome first = plot("--text 'a b c' --layer 0 --output -"),
                second = plot("--text 'a b c' --layer -2 -o -");
  EXPECT_EQ(first.status, 0);
  EXPECT_NE(first.text.find("decoder layer 1 of 2"), std::string::npos);
  EXPECT_EQ(first.text, second.text);
}

/// Of a model of many languages those that are chosen.
TEST_F(Plot, DrawsTheAttentionOfTwoLanguages) {
  const std::vector<std::string> words{"a b c d e f g h __en__ __de__ __fr__"};
  TokenizerOptions options;
  options.kind = TokenizerKind::whitespace;
  write_small_model(folder_ / "many", 11, make_tokenizers(options, words, words), [](ModelConfig& config) {
    config.settings = write_options(
        TranslationSettings{.source_language = "en", .target_language = "de", .language_token = "__*__"});
  });
  const auto drawn = [&](const std::string& more) {
    return sixfold("plot attention " + (folder_ / "many") + " --text 'a b' -o - " + more).text;
  };
  const std::string usual = drawn("");
  EXPECT_NE(usual.find("__en__"), std::string::npos) << usual;
  EXPECT_EQ(drawn("--source-language en --target-language de"), usual);
  for (const std::string kind : {"", " --kind encoder", " --kind decoder"}) {
    const std::string other = drawn("--source-language fr --target-language en" + kind);
    EXPECT_NE(other.find(kind == " --kind decoder" ? "__en__" : "__fr__"), std::string::npos) << kind << other;
  }
  EXPECT_NE(
      drawn("--target-language es").find("target_language 'es' is not one of the model's, which are: de en fr"),
      std::string::npos);
}

TEST_F(Plot, DrawsSelfAttention) {
  const Outcome encoder = plot("--text 'a b c' --kind encoder --layer 0 -o -");
  EXPECT_NE(encoder.text.find("Attention of encoder layer 1 of 1"), std::string::npos) << encoder.text;
  EXPECT_EQ(count(encoder.text, " → "), 3 * 4 * 4);
  const Outcome decoder = plot("--text 'a b c' --target 'd e' --kind decoder -o - --theme dark");
  EXPECT_EQ(count(decoder.text, " → "), 3 * 3 * 3);
  EXPECT_EQ(count(decoder.text, "prefers-color-scheme"), 0);
  expect_error(plot("--text a --kind encoder --layer 1 -o -"), "the model's encoder has layers 0 to 0");
}

/// As figures 3 to 5 of the paper do.
TEST_F(Plot, DrawsAttentionAsLines) {
  const Outcome outcome = plot("--text 'a b c' --kind encoder --style lines --heads 1 --token b -o -");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("head 2: b → "), std::string::npos) << outcome.text;
  EXPECT_EQ(outcome.text.find("head 1"), std::string::npos);
  EXPECT_EQ(outcome.text.find("head 2: a → "), std::string::npos);
  expect_error(plot("--text 'a b c' --style lines --heads 7 -o -"), "--heads 7: the layer has heads 0 to 1");
  expect_error(plot("--text 'a b c' --style lines --token z -o -"), "no row has the token 'z'");
  expect_error(plot("--text 'a b c' --heads 0 -o -"), "--heads and --token need --style lines");
  expect_error(plot("--text 'a b c' --style lines --heads 1,0,1 -o -"), "--heads: head 1 is named twice");
  expect_error(plot("--text 'a b c' --style lines --token '' -o -"), "--token: the text is empty");
  expect_error(plot("--text 'a b c' --token b -o -"), "--heads and --token need --style lines");
  expect_error(plot("--text 'a b c' --style lines --token \"$(printf '\\377')\" -o -"),
               "--token: the text is not valid UTF-8");
}

TEST_F(Plot, DrawsHowARunWent) {
  const std::string log = folder_ / "train.jsonl";
  write_file_atomically(log, R"({"update":10,"loss":4.5,"learning_rate":0.001,"gradient_norm":1.5}
{"update":20,"loss":4.0,"learning_rate":0.002,"gradient_norm":1.0}
{"update":20,"validation":{"loss":3.9,"bleu":1.5}}
)");
  const Outcome one = sixfold("plot curves " + log + " -o -");
  EXPECT_EQ(one.status, 0) << one.text;
  for (const char* part : {"cross entropy [nats]", "BLEU of validation", "Learning rate", "updates"})
    EXPECT_NE(one.text.find(part), std::string::npos) << part;
  EXPECT_EQ(sixfold("plot curves " + log + " " + folder_.path().string() + " -o -").status, 0);
  write_file_atomically(log, "{}\n");
  expect_error(sixfold("plot curves " + log + " -o -"), "train.jsonl:1: not a line of a training log");
  write_file_atomically(log, "");
  expect_error(sixfold("plot curves " + log + " -o -"), "has no lines yet");
}

/// Curves of several runs are named after their folders; the folder of a sweep stands for its runs.
TEST_F(Plot, NamesTheRunsOfASweep) {
  const std::string sweep = folder_ / "sweep";
  const auto write_run = [](const std::string& run, const std::string& log) {
    std::filesystem::create_directories(run);
    write_file_atomically(run + "/train.jsonl", log);
  };
  const std::string line = "{\"update\":1,\"loss\":4.5}\n{\"update\":2,\"loss\":4}\n";
  write_run(sweep + "/heads-1", line), write_run(sweep + "/heads-8", line), write_run(sweep + "/later", "");
  write_file_atomically(sweep + "/" + std::string(sweep_mark), std::string(sweep_mark_text));
  const std::string drawn = sixfold("plot curves " + sweep + " -o -").text;
  for (const char* part : {"Training of 2 models", ">heads-1</text>", ">heads-8</text>", "in training"})
    EXPECT_NE(drawn.find(part), std::string::npos) << part << drawn;
  write_run(folder_ / "other/heads-1", line);
  const std::string twice =
      sixfold("plot curves " + sweep + "/heads-1/ " + (folder_ / "other/heads-1/train.jsonl") + " -o -").text;
  EXPECT_NE(twice.find(">" + (folder_ / "other/heads-1/train.jsonl")), std::string::npos) << twice;
  std::filesystem::remove_all(sweep + "/heads-1"), std::filesystem::remove_all(sweep + "/heads-8");
  expect_error(sixfold("plot curves " + sweep + " -o -"), "no run of this sweep has a line");
}

TEST_F(Plot, DrawsConfigsAndText) {
  const std::string demo = SIXFOLD_SOURCE_DIR "/recipes/demo.yaml";
  EXPECT_NE(sixfold("plot schedule " + demo + " -o -").text.find("learning rate"), std::string::npos);
  // A run that starts from a model has its width, on which the default rate depends.
  write_file_atomically(folder_ / "narrow.yaml", "data: {train: [a, b]}\ntrain: {updates: 9}\nstart: {model: " +
                                                     model_ + "}\nmodel: {d_model: 1024}\n");
  write_file_atomically(folder_ / "as.yaml", "data: {train: [a, b]}\ntrain: {updates: 9}\nmodel: {d_model: " +
                                                 std::to_string(load_model_config(model_).d_model) +
                                                 ", heads: 1}\n");
  const auto rates = [&](const std::string& config) {
    const std::string svg = sixfold("plot schedule " + (folder_ / config) + " -o -").text;
    const size_t points = svg.rfind("points="), end = svg.find('>', points);
    return points == svg.npos ? "" : svg.substr(points, end - points);
  };
  EXPECT_GT(rates("as.yaml").size(), 50u);
  EXPECT_EQ(rates("narrow.yaml"), rates("as.yaml"));
  const Outcome positions = sixfold("plot positions " + demo + " --positions 8 -o -");
  EXPECT_NE(positions.text.find("Position encodings: sinusoidal"), std::string::npos) << positions.text;
  EXPECT_EQ(sixfold("plot positions " + model_ + " --positions 8 --similarity -o -").status, 0);
  const std::string learned = folder_ / "learned";
  write_small_model(learned, 1, /*joint=*/true, [](ModelConfig& config) {
    config.positions = Positions::learned;
    config.max_positions = 12;  // fewer than are drawn of others
  });
  EXPECT_NE(sixfold("plot positions " + learned + " --similarity -o -").text.find("12 positions"),
            std::string::npos);
  expect_error(sixfold("plot positions " + learned + " --positions 13 -o -"), "the model has 12");
  write_file_atomically(folder_ / "a", "a b c\nd e\n");
  write_file_atomically(folder_ / "b", "x\ny z\n");
  const std::string files = (folder_ / "a") + " " + (folder_ / "b");
  for (const char* kind : {"alibi", "rotary", "index"}) {
    const std::string config = folder_ / "config.yaml";
    std::string text = read_file(demo);
    text.insert(text.find("  dropout:"), fmt::format("  positions: {}\n", kind));
    write_file_atomically(config, text);
    expect_error(sixfold("plot positions " + config + " -o -"), "are not vectors that are added to embeddings");
  }
  EXPECT_NE(sixfold("plot corpus " + files + " -o -").text.find("length [words]"), std::string::npos);
  EXPECT_NE(sixfold("plot corpus " + files + " --model " + model_ + " -o -").text.find("length [tokens]"),
            std::string::npos);
  const std::string report = folder_ / "report.json";
  EXPECT_EQ(shell(SIXFOLD_BINARY " corpus --json " + files + " > " + report).status, 0);
  EXPECT_EQ(sixfold("plot corpus " + report + " -o -").status, 0);
  expect_error(sixfold("plot corpus " + (folder_ / "a") + " -o -"), "has no target file");
}

TEST_F(Plot, DrawsAccuracyByLength) {
  write_file_atomically(folder_ / "s", "a\na b c d e f\na b c d e g\n");
  write_file_atomically(folder_ / "r", "x\ny z\ny y\n");
  write_file_atomically(folder_ / "one.de", "x\ny z\nz\n");
  write_file_atomically(folder_ / "two.de", "x\n\nz\n");
  const std::string options = " --source " + (folder_ / "s") + " --reference " + (folder_ / "r") + " -o -";
  const std::string texts = (folder_ / "one.de") + " " + (folder_ / "two.de");
  const Outcome drawn = sixfold("plot accuracy " + texts + options + " --trained-to 3");
  EXPECT_EQ(drawn.status, 0) << drawn.text;
  for (const char* part : {"source length [words]", "one (all lines: 66.7)", "two (all lines: 33.3)",
                           "longest in training", "chrF2"})
    EXPECT_NE(drawn.text.find(part), std::string::npos) << part;
  write_file_atomically(folder_ / "two.de", "x\n");
  expect_error(sixfold("plot accuracy " + texts + options), "two.de has 1 line and");
  EXPECT_EQ(sixfold("plot accuracy " + (folder_ / "one.de") + options).text.find("longest in training"),
            std::string::npos);
}

TEST_F(Plot, DrawsPngWhereALibraryServes) {
  const std::string picture = folder_ / "p.png";
  const Outcome outcome = plot("--text 'a b' --output " + picture);
  if (outcome.status == 0) {
    EXPECT_TRUE(read_file(picture).starts_with("\x89PNG"));
  } else {
    EXPECT_EQ(outcome.status, 1);
    EXPECT_NE(outcome.text.find("librsvg"), std::string::npos) << outcome.text;
  }
}

TEST_F(Plot, WarnsOfCharactersThatNoFontHas) {
  const std::string run = folder_ / "run \U000F1234 犬";
  std::filesystem::create_directories(run);
  write_file_atomically(run + "/train.jsonl", R"({"update":10,"loss":4.5})"
                                              "\n");
  const Outcome outcome = sixfold("plot curves '" + run + "' -o " + (folder_ / "P.PNG"));
  if (outcome.text.find("librsvg2-2") != std::string::npos) GTEST_SKIP() << "librsvg is not here";
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_TRUE(read_file(folder_ / "P.PNG").starts_with("\x89PNG"));
  EXPECT_NE(outcome.text.find("P.PNG: no installed font has \U000F1234"), std::string::npos) << outcome.text;
  EXPECT_NE(outcome.text.find("Write .svg"), std::string::npos) << outcome.text;
}

TEST_F(Plot, CorpusReportsText) {
  write_file_atomically(folder_ / "t.tsv", "a b c\tx y\nd\tz\nd\tz\n\tz\n");
  const Outcome text = sixfold("corpus " + (folder_ / "t.tsv") + " --max-length 2");
  EXPECT_EQ(text.status, 0);
  EXPECT_NE(text.text.find("4 pairs, 2 kept; dropped: 1 with an empty side, 1 too long; repeated but kept: 1"),
            std::string::npos)
      << text.text;
  EXPECT_NE(text.text.find("length"), std::string::npos);
  expect_error(sixfold("corpus " + (folder_ / "none") + " x"), "none");
}

TEST_F(Plot, RefusesWhatItCanNotDraw) {
  expect_error(plot("--text a --layer 2 --output " + picture_),
               "--layer 2: the model's decoder has layers 0 to 1");
  expect_error(plot("--text '  ' --output " + picture_), "--text: the text is empty");
  expect_error(plot("--text a --target '' --output " + picture_), "--target: the text is empty");
  expect_error(plot("--text \"$(printf 'a \\377')\" --output " + picture_),
               "--text: the text is not valid UTF-8");
  expect_error(plot("--text a"), "--output is required");
  expect_error(plot("--test a --output x"), "unknown option --test; did you mean --text?");
  expect_error(sixfold("plot atention"), "unknown command atention; did you mean attention?");
  expect_error(sixfold("plot"), "see sixfold plot --help");
  expect_error(sixfold("plot attention " + (folder_ / "nowhere") + " --text a -o " + picture_),
               "there is no file or folder of that name");
  expect_error(plot("--text a -o " + (folder_ / "a.jpg")),
               "a.jpg: unknown type of picture; give a file name that ends in .svg or .png");
  expect_error(plot("--text a -o " + (folder_ / "a")), "unknown type of picture");
  EXPECT_FALSE(std::filesystem::exists(picture_));
  EXPECT_EQ(folder_.entries(), 1);  // the model
}

}  // namespace
}  // namespace sixfold
