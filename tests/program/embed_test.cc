#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "program/shell.h"
#include "program/small_embedder.h"
#include "tasks/embedding/embedder.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

class EmbedCommand : public testing::Test {
 protected:
  EmbedCommand() { write_small_embedder(model_, 3); }
  std::string file(const std::string& name, const std::string& text) const {
    write_file_atomically(folder_ / name, text);
    return folder_ / name;
  }
  Outcome embed(const std::string& options) const { return sixfold("embed " + model_ + " " + options); }
  /// The numbers of an array after its header, whose shape must be `shape`.
  static std::vector<float> array(const std::string& path, const std::string& shape) {
    const std::string bytes = read_file(path);
    EXPECT_NE(bytes.find("'shape': " + shape), std::string::npos) << bytes.substr(0, 128);
    std::vector<float> numbers((bytes.size() - 128) / sizeof(float));
    if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data() + 128, numbers.size() * sizeof(float));
    return numbers;
  }
  TemporaryFolder folder_;
  const std::string model_ = folder_ / "model";
};

TEST_F(EmbedCommand, WritesTheSameNumbersInEveryFormat) {
  const std::string text = file("text", "a b\n\nc d e\n"), output = folder_ / "out.npy";
  EXPECT_EQ(embed("--input " + text + " --output " + output).text, "");
  const std::vector<float> numbers = array(output, "(3, 8)");
  std::vector<float> expected, of_text, of_json;
  for (const TextEmbedding& one : Embedder(model_).embed(std::vector<std::string>{"a b", "", "c d e"}))
    expected.insert(expected.end(), one.values.begin(), one.values.end());
  EXPECT_EQ(numbers, expected);
  const Outcome plain = embed("< " + text);
  EXPECT_EQ(plain.status, 0);
  EXPECT_EQ(std::ranges::count(plain.text, '\n'), 3);
  std::istringstream words(plain.text);
  for (float number = 0; words >> number;) of_text.push_back(number);
  EXPECT_EQ(of_text, expected);
  std::istringstream objects(embed("--format jsonl --threads 1 --input " + text).text);
  std::vector<int> tokens;
  for (std::string line; std::getline(objects, line);) {
    const auto object = nlohmann::json::parse(line);
    tokens.push_back(object.at("tokens"));
    for (const float number : object.at("embedding").get<std::vector<float>>()) of_json.push_back(number);
  }
  EXPECT_EQ(of_json, expected);
  EXPECT_EQ(tokens, (std::vector<int>{4, 2, 5}));
}

TEST_F(EmbedCommand, WritesAnArrayOfNoLines) {
  const std::string text = file("text", ""), output = folder_ / "out";
  EXPECT_EQ(embed("--format npy --input " + text + " --output " + output).status, 0);
  EXPECT_TRUE(array(output, "(0, 8)").empty());
  EXPECT_EQ(embed("--input " + text).text, "");
}

/// More lines than are embedded at once: none is lost at a border, and none moved.
TEST_F(EmbedCommand, WritesARowForEachOfManyLines) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += std::string(1, static_cast<char>('a' + i % 7)) + " b\n";
  EXPECT_EQ(embed("--input " + file("text", text) + " --output " + folder_ / "out.npy").status, 0);
  const std::vector<float> numbers = array(folder_ / "out.npy", "(5000, 8)");
  ASSERT_EQ(numbers.size(), 5000u * 8);
  for (size_t i = 7; i < 5000; ++i)
    for (size_t f = 0; f < 8; ++f) ASSERT_EQ(numbers[i * 8 + f], numbers[i % 7 * 8 + f]) << i;
}

TEST_F(EmbedCommand, WritesAFileWholeOrNotAtAll) {
  const std::string text = file("text", "a\n\xFF\n"), output = file("out.npy", "old");
  expect_error(embed("--input " + text + " --output " + output), "text:2: byte 1 is not valid UTF-8");
  EXPECT_EQ(read_file(output), "old");
  EXPECT_EQ(embed("--invalid-utf8 replace --input " + text + " --output " + output).status, 0);
  EXPECT_EQ(array(output, "(2, 8)").size(), 16u);
  damage_weights(model_);
  file("out.npy", "old");
  expect_error(embed("--input " + file("text", "a\n") + " --output " + output), "line 1: the embedding that");
  EXPECT_EQ(read_file(output), "old");
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    EXPECT_EQ(entry.path().filename().string().find(".tmp"), std::string::npos);
  const Outcome lines = embed("--format jsonl --input " + folder_ / "text" + " 2>/dev/null");
  EXPECT_EQ(lines.status, 2);
  EXPECT_TRUE(lines.text.starts_with("{\"error\":")) << lines.text;
}

TEST_F(EmbedCommand, WarnsOfTextsThatAreCut) {
  const Outcome outcome = embed("--input " + file("text", "a b c d e f g\na\n") + " 2>&1 >/dev/null");
  EXPECT_NE(outcome.text.find("1 text is longer than the model reads; what follows was ignored"),
            std::string::npos)
      << outcome.text;
}

TEST_F(EmbedCommand, ComparesPairs) {
  const std::string pairs = file("pairs", "a b\ta b\na\tb c\n\t\n"), source = file("source", "a b\na\n\n"),
                    target = file("target", "a b\nb c\n\n");
  const Outcome outcome = embed("--cosine --input " + pairs);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_TRUE(outcome.text.starts_with("1.000000\n")) << outcome.text;
  EXPECT_TRUE(outcome.text.ends_with("\n1.000000\n")) << outcome.text;
  const auto both = Embedder(model_).embed(std::vector<std::string>{"a", "b c"});
  EXPECT_NE(outcome.text.find(fmt::format("\n{:.6f}\n", cosine(both[0].values, both[1].values))),
            std::string::npos)
      << outcome.text;
  EXPECT_EQ(embed("--cosine --source " + source + " --target " + target).text, outcome.text);
  EXPECT_EQ(embed("--cosine --source - --target " + target + " < " + source).text, outcome.text);
  const std::string json = embed("--cosine --format jsonl --input " + pairs).text;
  EXPECT_TRUE(json.starts_with("{\"cosine\":1}\n{\"cosine\":")) << json;
}

TEST_F(EmbedCommand, ServesTheOtherPairsIfALineHasNone) {
  const Outcome outcome = embed("--cosine --input " + file("pairs", "a\na\ta\n\na\tb\tc\n") + " 2>&1");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.text.find("line 1: expected two texts with a tab between them, found 0 tabs"),
            std::string::npos)
      << outcome.text;
  EXPECT_NE(outcome.text.find("line 4: expected two texts with a tab between them, found 2 tabs"),
            std::string::npos)
      << outcome.text;
  EXPECT_NE(outcome.text.find("3 lines failed; the others are complete"), std::string::npos) << outcome.text;
  EXPECT_EQ(embed("--cosine --input " + folder_ / "pairs" + " 2>/dev/null").text, "\n1.000000\n\n\n");
  expect_error(embed("--cosine --source " + file("one", "a\n") + " --target " + file("two", "a\nb\n")),
               "one ends after line 1, but " + folder_ / "two" +
                   " does not; line n of one file must go with line n of the other");
}

TEST_F(EmbedCommand, RefusesOptionsThatContradictEachOther) {
  const std::string text = file("text", "a\n");
  const auto refused = [&](const std::string& options, const std::string& part) {
    expect_error(embed(options), part);
  };
  refused("--format npy --input " + text, "--format npy writes a file");
  refused("--format npy --input " + text + " --output " + folder_ / "out.npy.gz", "is not gzipped");
  refused("--cosine --input " + text + " --output " + folder_ / "out.npy", "choose --format text or jsonl");
  refused("--source " + text + " --target " + text, "are for --cosine");
  refused("--cosine --source " + text, "--source and --target go together");
  refused("--cosine --source - --target -", "can't both be standard input");
  refused("--cosine --source " + text + " --target " + text + " --input " + text, "leave out one of them");
  refused("--format tsv --input " + text, "tsv");
  refused("--input " + text + " --output " + text, "is an input of the command");
  refused("--format npy --input " + text + " --output " + model_ + "/config.json", "belongs to the model");
}

/// What other commands do with such a model.
TEST_F(EmbedCommand, ItsModelsAreModels) {
  const Outcome info = sixfold("info " + model_);
  EXPECT_NE(info.text.find("task         embedding: embeds texts, for 'sixfold embed'"), std::string::npos)
      << info.text;
  EXPECT_NE(info.text.find("embeds       texts of at most 6 tokens as 8 numbers (pooling mean, norm 1)"),
            std::string::npos)
      << info.text;
  const std::string text = file("text", "a b\nc\n"), other = folder_ / "other", mean = folder_ / "mean",
                    int8 = folder_ / "int8";
  EXPECT_EQ(sixfold("quantize " + model_ + " --output " + int8).status, 0);
  EXPECT_EQ(sixfold("embed " + int8 + " --input " + text).text, embed("--precision int8 --input " + text).text);
  EXPECT_NE(sixfold("embed " + int8 + " --input " + text).text, embed("--input " + text).text);
  EXPECT_EQ(sixfold("average " + model_ + " " + model_ + " --output " + mean).status, 0);
  EXPECT_EQ(sixfold("embed " + mean + " --input " + text).text, embed("--input " + text).text);
  expect_error(sixfold("translate " + model_ + " --input " + text), "is a model for the task 'embedding'");
  write_file_atomically(folder_ / "c.yaml", "task: embedding\ndata: {train: [text]}\ntrain: {updates: 1}\n");
  expect_error(sixfold("train " + folder_ / "c.yaml" + " --output " + folder_ / "run"),
               "c.yaml:1: models of the task 'embedding' are imported, and not trained");
  expect_error(sixfold("train --options embedding"), "are imported, and not trained");
}

}  // namespace
}  // namespace sixfold
