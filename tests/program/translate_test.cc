#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/file.h"
#include "data/gzip.h"
#include "data/lines.h"
#include "model_folder/binding.h"
#include "program/shell.h"
#include "program/small_model.h"
#include "tasks/translation/translator.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

class Translate : public testing::Test {
 protected:
  Translate() { write_small_model(model_, 1); }

  std::string file(const std::string& name, const std::string& text) {
    write_file_atomically(folder_ / name, text);
    return folder_ / name;
  }
  /// Translates `input` through pipes.
  Outcome translate(const std::string& input, const std::string& options = "") {
    return shell("cat " + file("input", input) + " | " + program_ + " " + options + " | cat");
  }

  TemporaryFolder folder_;
  const std::string model_ = folder_ / "model";
  const std::string program_ = SIXFOLD_BINARY " translate " + model_;
};

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

/// Each setting of generation is an option, in place of that of the model.
TEST_F(Translate, TakesSettingsOfGeneration) {
  write_small_model(model_, 11);
  const std::string plain = translate("a b c\na b\n", "--format jsonl").text;
  EXPECT_EQ(
      translate("a b c\na b\n", "--format jsonl --length-penalty 0.6 --normalization gnmt --min-length 0").text,
      plain);
  const std::string first_id =
      std::to_string(load_bound_tokenizers(model_, load_model_config(model_)).target->encode("h").at(0));
  for (const std::string& option :
       {std::string("--max-length 2"), std::string("--word-penalty 1"), std::string("--coverage-penalty 0.5"),
        std::string("--normalization none"), std::string("--min-length 9"),
        std::string("--repetition-penalty 9"), std::string("--length-factor 0 --length-offset 2"),
        std::string("--length-factor 0 --length-offset 3 --at-longest cut"),
        std::string("--replace-unknown true --suppress-tokens 3,4,5,6,7,8,9"),
        std::string("--suppress-tokens 3,4,5,6,7"), std::string("--begin-suppress-tokens 3,4,5,6,7,8"),
        "--forced-first-token " + first_id, std::string("--suppress-phrases [[3],[4],[5,5]]")})
    EXPECT_NE(translate("a b c\na b\n", std::string("--format jsonl ") + option).text, plain) << option;
  const auto first = nlohmann::json::parse(
      translate("a b c", "--format jsonl --token-scores --max-length 3 --no-repeat-ngram 1").text);
  std::set<std::string> seen;
  for (const auto& token : first["translations"][0]["tokens"]) EXPECT_TRUE(seen.insert(token["piece"]).second);
  EXPECT_LE(seen.size(), 3u);
  expect_error(sixfold("translate " + model_ + " --repetition-penalty 0 < /dev/null"),
               "--repetition-penalty: expected a number above 0");
  expect_error(sixfold("translate " + model_ + " --suppress-tokens 1,x < /dev/null"),
               "--suppress-tokens: expected a whole number");
  expect_error(sixfold("translate " + model_ + " --suppress-tokens 4000 < /dev/null"),
               "the id 4000 is not in the vocabulary");
  expect_error(sixfold("translate " + model_ + " --repetition-penalty 2 --renormalize-logits true < /dev/null"),
               "renormalize_logits is true");
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
    const std::string option = line.substr(name, line.find_first_of(" =", name) - name);
    EXPECT_EQ(job.contains(option), std::ranges::count(no_effect, option) == 0) << option;
    ++described;
  }
  EXPECT_GT(described, 20);
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

TEST_F(Translate, SeveralModelsTranslateTogether) {
  const std::string second = folder_ / "second", third = folder_ / "third", other = folder_ / "other";
  write_small_model(model_, 11);
  write_small_model(second, 12);
  write_small_model(third, 13);
  write_byte_model(other, 14);
  const std::string text = "a b c\nh\n\nb a\n", tsv = "--format tsv ";
  const auto texts_of = [](const std::string& lines) {
    std::string texts;
    std::istringstream all(lines);
    for (std::string line; std::getline(all, line);) texts += line.substr(line.rfind('\t') + 1) + "\n";
    return texts;
  };
  EXPECT_EQ(translate(text, "--ensemble " + model_).text, translate(text).text);
  const std::string three = translate(text, tsv + "--ensemble " + second + " " + third).text;
  EXPECT_NE(three, translate(text, tsv).text);
  EXPECT_EQ(
      translate(text, tsv + "--threads 2 --batch-tokens 8 --ensemble " + second + " --ensemble " + third).text,
      three);
  EXPECT_EQ(texts_of(translate(text, tsv + "--ensemble-weights 1e-6,1e6 --ensemble " + second).text),
            shell("printf 'a b c\\nh\\n\\nb a\\n' | " SIXFOLD_BINARY " translate " + second).text);
  EXPECT_NE(translate(text, tsv + "--ensemble-mean log_probabilities --ensemble " + second + " " + third).text,
            three);
  const std::string input = file("text", text);
  const auto refused = [&](const std::string& options) {
    return shell(program_ + " --input " + input + " --output " + (folder_ / "none") + " --ensemble " + options);
  };
  expect_error(refused(other), "can't translate together: their tokenizers differ");
  expect_error(refused(folder_ / "nowhere"), "there is no file or folder of that name");
  expect_error(refused(second + " --ensemble-weights 1"),
               "ensemble_weights has 1 numbers, but there are 2 models");
  expect_error(refused(second + " --ensemble-weights 1,0"), "--ensemble-weights: expected a number from 1e-06");
  expect_error(refused(second + " --ensemble-weights 1e308,1e308"),
               "--ensemble-weights: expected a number from");
  expect_error(refused(second + " --beam-size 1 --repetition-penalty 1.5"),
               "repetition_penalty is 1.5, but an ensemble");
  expect_error(refused(second + " --sample --repetition-penalty 1.5"),
               "repetition_penalty is 1.5, but an ensemble");
  expect_error(refused(folder_ / "nowhere --part 1/2"), "there is no file or folder of that name");
  expect_error(shell(program_ + " --ensemble-mean log_probabilities --input " + input),
               "have no effect without an ensemble");
  expect_error(shell(program_ + " --ensemble-weights 1 --input " + input),
               "have no effect without an ensemble");
  expect_error(refused(second + " --ensemble-weights inf,1"), "--ensemble-weights");
  for (const char* option : {"--alignments", "--token-scores --format tsv", "--confidence --format tsv",
                             "--attention --format json", "--replace-unknown true", "--coverage-penalty 0.1"})
    expect_error(refused(second + " " + option), "an ensemble ");
  expect_error(refused(second + " --markup html"), "an ensemble ");
  // Parts of it are not those of a translation by other models.
  const std::string command = "translate " + model_ + " --input " + input + " --output " + (folder_ / "out");
  EXPECT_EQ(sixfold(command + " --part 1/2 --ensemble " + second).status, 0);
  expect_error(sixfold(command + " --part 2/2 --ensemble " + third), "--ensemble");
  EXPECT_EQ(sixfold(command + " --part 2/2 --ensemble " + second).status, 0);
}

TEST_F(Translate, DrawsTranslations) {
  const std::string text = "a b c\nh\na b c\n";
  const auto drawn = [&](const std::string& options) {
    return translate(text, "--format tsv --sample " + options).text;
  };
  const std::string three = drawn("--n-best 3");
  EXPECT_EQ(drawn("--n-best 3 --threads 2 --batch-tokens 8"), three);
  EXPECT_NE(drawn("--n-best 3 --seed 2"), three);
  EXPECT_NE(drawn("--n-best 3 --temperature 0.1"), three);
  EXPECT_EQ(translate(text, "--sample --temperature 0").text, translate(text, "--beam-size 1").text);
  EXPECT_EQ(translate(text, "--sample --top-k 1").text, translate(text, "--beam-size 1").text);
  const std::string all = translate(text, "--sample --n-best 8").text;
  std::istringstream least_risk(translate(text, "--sample --mbr 8").text);
  for (std::string line; std::getline(least_risk, line);) EXPECT_NE(all.find(line + "\n"), std::string::npos);
  const std::string input = file("line", "a\n");
  const auto refused = [&](const std::string& options) {
    return shell(program_ + " " + options + " --input " + input + " --output " + (folder_ / "none"));
  };
  expect_error(refused("--sample --beam-size 2"), "beam_size has no effect");
  expect_error(refused("--top-p 0.9"), "top_p has no effect");
  expect_error(refused("--seed 5"), "seed has no effect");
  for (const char* option : {"--constraints ", "--avoid ", "--glossary "})
    expect_error(refused(std::string("--sample ") + option + input), "--sample draws translations");
  EXPECT_EQ(
      translate("a b", "--sample --normalization length --length-penalty 1 --max-length 1 --format tsv").text,
      "1\t1\t0.000000\t\n");
  expect_error(refused("--mbr 2 --n-best 3"), "mbr chooses among 2");
  expect_error(refused("--mbr 1001"), "--mbr");
  expect_error(refused("--sample --top-p 0"), "--top-p");
  expect_error(refused("--sample --temperature -1"), "--temperature");
  expect_error(refused("--sample --temperature nan"), "--temperature");
}

TEST_F(Translate, MakesFaultyTranslationsAgain) {
  // The unknown token comes again and again.
  const std::string looping = "--suppress-tokens 3,4,5,6,7,8,9 --min-length 9 --allow-unk true --format jsonl ";
  const std::string text = "a b c\n\n", retry = "--retry no_repeat_ngram=1 --retry suppress_tokens=[] ";
  std::string said;  // to standard error
  const auto run = [&](const std::string& options) {
    const std::string output = translate(text, looping + options + " 2> " + (folder_ / "said")).text;
    said = read_file(folder_ / "said");
    return output;
  };
  const auto best = [](const std::string& output) {
    return nlohmann::json::parse(output.substr(0, output.find('\n')));
  };
  const std::string plain = run("");
  EXPECT_NE(said.find("1 of 2 translations may be faulty: 1 end in a repetition"), std::string::npos) << said;
  EXPECT_NE(said.find("the first is that of line 1. --retry makes such"), std::string::npos) << said;
  const std::string again = run(retry);
  EXPECT_EQ(said, "");
  EXPECT_EQ(best(plain)["translations"][0]["loops"], true);
  EXPECT_FALSE(best(plain).contains("retried"));
  EXPECT_EQ(best(again)["retried"], true);
  EXPECT_FALSE(best(again)["translations"][0].contains("loops")) << again;
  run("--retry beam_size=1");
  EXPECT_NE(said.find("With --retry 1 were made again"), std::string::npos) << said;
  const std::string input = file("line", "a\n");
  const auto refused = [&](const std::string& options) {
    return shell(program_ + " " + options + " --input " + input + " --output " + (folder_ / "none"));
  };
  expect_error(refused("--retry 3"), "--retry 3: expected KEY=VALUE");
  expect_error(refused("--retry beam=3"), "--retry beam=3: unknown key 'beam'");
  expect_error(refused("--retry beam_size=0"), "--retry beam_size=0: beam_size: expected");
  expect_error(refused("--n-best 3 --retry beam_size=2"), "retry: n_best is 3, but beam_size is 2");
}

/// The first translation may be another than that of the model's own search.
TEST_F(Translate, SaysThatMoreTranslationsWidenTheSearch) {
  const auto said = [&](const std::string& options) { return translate("a b c", options).text; };
  const std::string note =
      "the search keeps 6 hypotheses instead of 4, the beam size of the model, for --n-best 6\n";
  const std::string wide = said("--n-best 6");
  EXPECT_TRUE(wide.starts_with(note)) << wide;
  EXPECT_EQ(wide.substr(note.size()), said("--n-best 6 --beam-size 6"));
  EXPECT_EQ(said("--n-best 4"), said("--n-best 4 --beam-size 4"));
}

TEST_F(Translate, RefusesWhatAFormatHasNoPlaceFor) {
  const std::string input = file("line", "a\n");
  const auto refused = [&](const std::string& options) {
    return shell(program_ + " " + options + " --input " + input + " --output " + (folder_ / "none"));
  };
  expect_error(refused("--token-scores"), "--token-scores: --format text can't contain them");
  expect_error(refused("--format moses --confidence"), "--confidence: --format moses can't contain it");
  expect_error(refused("--attention --format tsv"), "--attention: only --format json and jsonl");
  expect_error(refused("--layer 1"), "--layer has no effect without");
  expect_error(refused("--alignments --layer 7"), "layer 7");
  expect_error(refused("--coverage-penalty 1 --layer 7"), "layer 7");
  expect_error(refused("--coverage-penalty -1"), "--coverage-penalty: expected a number at least 0");
  expect_error(refused("--n-best 9 --beam-size 4"), "n_best is 9, but beam_size is 4");
  expect_error(refused("--format xml"), "expected one of text, tsv, json, jsonl");
  expect_error(refused("--split-sentences qqq"), "unknown language 'qqq'");
}

/// The stored settings of a model may ask for the coverage, whose layer is chosen.
TEST_F(Translate, ChoosesTheLayerOfAStoredPenalty) {
  write_small_model(model_, 1, true, [](ModelConfig& config) { config.generation.coverage_penalty = 0.5f; });
  const std::string usual = translate("a b c\n").text;
  EXPECT_EQ(translate("a b c\n", "--layer -1").text, usual);
  EXPECT_EQ(translate("a b c\n", "--layer 0 --format json").text,
            translate("a b c\n", "--layer 0 --format json --coverage-penalty 0.5").text);
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
  const Outcome outcome = shell(program_ + " --threads 1000 <" + file("text", text));
  EXPECT_EQ(outcome.text.find("warning: --threads is 1000, but "), 0u) << outcome.text;
  EXPECT_TRUE(outcome.text.ends_with(" used\n" + translate(text).text)) << outcome.text;
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

TEST_F(Translate, TakesPrefixesConstraintsAndAGlossary) {
  write_small_model(model_, 11);  // its translations are not empty
  const std::string plain = translate("a b c\na b\n").text;
  const std::string first = plain.substr(0, plain.find('\n')), second = plain.substr(first.size() + 1);
  const std::string prefixes = file("prefixes", "d d\n\n"), constraints = file("constraints", "h\tg f\n\n"),
                    avoid = file("avoid", "\n" + second), glossary = file("glossary", "B\ta a\nb\th h\n");
  const auto with = [&](const std::string& options) { return translate("a b c\na b\n", options).text; };
  EXPECT_TRUE(with("--prefixes " + prefixes).starts_with("d d"));
  EXPECT_TRUE(with("--prefixes " + prefixes).ends_with("\n" + second)) << "a line without a prefix";
  const std::string both = with("--constraints " + constraints);
  for (const char* phrase : {"h", "g f"})
    EXPECT_NE(both.substr(0, both.find('\n')).find(phrase), both.npos) << both;
  const std::string avoided = with("--avoid " + avoid);
  EXPECT_TRUE(avoided.starts_with(first + "\n"));
  EXPECT_FALSE(avoided.ends_with("\n" + second));
  const std::string found = with("--glossary " + glossary);
  EXPECT_NE(found.find("h h"), found.npos) << found;
  EXPECT_NE(found.find("h h", found.find('\n')), found.npos) << found;
  const std::string html = translate("<p>a b</p>", "--markup html --glossary " + glossary).text;
  EXPECT_NE(html.find("h h"), html.npos) << html;
}

TEST_F(Translate, SaysWhatItsConstraintsLack) {
  std::string phrases;
  for (int i = 0; i < 40; ++i) phrases += "h\t";
  const Outcome outcome =
      translate("a\n", "--format jsonl --constraints " + file("constraints", phrases + "Q\n"));
  EXPECT_NE(outcome.text.find("warning: line 1: the translation lacks Q"), std::string::npos) << outcome.text;
  EXPECT_NE(outcome.text.find("\"unmet\":[\"Q\""), std::string::npos) << outcome.text;
}

TEST_F(Translate, RefusesConstraintsThatDoNotFit) {
  const std::string one = file("one", "a\n"), three = file("three", "a\na\na\n"), bad = file("bad", "a b\n");
  const auto refused = [&](const std::string& options, const std::string& part) {
    const Outcome outcome =
        sixfold("translate " + model_ + " --input " + file("input", "a\nb\n") + " " + options);
    EXPECT_NE(outcome.status, 0);
    EXPECT_NE(outcome.text.find(part), std::string::npos) << outcome.text;
  };
  refused("--prefixes " + one, "ends before line 2 of the input");
  refused("--constraints " + three, "has more lines than the input");
  refused("--glossary " + bad, "bad:1: a line has a source phrase, a tab and a target phrase");
  refused("--avoid " + three + " --split-sentences en", "leave out --split-sentences");
  refused("--avoid " + three + " --markup html", "--markup translates a document");
  refused("--prefixes -", "standard input is for the lines");
  refused("--prefixes " + (folder_ / "none"), "none");
  refused("--prefixes " + file("odd", "Q\n\n"), "line 1: the prefix 'Q' has text");
  refused("--prefixes " + three + " --output " + three, "three");
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
