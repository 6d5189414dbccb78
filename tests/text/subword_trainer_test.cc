#include "text/subword_trainer.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/random.h"
#include "error_message.h"
#include "temporary_folder.h"
#include "text/sample_text.h"
#include "text/tokenizer_json.h"
#include "text/tokenizers.h"

namespace sixfold {
namespace {

using nlohmann::json;
using Pair = std::pair<std::string, std::string>;

TokenizerOptions options_of(TokenizerKind kind, int size) { return {.kind = kind, .vocab_size = size}; }

json byte_pairs(const std::vector<std::string>& text, int size) {
  return json::parse(train_byte_pairs(options_of(TokenizerKind::byte_pairs, size), {text_reader(text)}));
}

/// Merges by the definition of BPE: all pairs are counted again before each merge.
std::vector<Pair> merges_by_definition(const std::vector<std::string>& words, const json& vocabulary,
                                       size_t count) {
  std::vector<std::vector<std::string>> tokens;
  for (const std::string& word : words) {
    tokens.emplace_back();
    for (const char c : word) tokens.back().emplace_back(c == ' ' ? std::string("\u0120") : std::string(1, c));
  }
  std::vector<Pair> merges;
  while (merges.size() < count) {
    std::map<Pair, int> counts;
    for (const auto& word : tokens)
      for (size_t i = 0; i + 1 < word.size(); ++i) ++counts[{word[i], word[i + 1]}];
    const auto ids = [&](const Pair& pair) {
      return std::pair{vocabulary[pair.first].get<int>(), vocabulary[pair.second].get<int>()};
    };
    const Pair* best = nullptr;
    for (const auto& [pair, times] : counts)
      if (!best || times > counts[*best] || (times == counts[*best] && ids(pair) < ids(*best))) best = &pair;
    if (!best) break;
    merges.push_back(*best);
    const Pair pair = *best;
    for (auto& word : tokens)
      for (size_t i = 0; i + 1 < word.size(); ++i)
        if (word[i] == pair.first && word[i + 1] == pair.second) {
          word[i] += word[i + 1];
          word.erase(word.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        }
  }
  return merges;
}

TEST(SubwordTrainer, MergesTheMostFrequentPair) {
  RandomStream random(3, 0);
  for (int round = 0; round < 5; ++round) {
    std::vector<std::string> words;
    for (int i = 0; i < 60; ++i) {
      words.emplace_back(" ");
      for (uint32_t k = 0; k <= random.below(6); ++k) words.back() += static_cast<char>('a' + random.below(3));
    }
    std::string line;
    for (const std::string& word : words) line += word;
    const json model = byte_pairs({line}, 3 + 256 + 60)["model"];
    std::vector<Pair> merges;
    for (const json& merge : model["merges"]) merges.emplace_back(merge[0], merge[1]);
    ASSERT_GT(merges.size(), 20u);
    EXPECT_EQ(merges, merges_by_definition(words, model["vocab"], merges.size())) << line;
  }
}

TEST(SubwordTrainer, BytePairsDecodeToEveryText) {
  const auto tokenizer = load_tokenizer_json(byte_pairs(sample::english(), 320).dump(), "test");
  EXPECT_EQ(tokenizer->vocab_size(), 320);
  EXPECT_EQ(tokenizer->token_text(0) + tokenizer->token_text(1) + tokenizer->token_text(2), "<unk><s></s>");
  EXPECT_EQ(tokenizer->bos(), 1);
  EXPECT_EQ(tokenizer->eos(), 2);
  size_t bytes = 0, tokens = 0;
  std::vector<std::string> texts = sample::english();
  texts.insert(texts.end(), {"", " ", "\u6771\u4eac \U0001F600", "a\u0301  b\tc", "</s>"});
  for (const std::string& text : texts) {
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
    bytes += text.size(), tokens += tokenizer->encode(text).size();
  }
  EXPECT_LT(3 * tokens, 2 * bytes);
}

/// A special token that occurs in the text is not learned.
TEST(SubwordTrainer, TextNeverBecomesASpecialToken) {
  const std::vector<std::string> text(50, "<unk><unk> </s><s>");
  const auto tokenizer = load_tokenizer_json(byte_pairs(text, 300).dump(), "test");
  for (const int32_t id : tokenizer->encode(text[0])) EXPECT_GT(id, 2);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text[0])), text[0]);
}

TEST(SubwordTrainer, WordPieces) {
  TokenizerOptions options = options_of(TokenizerKind::wordpiece, 120);
  const auto train = [&] { return train_word_pieces(options, {text_reader(sample::english())}); };
  const auto tokenizer = load_tokenizer_json(train(), "test");
  EXPECT_EQ(tokenizer->vocab_size(), 120);
  EXPECT_EQ(tokenizer->unk(), 0);
  EXPECT_EQ(tokenizer->encode("\u6771"), std::vector<int32_t>{0});
  int whole = 0;
  for (const std::string& line : sample::english()) {
    const std::vector<int32_t> ids = tokenizer->encode(line);
    EXPECT_EQ(std::ranges::count(ids, 0), 0) << line;
    whole += tokenizer->decode(ids) == line;
  }
  EXPECT_GT(whole, 0);
  EXPECT_EQ(train(), train());
  options.lower_case = true;
  const auto lower = load_tokenizer_json(train(), "test");
  EXPECT_EQ(lower->encode("A MAN"), lower->encode("a man"));
}

/// The order of the lines makes no difference, nor does it how often the text is read.
TEST(SubwordTrainer, ReadsSomeOfManyLines) {
  std::vector<std::string> text;
  for (int i = 0; i < 1000; ++i) text.push_back(i % 10 == 9 ? "abab" : "cdcd");
  TokenizerOptions options = options_of(TokenizerKind::byte_pairs, 262);
  options.max_sentences = 100;
  const json some = json::parse(train_byte_pairs(options, {text_reader(text)}));
  EXPECT_EQ(some["model"]["merges"][0], (json{"a", "b"}));
  options.max_sentences = 0;
  const json all = json::parse(train_byte_pairs(options, {text_reader(text)}));
  EXPECT_EQ(all["model"]["merges"][0], (json{"c", "d"}));
}

TEST(SubwordTrainer, ErrorsSayWhatToDo) {
  const auto expect = [](TokenizerOptions options, const std::vector<std::string>& text, const char* part) {
    const std::string message =
        error_message([&] { make_tokenizer(options, text_reader(text), TextSide::source); });
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect(options_of(TokenizerKind::byte_pairs, 200), {"a"}, "set it to 259 or more");
  expect(options_of(TokenizerKind::wordpiece, 3), {"a"}, "set it to 5 or more");
  expect(options_of(TokenizerKind::byte_pairs, 300), {}, "there is no text");
  expect(options_of(TokenizerKind::tokenizer_json, 300), {"a"}, "give tokenizer.source");
}

TEST(SubwordTrainer, TheFileIsATokenizerJson) {
  const TemporaryFolder folder;
  for (const TokenizerKind kind : {TokenizerKind::byte_pairs, TokenizerKind::wordpiece}) {
    const Tokenizers made = make_tokenizers(options_of(kind, 300), sample::english(), sample::german());
    save_tokenizers(made, folder.path());
    EXPECT_EQ(read_file(folder / "tokenizer.json"), made.source->serialized());
    const Tokenizers loaded = load_tokenizers(folder.path());
    EXPECT_EQ(loaded.source->encode(sample::german()[0]), made.source->encode(sample::german()[0]));
    TokenizerOptions given = options_of(kind, 0);
    given.source = folder / "tokenizer.json";
    EXPECT_EQ(make_tokenizers(given, sample::english(), sample::german()).target->hash(), made.target->hash());
  }
}

}  // namespace
}  // namespace sixfold
