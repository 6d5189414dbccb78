// How `sixfold translate` searches: settings, ensembles, samples, retries and constraints.
#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "model_folder/binding.h"
#include "program/translate_fixture.h"
#include "tasks/translation/translator.h"

namespace sixfold {
namespace {

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
               "changes logits, which an ensemble does not have");
  expect_error(refused(second + " --sample --repetition-penalty 1.5"),
               "changes logits, which an ensemble does not have");
  expect_error(refused(folder_ / "nowhere --part 1/2"), "there is no file or folder of that name");
  expect_error(shell(program_ + " --ensemble-mean log_probabilities --input " + input),
               "have no effect without an ensemble");
  expect_error(shell(program_ + " --ensemble-weights 1 --input " + input),
               "have no effect without an ensemble");
  expect_error(refused(second + " --ensemble-weights inf,1"), "--ensemble-weights");
  expect_error(refused(second + " --confidence --format tsv"), "an ensemble has none");
  // What is seen is the attention of the first model, and tags are placed by it.
  for (const char* option :
       {"--alignments", "--replace-unknown true", "--coverage-penalty 0.1", "--markup html"})
    EXPECT_EQ(translate(text, std::string(option) + " --ensemble " + model_).text, translate(text, option).text)
        << option;
  for (const char* option : {"--token-scores --format tsv", "--attention --format json"})
    EXPECT_EQ(translate(text, std::string(option) + " --ensemble " + second).status, 0) << option;
  EXPECT_NE(translate("<b>a b</b> c\n", "--markup html --ensemble " + second).text.find("<b>"),
            std::string::npos);
  // Given translations are scored by all models together.
  const std::string targets = file("targets", "b\nc\na b\nh\n"), sources = file("sources", "a\nb\nc\nh\n");
  const auto scores = [&](const std::string& model, const std::string& options) {
    std::istringstream lines(sixfold("score " + model + " --source " + sources + " --target " + targets + " " +
                                     options + " 2>/dev/null")
                                 .text);
    return std::vector<double>(std::istream_iterator<double>(lines), {});
  };
  const std::vector<double> first = scores(model_, ""), other_one = scores(second, "");
  const std::vector<double> twice = scores(model_, "--ensemble " + model_),
                            both = scores(model_, "--ensemble " + second),
                            mostly = scores(model_, "--ensemble " + second + " --ensemble-weights 1e-6,1e6");
  ASSERT_EQ(first.size(), 4u);
  ASSERT_TRUE(twice.size() == 4 && both.size() == 4 && mostly.size() == 4 && other_one.size() == 4);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(twice[i], first[i], 1e-5) << i;
    EXPECT_NEAR(mostly[i], other_one[i], 1e-4) << i;
    EXPECT_GT(std::abs(both[i] - first[i]), 1e-3) << i;
  }
  expect_error(sixfold("score " + model_ + " --source " + sources + " --target " + targets + " --output " +
                       second + "/config.json --ensemble " + second),
               "belongs to the model");
  expect_error(sixfold("score " + model_ + " --input " + input + " --ensemble " + second),
               "--ensemble is for translation models");
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
  expect_error(refused("--sample --beam-size 2"), "beam_size has no effect");
  expect_error(refused("--sample --retry beam_size=8"), "retry: sample draws translations, so that beam_size");
  expect_error(refused("--sample --stopping-criterion beam_finished"), "stopping_criterion has no effect");
  expect_error(refused("--sample --finished-keeps-slot true"), "finished_keeps_slot has no effect");
  expect_error(refused("--sample --retry finished_keeps_slot=true"), "finished_keeps_slot has no effect");
  expect_error(refused("--sample --at-longest cut"), "at_longest has no effect");
  expect_error(refused("--sample --renormalize-logits true"), "renormalize_logits has no effect");
  expect_error(refused("--length-penalty 2 --retry normalization=none --retry length_penalty=1"),
               "retry: normalization is none");
  EXPECT_EQ(translate(text, "--length-penalty 2 --retry normalization=none").status, 0);
  expect_error(refused("--allow-endings"), "--allow-endings has no effect");
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

/// The stored settings of a model may ask for the coverage, whose layer is chosen.
TEST_F(Translate, ChoosesTheLayerOfAStoredPenalty) {
  write_small_model(model_, 1, true, [](ModelConfig& config) { config.generation.coverage_penalty = 0.5f; });
  const std::string usual = translate("a b c\n").text;
  EXPECT_EQ(translate("a b c\n", "--layer -1").text, usual);
  EXPECT_EQ(translate("a b c\n", "--layer 0 --format json").text,
            translate("a b c\n", "--layer 0 --format json --coverage-penalty 0.5").text);
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

}  // namespace
}  // namespace sixfold
