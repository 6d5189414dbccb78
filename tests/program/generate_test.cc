#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "program/shell.h"
#include "program/small_chat_model.h"
#include "program/small_language_model.h"
#include "tasks/language_model/generator.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

class GenerateCommand : public testing::Test {
 protected:
  GenerateCommand() { write_small_language_model(model_, 3); }
  Outcome generate(const std::string& options) { return sixfold("generate " + model_ + " " + options); }
  TemporaryFolder folder_;
  const std::string model_ = folder_ / "model";
};

TEST_F(GenerateCommand, ContinuesAPrompt) {
  const Outcome one = generate("--prompt 'a b' --max-tokens 20 --seed 5");
  EXPECT_EQ(one.status, 0) << one.text;
  EXPECT_TRUE(one.text.starts_with("a b")) << one.text;
  EXPECT_TRUE(one.text.ends_with("\n")) << one.text;
  EXPECT_EQ(generate("--prompt 'a b' --max-tokens 20 --seed 5 --threads 1").text, one.text);
  EXPECT_NE(generate("--prompt 'a b' --max-tokens 20 --seed 6").text, one.text);
  const std::string output = folder_ / "out.txt";
  EXPECT_EQ(generate("--prompt 'a b' --max-tokens 20 --seed 5 --output " + output).status, 0);
  EXPECT_EQ(read_file(output), one.text);
  EXPECT_EQ(generate("--max-tokens 3").status, 0);  // without a prompt
}

TEST_F(GenerateCommand, SaysThatAPromptIsUnknown) {
  const std::string only_errors = " --max-tokens 2 2>&1 >/dev/null";
  EXPECT_EQ(generate("--prompt 'a b'" + only_errors).text, "");
  EXPECT_NE(generate("--prompt 'a x'" + only_errors).text.find("warning: 1 token of the prompts is not in the"),
            std::string::npos);
  EXPECT_NE(
      generate("--prompt 'a x' --prompt yz" + only_errors).text.find("3 tokens of the prompts are not in"),
      std::string::npos);
}

TEST_F(GenerateCommand, TakesPromptsFromFiles) {
  const std::string lines = folder_ / "lines", whole = folder_ / "whole";
  write_file_atomically(lines, "a\nb b\n\n");
  write_file_atomically(whole, "\na\nb\n");
  const Outcome outcome =
      generate("--input " + lines + " --prompt c --prompt-file " + whole + " --json -n 2 --max-tokens 4");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  std::vector<std::string> prompts;
  std::istringstream text(outcome.text);
  for (std::string line; std::getline(text, line);) {
    const auto json = nlohmann::json::parse(line);
    prompts.push_back(json.at("prompt"));
    EXPECT_TRUE(json.at("finish_reason") == "length" || json.at("finish_reason") == "end") << line;
    EXPECT_LE(json.at("tokens").get<int>(), 4);
    EXPECT_LT(json.at("log_probability").get<double>(), 0);
  }
  EXPECT_EQ(prompts, (std::vector<std::string>{"c", "c", "\na\nb", "\na\nb", "a", "a", "b b", "b b", "", ""}));
  const Outcome texts = generate("--input " + lines + " --max-tokens 1");
  EXPECT_NE(texts.text.find("\n--------\nb b"), std::string::npos) << texts.text;
}

TEST_F(GenerateCommand, ServesTheOthersIfAPromptIsTooLong) {
  const std::string lines = folder_ / "lines";
  write_file_atomically(lines, "a\naaaaaaaaaaaaaaaa\nb\n");
  const Outcome outcome = generate("--input " + lines + " --json --max-tokens 2 2>/dev/null");
  EXPECT_NE(outcome.status, 0);
  EXPECT_NE(outcome.text.find(R"("prompt":"b")"), std::string::npos) << outcome.text;
  EXPECT_NE(outcome.text.find(R"("error":"the prompt has 16 tokens)"), std::string::npos) << outcome.text;
  const Outcome plain = generate("--input " + lines + " --max-tokens 2 2>/dev/null");
  EXPECT_NE(plain.text.find("\n--------\n\n--------\nb"), std::string::npos) << plain.text;
}

TEST_F(GenerateCommand, RefusesBadInput) {
  expect_error(generate("--temperature -1"), "--temperature: expected a number at least 0, found '-1'");
  expect_error(generate("--top-p 0"), "--top-p: expected a number above 0 and at most 1");
  expect_error(generate("--max-tokens 0"), "--max-tokens: expected a whole number from 1");
  expect_error(generate("--prompt a --beam-size 2 --stop b"),
               "beam search does not support stop strings");  // and no prompt
  expect_error(generate("--prompt $(printf '\\377')"), "--prompt: byte 1 is not valid UTF-8");
  EXPECT_EQ(generate("--prompt $(printf 'a\\377') --invalid-utf8 skip --max-tokens 3").text,
            generate("--prompt '' --max-tokens 3").text);
  expect_error(generate("--stop $(printf '\\377')"), "--stop: byte 1 is not valid UTF-8");
  expect_error(generate("--max-tokens 3 --min-tokens 4"), "min_tokens is 4; it must be at most max_tokens, 3");
  expect_error(generate("--prompt aaaaaaaaaaaaaaaa"), "the prompt has 16 tokens");
  expect_error(generate("--seed -1"), "--seed");
  expect_error(generate("--prompt-file - --input - < /dev/null"), "can't both be standard input");
  EXPECT_EQ(generate("--json --invalid-utf8 replace --prompt $(printf '\\377') --max-tokens 1").status, 0);
  expect_error(generate("--input " + (folder_ / "none")), "none");
  expect_error(sixfold("generate " + (folder_ / "none")), "none");
  write_small_model(folder_ / "translation", 1);
  expect_error(sixfold("generate " + (folder_ / "translation")), "not 'language_model'");
  expect_error(sixfold("translate " + model_ + " < /dev/null"),
               "is a model for the task 'language_model', not 'translation'");
  write_file_atomically(folder_ / "lines", "a\n");
  expect_error(generate("--input " + (folder_ / "lines") + " --output " + (folder_ / "lines")),
               "input of the command");
  EXPECT_EQ(read_file(folder_ / "lines"), "a\n");
}

TEST_F(GenerateCommand, ScoresText) {
  const std::string text = folder_ / "text";
  write_file_atomically(text, "a b c\nd\n");
  const Outcome outcome = sixfold("score " + model_ + " --input " + text + " --summary");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  double bits = 0, loss = 0, perplexity = 0;
  ASSERT_EQ(std::sscanf(outcome.text.c_str(), "bits per byte: %lf  loss per token: %lf  perplexity: %lf\n",
                        &bits, &loss, &perplexity),
            3)
      << outcome.text;
  EXPECT_NEAR(bits, loss / 0.693147, 2e-3);  // a token is a byte
  EXPECT_NEAR(perplexity, std::exp(loss), 0.02);
  expect_error(sixfold("score " + model_), "expected --source and --target");
  expect_error(sixfold("score " + model_ + " --input x --source y --target z"),
               "expected --source and --target");
  expect_error(sixfold("score " + model_ + " --input " + text + " --stride 13"), "stride is 13");
  expect_error(sixfold("score " + model_ + " --input " + text + " --format json"), "give both, or none");
  expect_error(sixfold("score " + model_ + " --input " + text + " --token-scores"), "give both, or none");
  const Outcome tokens =
      sixfold("score " + model_ + " --input " + text + " --token-scores --format jsonl 2>/dev/null");
  std::istringstream lines(tokens.text);
  std::string joined;
  double sum = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line);
    joined += json["token"];
    sum -= json["log_probability"].get<double>();
  }
  EXPECT_EQ(joined, "a▁b▁c<0x0A>d<0x0A>");
  EXPECT_NEAR(sum / 8, loss, 1e-4);
  expect_error(sixfold("score " + model_ + " --input " + text + " --from de"),
               "--source-language is for translation");
  expect_error(sixfold("score " + model_ + " --source x --target y --summary"),
               "--summary is for language models");
  write_file_atomically(text, "a \xC3\xA9\n");
  EXPECT_NE(
      sixfold("score " + model_ + " --input " + text).text.find("1 of 4 tokens are not in the vocabulary"),
      std::string::npos);
}

TEST_F(GenerateCommand, WorksWithInt8) {
  EXPECT_EQ(sixfold("quantize " + model_ + " --output " + (folder_ / "int8")).status, 0);
  const Outcome outcome = sixfold("generate " + (folder_ / "int8") + " --prompt a --max-tokens 5");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_EQ(sixfold("info " + (folder_ / "int8")).status, 0);
  EXPECT_EQ(shell("echo 'a b' | " SIXFOLD_BINARY " tokenize " + model_ +
                  " | " SIXFOLD_BINARY " tokenize --decode " + model_)
                .text,
            "a b\n");
  const std::string recipe = SIXFOLD_SOURCE_DIR "/recipes/shakespeare-characters.yaml";
  EXPECT_EQ(sixfold("plot schedule " + recipe + " -o -").status, 0);
  expect_error(sixfold("plot positions " + recipe + " -o -"), "are not vectors that are added to embeddings");
  expect_error(sixfold("shortlist " + model_ + " --source x --target y --output " + (folder_ / "list")),
               "is a model for the task 'language_model'");
}

class ChatCommand : public testing::Test {
 protected:
  ChatCommand() { write_small_chat_model(model_, 4); }
  Outcome chat(const std::string& options) {
    return sixfold("generate " + model_ + " --chat --max-tokens 6 --temperature 0 " + options);
  }
  static std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream all(text);
    for (std::string line; std::getline(all, line);) lines.push_back(line);
    return lines;
  }
  TemporaryFolder folder_;
  const std::string model_ = folder_ / "model";
};

/// The answer alone is written: what the model says to the conversation, which a line is or has as JSON.
TEST_F(ChatCommand, AnswersMessages) {
  const std::string answer = chat("--prompt 'the old dog'").text;
  const Generator generator(model_, {.threads = 1});
  const Prompt prompt = generator.chat_prompt(std::vector<ChatMessage>{{"user", "the old dog"}});
  const auto expected =
      generator.generate(std::span(&prompt, 1), {.max_tokens = 6, .draw = {.temperature = 0}, .chat = true})[0]
          .texts[0]
          .text;
  EXPECT_EQ(answer, expected + "\n");
  const std::string file = folder_ / "lines";
  write_file_atomically(file,
                        "the old dog\n[{\"role\": \"user\", \"content\": \"the old dog\"}]\n"
                        "[{\"role\": \"system\", \"content\": \"be kind\"}, "
                        "{\"role\": \"user\", \"content\": \"the old dog\"}]\n");
  const Outcome all = chat("--json --input " + file);
  EXPECT_EQ(all.status, 0) << all.text;
  const std::vector<std::string> lines = lines_of(all.text);
  ASSERT_EQ(lines.size(), 3u);
  for (const std::string& line : lines) EXPECT_EQ(nlohmann::json::parse(line).at("text"), expected) << line;
  const Outcome other = chat("--prompt 'the old dog' --system 'bark, whatever they say'");
  EXPECT_EQ(other.status, 0);
  EXPECT_NE(other.text, answer);
}

/// Lines of standard input are one conversation, in which the model reads its own answers.
TEST_F(ChatCommand, HoldsAConversation) {
  const std::string input = folder_ / "in";
  write_file_atomically(input, "one\ntwo\n");
  const Outcome outcome = chat("--json <" + input);
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  const std::vector<std::string> lines = lines_of(outcome.text);
  ASSERT_EQ(lines.size(), 2u);
  const auto text = [&](size_t i) { return nlohmann::json::parse(lines[i]).at("text").get<std::string>(); };
  const Generator generator(model_, {.threads = 1});
  const Prompt second =
      generator.chat_prompt(std::vector<ChatMessage>{{"user", "one"}, {"assistant", text(0)}, {"user", "two"}});
  EXPECT_EQ(
      text(1),
      generator.generate(std::span(&second, 1), {.max_tokens = 6, .draw = {.temperature = 0}, .chat = true})[0]
          .texts[0]
          .text);
  EXPECT_EQ(chat("<" + input).text, text(0) + "\n" + text(1) + "\n");
}

TEST_F(ChatCommand, RefusesByName) {
  const std::string file = folder_ / "lines";
  write_file_atomically(file, "[{\"role\": \"cat\"}]\na\n");
  const Outcome some = chat("--input " + file + " 2>&1");
  EXPECT_EQ(some.status, 2);
  EXPECT_NE(some.text.find("prompt 1: message 1 has no \"content\""), std::string::npos) << some.text;
  EXPECT_NE(some.text.find("1 prompt failed; the others are complete"), std::string::npos) << some.text;
  write_small_language_model(folder_ / "plain", 3);
  const Outcome plain = sixfold("generate " + (folder_ / "plain") + " --chat --prompt a 2>&1");
  EXPECT_EQ(plain.status, 2);
  EXPECT_NE(plain.text.find("it is not known how the model reads conversations"), std::string::npos)
      << plain.text;
  EXPECT_NE(chat("--prompt a --system '' 2>&1").text.find("--system is empty; leave it out"),
            std::string::npos);
  EXPECT_NE(sixfold("generate " + (folder_ / "plain") + " --system b --prompt a 2>&1")
                .text.find("--system needs --chat"),
            std::string::npos);
}

}  // namespace
}  // namespace sixfold
