// What a command may replace: one table over all commands that write (docs/reliability.md, "People's files").
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "base/file.h"
#include "model_folder/ownership.h"
#include "program/shell.h"
#include "program/small_answerer.h"
#include "program/small_captioner.h"
#include "program/small_embedder.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

/// Every file below a folder, with its bytes.
std::map<std::string, std::string> contents(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files[entry.path()] = read_file(entry.path());
  return files;
}

class Replacing : public testing::Test {
 protected:
  Replacing() {
    write_small_model(model_, 1);
    write_small_model(other_, 2);
    write_small_captioner(folder_ / "captioner", 1);
    write_small_answerer(folder_ / "answerer", 1);
    write_small_embedder(folder_ / "embedder", 1);
    write_file_atomically(folder_ / "a.pgm", "P5 4 4 255\nabcdefghijklmnop");
    ::setenv("HERE", folder_.path().c_str(), 1);
    const std::string fixture = std::string(SIXFOLD_TEST_GOLDENS);
    fs::copy(fixture + "/hugging_face/tied", folder_ / "hf", fs::copy_options::recursive);
    fs::copy(fixture + "/marian/untied", folder_ / "marian", fs::copy_options::recursive);
    // A run as it lies on disk, and one of somebody's own folders.
    fs::create_directories(folder_ / "run/checkpoints");
    write_file_atomically(folder_ / "run/sixfold-run", run_mark_text);
    write_file_atomically(folder_ / "run/config.json", "{}");
    write_file_atomically(folder_ / "run/train.jsonl", "{}\n");
    fs::copy(model_, folder_ / "run/model", fs::copy_options::recursive);
    fs::create_directories(folder_ / "own");
    write_file_atomically(folder_ / "own/config.json", "{\"mine\": 1}");
    write_file_atomically(folder_ / "own/thesis.tex", "years of work");
    write_file_atomically(folder_ / "in.a", "a b\n");
    write_file_atomically(folder_ / "in.b", "b a\n");
    write_file_atomically(folder_ / "in.tsv", "a b\tc\n");
    write_file_atomically(folder_ / "in.json", "{\"data\": []}");
    write_file_atomically(folder_ / "c.yaml",
                          "model: {d_model: 8, d_ff: 8, heads: 1, encoder_layers: 1, decoder_layers: 1}\n"
                          "tokenizer: {kind: whitespace, vocab_size: 0}\n"
                          "data: {train: [" +
                              (folder_ / "in.a") + ", " + (folder_ / "in.b") + "]}\ntrain: {updates: 2}\n");
  }

  /// Runs it, and expects an error with `part` and every file as it was.
  void expect_refused(const std::string& command, const std::string& part) {
    SCOPED_TRACE(command);
    const auto before = contents(folder_.path());
    expect_error(sixfold(command), part);
    EXPECT_EQ(contents(folder_.path()), before);
  }

  TemporaryFolder folder_;
  const std::string model_ = folder_ / "model", other_ = folder_ / "other";
};

struct FolderCommand {
  const char* name;
  const char* command;  ///< without the output
  const char* input;    ///< a folder that it reads
};

constexpr FolderCommand folder_commands[] = {
    {"quantize", "quantize $HERE/model --output ", "model"},
    {"average", "average $HERE/model $HERE/other --output ", "model"},
    {"import hf", "import hf $HERE/hf --output ", "hf"},
    {"import marian",
     "import marian $HERE/marian/model.npz --vocabs $HERE/marian/joint.spm $HERE/marian/joint.spm --output ",
     "marian"},
    {"export hf", "export hf $HERE/model --output ", "model"},
};

TEST_F(Replacing, AFolderOfSomebodysIsLeftAlone) {
  for (const FolderCommand& c : folder_commands) {
    expect_refused(c.command + (folder_ / "own"), "already exists");
    expect_refused(c.command + (folder_ / "run"), "already exists");
    expect_refused(c.command + (folder_ / "in.a"), "is a file");
  }
}

TEST_F(Replacing, WhatIsReadIsNotWritten) {
  for (const FolderCommand& c : folder_commands) {
    const std::string input = folder_ / c.input;
    const bool reads_files = std::string(c.name) == "import marian";
    expect_refused(c.command + input,
                   reads_files ? "contains an input of the command" : "is an input of the command");
    if (!reads_files) expect_refused(c.command + input + "/new", "is inside an input of the command");
    expect_refused(c.command + folder_.path().string(), "contains an input of the command");
    // By another name, too.
    expect_refused(c.command + (folder_ / "own/../") + c.input + "/", "an input of the command");
    fs::create_directory_symlink(input, folder_ / "link");
    expect_refused(c.command + (folder_ / "link"), "an input of the command");
    fs::remove(folder_ / "link");
  }
}

/// Files of an input may lie elsewhere, as in a store to which it has links.
TEST_F(Replacing, WhatAnInputHasLinksToIsNotWritten) {
  const std::string linked = folder_ / "linked", store = folder_ / "store.txt";
  fs::create_directories(linked);
  for (const auto& entry : fs::directory_iterator(model_))
    fs::create_symlink(entry.path(), fs::path(linked) / entry.path().filename());
  for (const char* command : {"quantize", "average", "export hf"})
    expect_refused(std::string(command) + " $HERE/linked --output $HERE/model", "to which the input");
  fs::remove(linked + "/model.safetensors");
  fs::copy_file(model_ + "/model.safetensors", store);
  fs::create_symlink(store, linked + "/model.safetensors");
  for (const char* command :
       {"translate $HERE/linked --input $HERE/in.a", "tokenize $HERE/linked --input $HERE/in.a",
        "score $HERE/linked --source $HERE/in.a --target $HERE/in.b"})
    expect_refused(command + (" --output " + store), "is a file to which");
}

/// A link to what does not exist yet is followed, so that what it names is checked.
TEST_F(Replacing, ALinkToNothingIsSeenThrough) {
  fs::create_symlink(folder_ / "run/best", folder_ / "best");
  fs::create_symlink(folder_ / "run/model/out.txt", folder_ / "out");
  fs::create_symlink(folder_ / "model/new", folder_ / "inner");
  for (const FolderCommand& c : folder_commands)
    expect_refused(c.command + (folder_ / "best"), "belongs to the training run");
  expect_refused("quantize $HERE/model --output $HERE/inner", "is inside an input of the command");
  expect_refused("tokenize $HERE/model --input $HERE/in.a --output $HERE/out", "belongs to the training run");
  fs::create_symlink(folder_ / "run/model/stolen", folder_ / "own/train.en");
  expect_refused("demo-corpus --pairs 30 --held-out 5 --output $HERE/own",
                 "is a link to a file that does not exist");
  fs::create_symlink("target", folder_ / "good");
  EXPECT_EQ(sixfold("quantize $HERE/model --output $HERE/good/").status, 0);
  EXPECT_TRUE(fs::exists(folder_ / "target/model.safetensors"));
}

/// Of two that write at once, one is refused.
TEST_F(Replacing, GeneratedFilesAreAllOfOneCommand) {
  const std::string command = SIXFOLD_BINARY " demo-corpus --pairs 200 --held-out 20 --output ";
  for (int i = 0; i < 8; ++i) {
    const std::string two = folder_ / fmt::format("two-{}", i), one = folder_ / fmt::format("one-{}", i);
    const Outcome both = shell(command + two + " --seed 1 2>/dev/null & " + command + two +
                               " --seed 2 2>/dev/null; first=$?; wait $!; echo $first $?");
    const bool first = both.text.ends_with("0 2\n") || both.text.ends_with("0 0\n"),
               second = both.text.ends_with("2 0\n") || both.text.ends_with("0 0\n");
    ASSERT_TRUE(first || second) << both.text;  // both, if one had ended before the other began
    bool is_of_one = false;
    for (const int seed : {1, 2}) {
      const std::string own = fmt::format("{}-{}", one, seed);
      ASSERT_EQ(shell(fmt::format("{}{} --seed {}", command, own, seed)).status, 0);
      is_of_one =
          is_of_one || ((seed == 2 ? first : second) && shell("diff -r " + own + " " + two).text.empty());
    }
    EXPECT_TRUE(is_of_one) << both.text;
  }
}

TEST_F(Replacing, ARunsPartsAreItsOwn) {
  for (const FolderCommand& c : folder_commands)
    for (const char* part : {"run/model", "run/best", "run/checkpoints/update-000000001", "run/encoded-text"})
      expect_refused(c.command + (folder_ / part), "belongs to the training run");
}

TEST_F(Replacing, AModelMayBeReplacedByAnother) {
  for (const FolderCommand& c : folder_commands) {
    SCOPED_TRACE(c.name);
    const std::string target = folder_ / "target", beside = folder_ / "run/mine";
    fs::remove_all(target);
    fs::copy(other_, target, fs::copy_options::recursive);
    write_file_atomically(target + "/history.json", "[]");  // what version 0.1.0 called provenance.json
    if (std::string(c.name) == "export hf") {
      expect_refused(c.command + target, "not empty");
      continue;
    }
    EXPECT_EQ(sixfold(c.command + target).status, 0);
    EXPECT_NE(read_file(target + "/provenance.json").find("step"), std::string::npos);
    EXPECT_FALSE(fs::exists(target + "/history.json"));
    fs::remove_all(beside);
    EXPECT_EQ(sixfold(c.command + beside).status, 0) << "a folder of one's own in a run's";
    // With anything else in it, it is no longer only a model.
    write_file_atomically(target + "/notes.txt", "mine");
    expect_refused(c.command + target, "holds 'notes.txt'");
  }
}

TEST_F(Replacing, FilesThatAreReadOrBelongToAModelAreNotWritten) {
  write_file_atomically(folder_ / "run/train.jsonl",
                        "{\"update\": 1, \"loss\": 2.5}\n{\"update\": 2, \"loss\": 2}\n");
  const std::map<std::string, std::string> commands{
      {"translate $HERE/model --input $HERE/in.a --output ", "in.a"},
      {"tokenize $HERE/model --input $HERE/in.a --output ", "in.a"},
      {"score $HERE/model --source $HERE/in.a --target $HERE/in.b --output ", "in.b"},
      {"shortlist $HERE/model --source $HERE/in.a --target $HERE/in.b --output ", "in.a"},
      {"caption $HERE/captioner --input $HERE/a.pgm --output ", "a.pgm"},
      {"embed $HERE/embedder --input $HERE/in.a --output ", "in.a"},
      {"embed $HERE/embedder --format npy --input $HERE/in.a --output ", "in.a"},
      {"embed $HERE/embedder --cosine --source $HERE/in.a --target $HERE/in.b --output ", "in.b"},
      {"answer $HERE/answerer --input $HERE/in.tsv --output ", "in.tsv"},
      {"answer $HERE/answerer --input $HERE/in.json --output ", "in.json"}};
  for (const auto& [command, input] : commands) {
    expect_refused(command + (folder_ / input), "is an input of the command");
    expect_refused(command + (folder_ / "./") + input, "is an input of the command");
    expect_refused(command + (folder_ / "model/config.json"), "belongs to the model");
    expect_refused(command + (folder_ / "run/train.jsonl"), "belongs to the training run");
    expect_refused(command + (folder_ / "run/model/out.txt"), "belongs to the training run");
    EXPECT_EQ(sixfold(command + (folder_ / "run/out.txt")).status, 0) << command;
    EXPECT_EQ(sixfold(command + (folder_ / "run/out.txt")).status, 0) << "its own output, again";
  }
  fs::copy_file(folder_ / "run/train.jsonl", folder_ / "log.svg");
  expect_refused("plot curves $HERE/log.svg --output $HERE/log.svg", "is an input of the command");
  expect_refused("plot schedule $HERE/c.yaml --output $HERE/c.yaml", "");
  fs::copy_file(folder_ / "c.yaml", folder_ / "c.svg");
  expect_refused("plot positions $HERE/c.svg --output $HERE/c.svg", "is an input of the command");
  fs::copy_file(folder_ / "a.pgm", folder_ / "a.svg");
  expect_refused("plot patches $HERE/captioner --input $HERE/a.svg --output $HERE/a.svg",
                 "is an input of the command");
  const std::string layers = "bench layers --kinds attention --n 2,4 --d 8 --repeat 1 --output ";
  expect_refused(layers + (folder_ / "run/model/layers.svg"), "belongs to the training run");
  EXPECT_EQ(sixfold(layers + (folder_ / "run/layers.svg")).status, 0);
  EXPECT_EQ(sixfold(layers + (folder_ / "run/layers.svg")).status, 0) << "its own output, again";
}

TEST_F(Replacing, ARunBeginsInAFolderOfItsOwn) {
  const std::string train = "train $HERE/c.yaml --output ";
  for (const char* flags : {"", " --resume"}) {
    expect_refused(train + (folder_ / "own") + flags, "is not the folder of a training run");
    expect_refused(train + model_ + flags, "is not the folder of a training run");
    expect_refused(train + folder_.path().string() + flags, "is not the folder of a training run");
    expect_refused(train + (folder_ / "in.a") + flags, "is a file");
  }
  expect_refused("train $HERE/c.yaml --resume --output $HERE/run", "checkpoints of the run are missing");
  expect_refused("train $HERE/c.yaml --output $HERE/run", "already holds a run");
  write_file_atomically(folder_ / "other.yaml", "task: language_model\ndata: {train: [$HERE/in.a]}\n");
  expect_refused("train $HERE/other.yaml --resume --output $HERE/run --set train.updates=9",
                 "is a run of the task translation, and the config is of language_model");
  for (const char* command : {"train $HERE/c.yaml", "translate $HERE/model", "average $HERE/run/checkpoints"})
    expect_refused(std::string(command) + " --output ''", "the name is empty");
  expect_refused(train + (folder_ / "run/checkpoints/new"), "belongs to the training run");
  expect_refused(train + (folder_ / "run/best/inner"), "belongs to the training run");
  // A file of the mark's name that says something else is somebody's.
  write_file_atomically(folder_ / "own/sixfold-run", "#!/bin/sh\necho my own script\n");
  expect_refused(train + (folder_ / "own"), "is not the folder of a training run");
  fs::remove(folder_ / "own/sixfold-run");
  // A pipe can be read once only: it would be waited for for ever.
  expect_error(shell("mkfifo $HERE/pipe; timeout -s KILL 20 " SIXFOLD_BINARY
                     " train $HERE/c.yaml --output $HERE/piped --set data.train=$HERE/pipe,$HERE/in.b"),
               "pipe: is not a regular file");
  fs::create_directory(folder_ / "empty");
  EXPECT_EQ(sixfold(train + (folder_ / "empty")).status, 0);
  fs::create_symlink("elsewhere", folder_ / "to-elsewhere");
  EXPECT_EQ(sixfold(train + (folder_ / "to-elsewhere")).status, 0);
  EXPECT_TRUE(fs::exists(folder_ / "elsewhere/model/model.safetensors"));
}

TEST_F(Replacing, ASweepBeginsInAFolderOfItsOwn) {
  const std::string sweep = "sweep $HERE/c.yaml --output ";
  expect_refused(sweep + (folder_ / "own"), "is not the folder of a sweep");
  expect_refused(sweep + model_, "is not the folder of a sweep");
  expect_refused(sweep + (folder_ / "run"), "is not the folder of a sweep");
  expect_refused(sweep + folder_.path().string(), "is not the folder of a sweep");
  expect_refused(sweep + (folder_ / "in.a"), "is a file");
  expect_refused(sweep + (folder_ / "run/model"), "belongs to the training run");
  expect_refused(sweep + (folder_ / "run/checkpoints/new"), "belongs to the training run");
  // A file of the mark's name that says something else is somebody's.
  write_file_atomically(folder_ / "own/sixfold-sweep", "mine");
  expect_refused(sweep + (folder_ / "own"), "is not the folder of a sweep");
  fs::remove(folder_ / "own/sixfold-sweep");
  EXPECT_EQ(sixfold(sweep + (folder_ / "sweep")).status, 0);
  EXPECT_EQ(sixfold(sweep + (folder_ / "sweep")).status, 0) << "its own folder, again";
  // In it only the folders of runs and the table are its own.
  expect_refused("train $HERE/c.yaml --output " + (folder_ / "sweep"), "is not the folder of a training run");
  expect_refused("quantize $HERE/model --output " + (folder_ / "sweep/c/model"), "belongs to the training run");
  write_file_atomically(folder_ / "sweep/notes.txt", "mine");
  EXPECT_EQ(sixfold(sweep + (folder_ / "sweep")).status, 0);
  EXPECT_EQ(read_file(folder_ / "sweep/notes.txt"), "mine");
  fs::copy_file(folder_ / "c.yaml", folder_ / "another.yaml");
  fs::create_directories(folder_ / "sweep/another");
  write_file_atomically(folder_ / "sweep/another/thesis.tex", "years of work");
  expect_refused("sweep $HERE/another.yaml --output " + (folder_ / "sweep"),
                 "another: holds other files and is not the folder of a training run");
}

TEST_F(Replacing, NothingElseIsPutIntoARunsParts) {
  for (const char* command :
       {"man $HERE/run/model", "demo-corpus --pairs 30 --held-out 5 --output $HERE/run/best/new",
        "demo-images --pictures 30 --held-out 5 --output $HERE/run/best/new",
        "demo-questions --texts 30 --held-out 5 --output $HERE/run/best/new"})
    expect_refused(command, "belongs to the training run");
  EXPECT_FALSE(fs::exists(folder_ / "run/best"));
}

TEST_F(Replacing, StandardInputIsNotWritten) {
  for (const char* command : {"translate $HERE/model", "tokenize $HERE/model"})
    expect_refused(std::string(command) + " --output $HERE/in.a < $HERE/in.a",
                   "is the standard input of the command");
  write_file_atomically(folder_ / "kept", "hi\n");
  const Outcome outcome =
      shell(SIXFOLD_BINARY " tokenize $HERE/model -i $HERE/in.a -o /dev/stdout >> $HERE/kept");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.text.find("/dev/stdout: is the standard output of the command"), std::string::npos)
      << outcome.text;
  EXPECT_EQ(read_file(folder_ / "kept"), "hi\n");
}

TEST_F(Replacing, PipesAreNamed) {
  const std::string tokenize = SIXFOLD_BINARY " tokenize $HERE/model -i $HERE/in.a -o ";
  const std::string before = shell("ls $HERE").text;
  for (const auto& [pipe, expected] :
       {std::pair("/dev/stdout | cat", "/dev/stdout: is the standard output of the command; omit the option"),
        {"/dev/fd/9 9> >(cat)", "/dev/fd/9: is not a regular file; write to standard output"}})
    EXPECT_NE(shell("bash -c '" + tokenize + pipe + "' 2>&1").text.find(expected), std::string::npos)
        << shell("bash -c '" + tokenize + pipe + "' 2>&1").text;
  EXPECT_EQ(shell("ls $HERE").text, before);
}

/// A file that grows too large is an error that names it, and leaves nothing.
TEST_F(Replacing, AFileThatIsTooLargeIsAnError) {
  const std::string command =
      "for i in 1 2 3 4 5 6 7 8 9; do cat $HERE/in.a; done > $HERE/many; ulimit -f 0; " SIXFOLD_BINARY
      " tokenize $HERE/model --input $HERE/many --output $HERE/out";
  const Outcome outcome = shell(command);
  EXPECT_EQ(outcome.status, 1) << outcome.text;
  EXPECT_NE(outcome.text.find("out: can't write: File too large"), std::string::npos) << outcome.text;
  for (const auto& entry : fs::directory_iterator(folder_.path()))
    EXPECT_EQ(entry.path().string().find(".tmp-"), std::string::npos) << entry.path();
}

TEST_F(Replacing, GeneratedFilesReplaceNoOthers) {
  for (const auto& [command, file] :
       {std::pair("demo-corpus --pairs 30 --held-out 5 --output $HERE/own", "valid.de"),
        {"demo-images --pictures 30 --held-out 5 --output $HERE/own", "valid.images"},
        {"demo-questions --texts 30 --held-out 5 --output $HERE/own", "valid.tsv"}}) {
    const std::string path = (folder_ / "own/") + file;
    write_file_atomically(path, "mine");
    expect_refused(command, std::string(file) + ": already exists");
    fs::remove(path);
    EXPECT_EQ(sixfold(command).status, 0);
    EXPECT_EQ(sixfold(command).status, 0) << "the same again";
    expect_refused(std::string(command) + " --seed 2", "already exists");
    expect_refused(std::string(command).replace(std::string(command).find("/own"), 4, "/in.a"), "is a file");
  }
  EXPECT_EQ(read_file(folder_ / "own/thesis.tex"), "years of work");
}

/// The two lists of a tokenizer's file names, in folders of the source that can't see each other, say the same.
TEST(Ownership, KnowsTheFilesOfAModel) {
  const TemporaryFolder folder;
  for (const bool joint : {true, false}) {
    write_small_model(folder / (joint ? "joint" : "two"), 1, joint);
    for (const auto& entry : fs::directory_iterator(folder / (joint ? "joint" : "two")))
      EXPECT_TRUE(is_model_file(entry.path().filename().string())) << entry.path();
  }
  for (const char* name : {"tokenizer.spm", "source.vocab", "target.spm", "tokenizer.bpe", "source.bpe",
                           "target.bpe", "tokenizer.bytes", "source.characters"}) {
    EXPECT_TRUE(is_tokenizer_file(name));
    EXPECT_TRUE(is_model_file(name));
  }
  for (const char* name : {"notes.txt", "config.yaml", "model", "", "state.json"})
    EXPECT_FALSE(is_model_file(name));
}

}  // namespace
}  // namespace sixfold
