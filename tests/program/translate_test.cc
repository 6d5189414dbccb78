#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "data/gzip.h"
#include "data/lines.h"
#include "program/translate_fixture.h"
#include "tasks/translation/translator.h"

namespace sixfold {
namespace {

std::string many_lines(int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i) {
    for (int j = 0; j < i % 7; ++j) text += std::string(1, static_cast<char>('a' + (i + j * j) % 8)) + " ";
    text += "\n";
  }
  return text;
}

TEST_F(Translate, SaysWhatTheLibrarySays) {
  const Outcome outcome = translate("a b c\nh\n");
  const Translator translator(model_, {.threads = 1});
  EXPECT_EQ(outcome.text, translator.translate("a b c") + "\n" + translator.translate("h") + "\n");
  const std::vector<std::string> greedy = translator.translate({"a b c"}, {.beam_size = 1});
  EXPECT_EQ(translate("a b c", "--beam-size 1").text, greedy[0] + "\n");
}

/// Parts of translations with other options must not be joined, whichever options there are.
TEST_F(Translate, PartsAreDescribedByAllOptions) {
  const Outcome outcome =
      sixfold("translate " + model_ + " --input " + file("input", "a\n") + " --output " + (folder_ / "out") +
              " --part 1/2 --beam-size 2 --shortlist " + file("empty", ""));
  EXPECT_EQ(outcome.status, 2) << "the shortlist is none, but the description comes first";
  const auto job = nlohmann::json::parse(read_file(folder_ / "out.parts/translation.json"));
  EXPECT_EQ(job.at("--beam-size"), "2");
  EXPECT_EQ(job.at("--n-best"), "1");
  EXPECT_EQ(job.at("--precision"), "stored");
  EXPECT_EQ(job.at("--keep-symbols"), "true") << "what counts where nothing is given";
  EXPECT_EQ(job.at("--target-language"), "default");
  EXPECT_EQ(job.at("--shortlist").get<std::string>().find("empty"), std::string::npos) << "its contents count";
  std::istringstream help(sixfold("translate --help").text);
  const std::vector<std::string> no_effect{"--help", "--output", "--part", "--batch-tokens", "--threads"};
  int described = 0;
  for (std::string line; std::getline(help, line);) {
    const size_t name = line.find("--");
    if (!line.starts_with("  -") || name > 5) continue;
    const std::string option = line.substr(name, line.find_first_of(" =,", name) - name);
    EXPECT_EQ(job.contains(option), std::ranges::count(no_effect, option) == 0) << option;
    ++described;
  }
  EXPECT_GT(described, 20);
}

TEST_F(Translate, PartsMayUseNoShortlist) {
  const Outcome outcome = sixfold("translate " + model_ + " --shortlist none --part 1/1 --input " +
                                  file("input", "a\n") + " --output " + (folder_ / "out"));
  EXPECT_EQ(outcome.status, 0) << outcome.text;
}

/// A paragraph is a line, however many sentences those before it have.
TEST_F(Translate, WarningsNameTheLineOfASentence) {
  const std::string input = file("input", "a. b.\na. b. c.\nb. a b c d e f g h. b.\n");
  for (const char* part : {"", " --part 1/1"}) {
    const Outcome outcome =
        sixfold("translate " + model_ + " --split-sentences en --max-source-length 4 --input " + input +
                " --output " + (folder_ / "out") + part);
    EXPECT_NE(outcome.text.find("warning: line 3: has"), std::string::npos) << outcome.text;
  }
}

/// An option that is given with the value that counts without it changes nothing.
TEST_F(Translate, PartsWithDefaultsWrittenOutAreTheSameTranslation) {
  const std::string command =
      "translate " + model_ + " --input " + file("input", many_lines(5)) + " --output " + (folder_ / "out");
  EXPECT_EQ(sixfold(command + " --part 1/2").status, 0);
  for (const char* option : {"--format text", "--invalid-utf8 error", "--precision stored", "--markup none",
                             "--keep-symbols true", "--n-best 1", "--max-source-length 1024"})
    EXPECT_EQ(sixfold(command + " --part 2/2 " + option).status, 0) << option;
  expect_error(sixfold(command + " --part 2/2 --keep-symbols false"),
               "--keep-symbols (\"false\", and was \"true\")");
}

TEST_F(Translate, KeepsLinesAndTheirOrder) {
  EXPECT_EQ(translate("").text, "");
  EXPECT_EQ(translate("\n\n").text, "\n\n");
  const std::string text = many_lines(300), last = translate("a b c\n").text;
  const std::string whole = translate(text).text;
  EXPECT_EQ(std::count(whole.begin(), whole.end(), '\n'), 300);
  EXPECT_EQ(translate("\n" + text + "a b c").text, "\n" + whole + last);  // no line end at the end
  std::string crlf;
  for (const char c : text) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_EQ(translate(crlf).text, whole);
}

TEST_F(Translate, NamesTheLineThatItCuts) {
  const std::string many(5000, '\n');  // more than are translated at once
  const Outcome outcome = translate(many + "a b c d\n", "--max-source-length 3");
  EXPECT_NE(outcome.text.find("line 5001: has 4 tokens and was cut to the first 3"), std::string::npos)
      << outcome.text;
}

TEST_F(Translate, SaysTheSameHoweverItIsRun) {
  const std::string text = many_lines(60), whole = translate(text).text;
  EXPECT_EQ(translate(text, "--batch-tokens 1 --threads 1").text, whole);
  EXPECT_EQ(translate(text, "--threads 2").text, whole);
  write_gzip(folder_ / "input.gz", text);
  const std::string out = folder_ / "out";
  const Outcome files =
      sixfold("translate " + model_ + " --input " + (folder_ / "input.gz") + " --output " + out);
  EXPECT_EQ(files.status, 0);
  EXPECT_EQ(files.text, "");
  EXPECT_EQ(read_file(out), whole);
}

TEST_F(Translate, AnswersALineBeforeTheNextIsTyped) {
  const Outcome outcome = type_two_lines(folder_.path().string(), program_, "a b", "c");
  EXPECT_EQ(outcome.text, "status 0\n" + translate("a b\nc\n").text);
}

TEST_F(Translate, EndsWellWhenItsReaderHasGone) {
  const std::string input = file("input", many_lines(20'000));
  const Outcome outcome =
      shell("{ timeout -s KILL 20 " + program_ + " < " + input + "; echo status $? >&2; } | head -n 1");
  const size_t status = outcome.text.find("status 0\n");
  ASSERT_NE(status, std::string::npos) << outcome.text;
  EXPECT_EQ(outcome.text.size(), std::string("status 0\n").size() + translate("\n").text.size())
      << outcome.text;
}

TEST_F(Translate, SaysThatItsOutputWasLost) {
  const Outcome full = shell("echo a | " + program_ + " > /dev/full");
  EXPECT_EQ(full.status, 1);
  EXPECT_NE(full.text.find("can't write to standard output: No space left on device"), std::string::npos)
      << full.text;
  expect_error(sixfold("translate " + model_ + " --input " + file("input", "a") + " --output " +
                       folder_.path().string()),
               "");
  EXPECT_EQ(shell("echo a | " + program_ + " --output " + (folder_ / "nowhere/out")).status, 1);
}

TEST_F(Translate, WritesTheFormatsAskedFor) {
  const std::string text = "a b c\n\nh\n";
  const auto lines_of = [](const std::string& all) { return std::count(all.begin(), all.end(), '\n'); };
  EXPECT_EQ(lines_of(translate(text, "--n-best 2").text), 6);
  const std::string tsv = translate(text, "--format tsv --n-best 2 --token-scores --alignments").text;
  EXPECT_EQ(lines_of(tsv), 5);  // the empty line has but one
  EXPECT_TRUE(tsv.starts_with("1\t1\t-")) << tsv;
  std::istringstream jsonl(translate(text, "--format jsonl --token-scores --attention --layer 0").text);
  std::vector<nlohmann::json> objects;
  for (std::string line; std::getline(jsonl, line);) objects.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(objects.size(), 3u);
  EXPECT_EQ(objects[0].at("source"), "a b c");
  EXPECT_EQ(objects[2].at("line"), 3);
  const auto& best = objects[0].at("translations")[0];
  EXPECT_EQ(best.at("text").get<std::string>() + "\n", translate("a b c\n").text);
  EXPECT_EQ(best.at("tokens").back().at("piece"), "</s>");
  EXPECT_EQ(best.at("attention").at("heads").size(), 2u);
  EXPECT_EQ(best.at("attention").at("heads")[0].size(), best.at("tokens").size());
  EXPECT_EQ(best.at("attention").at("heads")[0][0].size(), 4u);
  EXPECT_EQ(nlohmann::json::parse(translate(text, "--format json").text).size(), 3u);
  EXPECT_EQ(nlohmann::json::parse(translate("", "--format json").text).size(), 0u);
  EXPECT_NE(translate("a b\n", "--alignments").text.find(" ||| "), std::string::npos);
}

TEST_F(Translate, WritesNBestListsOfMoses) {
  const std::string list = translate("a b c\n\nh\n", "--n-best 2 --format moses --alignments").text;
  std::istringstream lines(list);
  std::vector<nlohmann::json> objects;
  std::istringstream jsonl(translate("a b c\n\nh\n", "--n-best 2 --format jsonl --alignments").text);
  for (std::string line; std::getline(jsonl, line);) {
    const auto object = nlohmann::json::parse(line);
    for (const auto& one : object["translations"]) {
      std::string expected;
      std::getline(lines, expected);
      EXPECT_EQ(fmt::format("{} ||| {} ||| logprob= {:.6f} ||| {:.6f} ||| {}", object["line"].get<int>() - 1,
                            one["text"].get<std::string>(), one["log_probability"].get<double>(),
                            one["score"].get<double>(), one["alignment"].get<std::string>()),
                expected);
    }
  }
  EXPECT_EQ(std::count(list.begin(), list.end(), '\n'), 5);
  // Text that looks like a separator does not separate.
  EXPECT_NE(translate("a ||| b\n", "--format moses --keep-symbols true").text.find(" ||| logprob= "),
            std::string::npos);
  EXPECT_EQ(translate("|||\n", "--format moses").text,
            "0 ||| &#124;&#124;&#124; ||| logprob= 0.000000 ||| 0.000000\n");
}

TEST_F(Translate, RefusesWhatAFormatHasNoPlaceFor) {
  expect_error(refused("--token-scores"), "--token-scores: --format text can't contain them");
  expect_error(refused("--format moses --confidence"), "--confidence: --format moses can't contain it");
  expect_error(refused("--attention --format tsv"), "--attention: only --format json and jsonl");
  expect_error(refused("--layer 1"), "layer has no effect without");
  expect_error(refused("--alignments --layer 7"), "layer 7");
  expect_error(refused("--coverage-penalty 1 --layer 7"), "layer 7");
  expect_error(refused("--coverage-penalty -1"), "--coverage-penalty: expected a number at least 0");
  expect_error(refused("--n-best 9 --beam-size 4"), "n_best is 9, but beam_size is 4");
  expect_error(refused("--format xml"), "expected one of text, tsv, json, jsonl");
  expect_error(refused("--split-sentences qqq"), "unknown language 'qqq'");
}

TEST_F(Translate, SplitsParagraphs) {
  const std::string quiet = " 2>/dev/null";  // "A" and "a." are unknown to the model
  const std::string one = translate("b e a a a.\n", quiet).text, two = translate("A b a a a\n", quiet).text;
  ASSERT_TRUE(one != "\n" && two != "\n" && one != two) << one << two;
  EXPECT_EQ(translate("b e a a a.  A b a a a\n", "--split-sentences en" + quiet).text,
            one.substr(0, one.size() - 1) + "  " + two);
}

TEST_F(Translate, ScoresGivenPairs) {
  const std::string source = file("s", "a b\nc\n"), target = file("t", "h g\nf\n");
  const std::string score = "score " + model_ + " --source " + source + " --target " + target;
  const Outcome text = sixfold(score);
  EXPECT_EQ(text.status, 0) << text.text;
  EXPECT_NE(text.text.find("2 pairs, 5 target tokens: log-probability -"), std::string::npos) << text.text;
  const Outcome tsv = sixfold(score + " --format tsv --token-scores --output " + (folder_ / "out"));
  const std::string out = read_file(folder_ / "out");
  EXPECT_NE(out.find("\t3\t"), std::string::npos) << out;
  EXPECT_NE(out.find("h:-"), std::string::npos) << out;
  const auto json =
      nlohmann::json::parse(shell(SIXFOLD_BINARY " " + score + " --format json --alignments 2>/dev/null").text);
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[1].at("text"), "f");
  EXPECT_NEAR(json[0].at("perplexity").get<double>(),
              std::exp(-json[0].at("log_probability").get<double>() / 3), 1e-6);
  expect_error(sixfold("score " + model_ + " --source " + source + " --target " + file("x", "one\n")),
               "ends after line 1");
  expect_error(sixfold("score " + model_ + " --source " + file("e", "") + " --target " + file("e", "")),
               "are empty");
  expect_error(sixfold("score " + model_ + " --source - --target -"), "can't both be standard input");
}

TEST_F(Translate, LeavesNothingWhereItIsInterrupted) {
  const std::string out = folder_ / "out";
  const Outcome outcome = shell("mkfifo " + (folder_ / "in") + "; " + program_ + " --output " + out + " < " +
                                (folder_ / "in") + " & exec 3> " + (folder_ / "in") +
                                "; echo a b >&3; sleep 0.5; kill -TERM $!; wait $!; echo status $?");
  EXPECT_EQ(outcome.text, "status 143\n");
  EXPECT_EQ(folder_.entries(), 2);  // the model and the pipe
}

/// A single line may take minutes.
TEST_F(Translate, IsInterruptedWithinALine) {
  std::string config = read_file(model_ + "/config.json");
  for (const auto& [key, value] :
       {std::pair("length_offset", "1000000"), std::pair("min_new_tokens", "900000")}) {
    const size_t place = config.find(":", config.find(fmt::format("\"{}\"", key))) + 1;
    config.replace(place, config.find_first_of(",\n", place) - place, value);
  }
  write_file_atomically(model_ + "/config.json", config);
  const Outcome outcome = shell("echo a b | " + program_ + " --beam-size 1 --output " + (folder_ / "out") +
                                " & sleep 0.5; kill -TERM $!; wait $!; echo status $?");
  EXPECT_EQ(outcome.text, "status 143\n");
  EXPECT_EQ(folder_.entries(), 1);  // the model
}

TEST_F(Translate, LeavesNothingWhereItsModelCantBeLoaded) {
  std::filesystem::remove(model_ + "/tokenizer.vocab");  // a pipe in its place, on which nobody waits
  const Outcome outcome = shell("mkfifo " + model_ + "/tokenizer.vocab; echo a b | timeout -s KILL 20 " +
                                program_ + " --output " + (folder_ / "out"));
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.text.find("tokenizer.vocab: is not a regular file"), std::string::npos) << outcome.text;
  EXPECT_EQ(folder_.entries(), 1);  // the model
}

TEST_F(Translate, OtherCommandsLeaveNothingEither) {
  for (const std::string& command :
       {"tokenize " + model_, "score " + model_ + " --source - --target " + file("t", "a")}) {
    const std::string in = folder_ / "in";
    const Outcome outcome =
        shell("mkfifo " + in + "; " SIXFOLD_BINARY " " + command + " --output " + (folder_ / "out") + " < " +
              in + " & exec 3> " + in + "; sleep 0.5; kill -TERM $!; wait $!; echo status $?; rm " + in);
    EXPECT_EQ(outcome.text, "status 143\n") << command;
    EXPECT_EQ(folder_.entries(), 2) << command;  // the model and the text
  }
}

TEST_F(Translate, SaysThatThereAreFewerProcessorsThanThreads) {
  const std::string text = "a b c\nb\na\n";
  const Outcome outcome =
      shell(program_ + " --threads 1000 <" + file("text", text) + " 2> " + (folder_ / "warnings"));
  EXPECT_EQ(read_file(folder_ / "warnings").find("warning: --threads is 1000, but "), 0u);
  EXPECT_EQ(outcome.text, translate(text).text);
  EXPECT_EQ(outcome.status, 0);
}

TEST_F(Translate, TreatsInvalidUtf8AsAsked) {
  const std::string text = "a\nb \xff\nc\n";
  expect_error(
      sixfold("translate " + model_ + " --input " + file("bad", text) + " --output " + (folder_ / "out")),
      "bad:2: byte 3 is not valid UTF-8");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
  EXPECT_EQ(translate(text, "--invalid-utf8 skip").text, translate("a\n\nc\n").text);
  EXPECT_EQ(translate(text, "--invalid-utf8 replace 2>/dev/null").text,
            translate("a\nb zebra\nc\n", "2>/dev/null").text);
}

// A NUL would vanish in SentencePiece, and often means UTF-16.
TEST_F(Translate, TreatsNulAsInvalid) {
  const std::string text("a\nb \0\nc\n", 8);
  expect_error(
      sixfold("translate " + model_ + " --input " + file("bad", text) + " --output " + (folder_ / "out")),
      "bad:2: byte 3 is NUL, which is not a character of text (the file may be in UTF-16); convert the text, "
      "or "
      "choose --invalid-utf8 replace or skip");
  EXPECT_EQ(translate(text, "--invalid-utf8 skip").text, translate("a\n\nc\n").text);
  EXPECT_EQ(translate(text, "--invalid-utf8 replace 2>/dev/null").text,
            translate("a\nb \uFFFD\nc\n", "2>/dev/null").text);
}

TEST_F(Translate, GzipsWhatEndsInGz) {
  const std::string text = many_lines(200), input = file("in", text), target = file("target", text);
  const std::string plain = folder_ / "out", packed = folder_ / "out.gz";
  for (const std::string& command :
       {"translate " + model_ + " --input " + input, "tokenize " + model_ + " --input " + input,
        "score " + model_ + " --source " + input + " --target " + target}) {
    EXPECT_EQ(sixfold(command + " -o " + plain).status, 0);
    EXPECT_EQ(sixfold(command + " -o " + packed).status, 0);
    EXPECT_TRUE(read_file(packed).starts_with("\x1f\x8b")) << command;
    EXPECT_EQ(shell("gzip -dc " + packed).text, read_file(plain)) << command;
    EXPECT_EQ(read_lines(packed), read_lines(plain)) << command;
  }
  EXPECT_EQ(sixfold("translate " + model_ + " --input /dev/null -o " + packed).status, 0);
  EXPECT_EQ(shell("gzip -dc " + packed).text, "");
}

/// A model whose translations are mostly bytes.
class OneLine : public Translate {
 protected:
  OneLine() {
    std::filesystem::remove_all(model_);
    write_byte_model(model_, 1);
  }
  static int64_t lines(const Outcome& outcome) {
    return std::count(outcome.text.begin(), outcome.text.end(), '\n');
  }
};

TEST_F(OneLine, InOneLineOut) {
  const std::string text = many_lines(40), all = "--beam-size 4 --n-best 4 ";
  int64_t translations = 0, broken = 0;  // by line ends among the pieces
  std::istringstream objects(translate(text, all + "--token-scores --format jsonl").text);
  for (std::string line; std::getline(objects, line);) {
    const auto object = nlohmann::json::parse(line);
    for (const auto& translation : object.at("translations")) {
      ++translations;
      for (const auto& token : translation.at("tokens"))
        broken += token.at("piece") == "<0x0A>" || token.at("piece") == "<0x0D>";
    }
  }
  EXPECT_GT(broken, 40);
  EXPECT_EQ(lines(translate(text)), 40);
  EXPECT_EQ(lines(translate(text, "--split-sentences en")), 40);
  EXPECT_EQ(lines(translate(text, "--alignments")), 40);
  EXPECT_EQ(lines(translate(text, all)), 160);
  EXPECT_EQ(lines(translate(text, all + "--token-scores --format tsv")), translations);
  EXPECT_EQ(translate(text, all).text.find_first_of(std::string("\r\0", 2)), std::string::npos);
}

TEST_F(OneLine, AlsoOfAParagraphWithCarriageReturns) {
  const Outcome outcome = translate("A b.\r\rC d. \r E f.\n", "--split-sentences en");
  EXPECT_EQ(lines(outcome), 1);
  EXPECT_EQ(outcome.text.find('\r'), std::string::npos);
}

TEST_F(OneLine, OfTokensMadeText) {
  const std::string pieces = "<0x41> <0x0A> <0x42> <0x0D> <0x00> <0x43>\n<0x0D> <0x0A>\n";
  EXPECT_EQ(
      shell("cat " + file("pieces", pieces) + " | " SIXFOLD_BINARY " tokenize " + model_ + " --decode").text,
      "A B \uFFFDC\n  \n");
}

TEST_F(Translate, RefusesWhatItCanNotUse) {
  expect_error(sixfold("translate " + (folder_ / "nowhere") + " < /dev/null"),
               "there is no file or folder of that name");
  expect_error(sixfold("translate " + model_ + " --input " + (folder_ / "nowhere")), "nowhere: can't be read");
  expect_error(sixfold("translate " + model_ + " --input " + model_), "is a folder");
  expect_error(sixfold("translate " + model_ + " --beem-size 2"),
               "unknown option --beem-size; did you mean --beam-size?");
  expect_error(sixfold("translate " + model_ + " --beam-size 0"), "--beam-size");
  expect_error(sixfold("translate " + model_ + " --batch-tokens -1"), "--batch-tokens");
  expect_error(sixfold("translate " + model_ + " --threads -1"), "--threads");
  expect_error(sixfold("translate " + model_ + " --threads 0x1"), "--threads: expected a whole number");
  expect_error(sixfold("translate " + model_ + " --keep-symbols 12.0"),
               "--keep-symbols: expected true or false");
  // What a script gives that forgot a variable.
  for (const char* option : {"--glossary", "--avoid", "--shortlist", "--part", "--layer", "--split-sentences",
                             "--target-language", "--output"})
    expect_error(sixfold("translate " + model_ + " " + option + " '' < /dev/null"),
                 std::string(option) + ": the ");
}

/// Of text in another language than the model's, every word is unknown.
TEST_F(Translate, WarnsOnceOfInputThatTheModelDoesNotKnow) {
  const auto warning = [&](const std::string& input, const std::string& options = "") {
    const std::string text = translate(input, options + " 2>&1 >/dev/null").text;
    const size_t at = text.find("warning: ");
    return at == text.npos ? "" : text.substr(at);
  };
  const std::string known = "a b c d e f g h\n";
  EXPECT_EQ(warning(known + "a Q\n"), "") << "one word in ten";
  const std::string found = warning(known + "a Q\nP\n");
  EXPECT_TRUE(
      found.starts_with("warning: 18.2% of the 11 tokens of the input are not in the vocabulary of the "
                        "model, which can't tell such tokens apart; the first is in line 2."))
      << found;
  EXPECT_EQ(found.find('\n'), found.size() - 1) << "one line";
  EXPECT_NE(warning("<p>a b</p><p>Q</p>", "--markup html").find("the first is in text 2."), std::string::npos);
}

}  // namespace
}  // namespace sixfold
