// Where texts may be cut before they are encoded. The tests of what is encoded are those of the import.
#include "text/tokenizer_json.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/random.h"

namespace sixfold {
namespace {

using Ids = std::vector<int32_t>;

/// Tokenizers with the three patterns that are known.
std::vector<std::shared_ptr<const Tokenizer>> tokenizers() {
  const std::string folder = SIXFOLD_TEST_GOLDENS "/causal/";
  const std::string gpt2 = read_file(folder + "gpt2/tokenizer.json"),
                    llama = read_file(folder + "llama/tokenizer.json");
  std::string qwen = llama;
  const std::string digits = "{N}{1,3}";
  const size_t at = qwen.find(digits);
  EXPECT_NE(at, qwen.npos);
  qwen.replace(at, digits.size(), "{N}");
  std::vector<std::shared_ptr<const Tokenizer>> all;
  for (const std::string& json : {gpt2, llama, qwen})
    all.push_back(load_tokenizer_json(add_settings(json, {.bos = 0, .eos = 1, .size = 340}, "test"), "test"));
  return all;
}

/// Letters, marks, numbers, signs and all kinds of white space, in an order in which everything meets.
std::string odd_text(uint64_t seed, int length) {
  const std::vector<std::string> parts{
      "a",      "b",          "S",       "s",          "'",      "'s",           "'ll",
      "\u017F", "\u00E9",     "e\u0301", "\u6771",     "\u3002", "\u0E01\u0E33", "1",
      "234",    "\u0661",     "\u00BD",  " ",          " ",      "  ",           "\n",
      "\n\n",   "\r\n",       "\t",      "\u00A0",     "\u3000", "\u0085",       ".",
      "!?",     "\U0001F600", "\u200D",  "\U00010400", "_"};
  RandomStream random(seed, 0);
  std::string text;
  for (int i = 0; i < length; ++i) text += parts[random.below(static_cast<uint32_t>(parts.size()))];
  return text;
}

TEST(BytePairs, CutTextsWithoutAChange) {
  int cuts = 0;
  for (const auto& tokenizer : tokenizers())
    for (uint64_t seed = 1; seed <= 200; ++seed) {
      const std::string text = odd_text(seed, 30);
      const Ids whole = tokenizer->encode_text(text);
      size_t before = 0;
      for (size_t most = 0; most <= text.size(); ++most) {
        const size_t cut = tokenizer->last_cut(text, most);
        ASSERT_LE(cut, most);
        if (cut == before) continue;
        before = cut;
        ++cuts;
        Ids parts = tokenizer->encode_text(text.substr(0, cut));
        const Ids rest = tokenizer->encode_text(text.substr(cut));
        parts.insert(parts.end(), rest.begin(), rest.end());
        ASSERT_EQ(parts, whole) << seed << ": " << text.substr(0, cut) << "|" << text.substr(cut);
      }
    }
  EXPECT_GT(cuts, 3000);
}

TEST(BytePairs, AreCutOnlyWhereALetterEnds) {
  const auto tokenizer = tokenizers()[0];
  EXPECT_EQ(tokenizer->last_cut("ab cd", 5), 2u);
  EXPECT_EQ(tokenizer->last_cut("ab cd", 2), 2u);
  EXPECT_EQ(tokenizer->last_cut("ab cd", 1), 0u);
  EXPECT_EQ(tokenizer->last_cut("ab cd\n", 6), 5u);
  EXPECT_EQ(tokenizer->last_cut("abcd", 4), 0u);
  EXPECT_EQ(tokenizer->last_cut("1 2\n\n 3", 7), 0u);
  EXPECT_EQ(tokenizer->last_cut("", 7), 0u);
}

}  // namespace
}  // namespace sixfold
