#include "text/tokenizer_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "base/random.h"
#include "error_message.h"
#include "text/utf8.h"
#include "text/vocabulary_files.h"

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

/// Letters, marks, numbers, symbols and all kinds of white space, in an order with every pair of neighbours.
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

TEST(TokenizerJson, CutsBytePairsWithoutAChange) {
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

TEST(TokenizerJson, CutsBytePairsOnlyWhereALetterEnds) {
  const auto tokenizer = tokenizers()[0];
  EXPECT_EQ(tokenizer->last_cut("ab cd", 5), 2u);
  EXPECT_EQ(tokenizer->last_cut("ab cd", 2), 2u);
  EXPECT_EQ(tokenizer->last_cut("ab cd", 1), 0u);
  EXPECT_EQ(tokenizer->last_cut("ab cd\n", 6), 5u);
  EXPECT_EQ(tokenizer->last_cut("abcd", 4), 0u);
  EXPECT_EQ(tokenizer->last_cut("1 2\n\n 3", 7), 0u);
  EXPECT_EQ(tokenizer->last_cut("", 7), 0u);
}

// --- against tokenizers

using nlohmann::json;

std::string golden_path(const std::string& name) {
  return SIXFOLD_TEST_GOLDENS "/tokenizers/" + name + ".json";
}
json golden(const std::string& name) { return json::parse(read_file(golden_path(name))); }

std::shared_ptr<const Tokenizer> load(const json& tokenizer) {
  return load_tokenizer_json(tokenizer.dump(), "tokenizer.json");
}

/// Forms of tokenizer.json, with what tokenizers makes of texts (tests/goldens/make_tokenizer_goldens.py).
class TokenizerGolden : public testing::TestWithParam<const char*> {
 protected:
  json golden_ = golden(GetParam());
  std::shared_ptr<const Tokenizer> tokenizer_ = load(golden_["tokenizer"]);
};

TEST_P(TokenizerGolden, HasTheIdsAndTextsOfTokenizers) {
  int special = 0;
  for (const json& one : golden_["cases"]) {
    const std::string text = one["text"];
    SCOPED_TRACE(text);
    const Ids ids = tokenizer_->encode(text);
    if (!one["ids"].is_null()) {
      EXPECT_EQ(ids, one["ids"].get<Ids>());
    }
    const json& with_special = one.contains("special_ids") ? one["special_ids"] : one["ids"];
    EXPECT_EQ(tokenizer_->encode_with_special_tokens(text), with_special.get<Ids>());
    special += with_special.get<Ids>() != ids;
    if (!one["ids"].is_null()) {
      EXPECT_EQ(replace_invalid_utf8(tokenizer_->decode_text(ids)), one["decoded"]);
    }
  }
  EXPECT_GT(special, 0);
}

/// The space that ByteLevel puts before a text is no part of it; a text that goes on keeps its own.
TEST(TokenizerJson, ALineIsDecodedWithoutTheSpaceThatWasAdded) {
  json with_space = golden("roberta")["tokenizer"];
  with_space["pre_tokenizer"]["add_prefix_space"] = true;
  const auto tokenizer = load(with_space);
  const Ids ids = tokenizer->encode("a dog");
  EXPECT_EQ(tokenizer->decode(ids), "a dog");
  EXPECT_EQ(tokenizer->decode_text(ids), " a dog");
}

/// A vocabulary of bytes has no unknown token, so that its end tokens are not counted as unknown.
TEST(TokenizerJson, CountsUnknownTokens) {
  const auto bytes = load(golden("smollm2")["tokenizer"]), words = load(golden("bert_cased")["tokenizer"]);
  EXPECT_EQ(bytes->count_unknown(Ids{bytes->eos(), bytes->encode("a")[0]}), 0);
  EXPECT_EQ(words->count_unknown(Ids{words->eos(), words->unk(), words->unk()}), 2);
}

/// A text without special tokens never becomes one, whatever is written in it.
TEST_P(TokenizerGolden, TextNeverBecomesAControlToken) {
  for (const json& added : golden_["tokenizer"]["added_tokens"]) {
    if (!added["special"].get<bool>()) continue;
    const std::string text = added["content"];
    const int32_t id = added["id"];
    const Ids found = tokenizer_->encode_with_special_tokens("a " + text + " b");
    EXPECT_TRUE(std::ranges::count(found, id) > 0 || id == tokenizer_->unk()) << text;
    for (const int32_t token : tokenizer_->encode("a " + text + " b"))
      EXPECT_TRUE(token == tokenizer_->unk() || token != id) << text;
    EXPECT_EQ(tokenizer_->decode(Ids{id}), "");
  }
}

/// In a range of plain text nothing becomes a special token, and a token that begins in one and ends after it
/// does not hide the next.
TEST(TokenizerJson, FindsNoSpecialTokensInPlainText) {
  json all = json::parse(read_file(SIXFOLD_TEST_GOLDENS "/causal/gpt2/tokenizer.json"));
  json token = all["added_tokens"][0];
  token.update({{"id", 342}, {"content", "<|end|><"}});
  all["added_tokens"].push_back(token);
  const auto tokenizer = load_hugging_face_tokenizer(all.dump(), {.bos = -1, .eos = 341, .size = 345}, "test");
  const std::string text = "a<|end|><|end|>b<|begin|>";
  const auto special = [&](const std::vector<TextRange>& plain) {
    Ids found;
    for (const int32_t id : tokenizer->encode_with_special_tokens(text, plain))
      if (id >= 340) found.push_back(id);
    return found;
  };
  EXPECT_EQ(special({}), (Ids{342, 340})) << "the longest token at a place";
  EXPECT_EQ(special({{0, 8}}), (Ids{341, 340})) << "that token is partly plain";
  EXPECT_EQ(special({{0, text.size()}}), Ids());
  EXPECT_EQ(special({{1, 2}, {16, 17}}), (Ids{341}));
  EXPECT_EQ(tokenizer->encode_with_special_tokens(text, std::vector<TextRange>{{0, text.size()}}),
            tokenizer->encode(text));
  EXPECT_NE(error_message([&] {
              tokenizer->encode_with_special_tokens("\xFF", std::vector<TextRange>{{0, 1}});
            }).find("not valid UTF-8"),
            std::string::npos);
}

TEST_P(TokenizerGolden, LocatesWhatItEncodes) {
  for (const json& one : golden_["cases"]) {
    const std::string text = one["text"];
    SCOPED_TRACE(text);
    Ids ids;
    size_t begin = 0, end = 0;
    for (const LocatedToken& token : tokenizer_->locate(text)) {
      ids.push_back(token.id);
      EXPECT_LE(begin, token.begin);
      EXPECT_LE(end, token.end);
      EXPECT_LE(token.begin, token.end);
      begin = token.begin, end = token.end;
    }
    EXPECT_LE(end, text.size());
    EXPECT_EQ(ids, tokenizer_->encode(text));
  }
}

TEST_P(TokenizerGolden, CutsTextsWithoutAChange) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const std::string text = odd_text(seed, 30) + "the dog two words sees";
    const Ids whole = tokenizer_->encode_text(text);
    for (size_t most = text.size(); most > 0;) {
      const size_t cut = tokenizer_->last_cut(text, most);
      if (cut == 0) break;
      ASSERT_LE(cut, most);
      Ids parts = tokenizer_->encode_text(text.substr(0, cut));
      const Ids rest = tokenizer_->encode_text(text.substr(cut));
      parts.insert(parts.end(), rest.begin(), rest.end());
      ASSERT_EQ(parts, whole) << text.substr(0, cut) << "|" << text.substr(cut);
      most = cut - 1;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, TokenizerGolden,
                         testing::Values("bert_added", "bert_cased", "roberta", "llama3", "qwen2", "smollm2",
                                         "xlm_roberta_4", "unigram_bytes", "phi3", "mistral"));

TEST(TokenizerJson, KnowsWhereWordsCanBeCut) {
  const std::string text = "the dog sees";
  for (const char* form : {"bert_cased", "llama3", "qwen2", "smollm2", "xlm_roberta_4"})
    EXPECT_GT(load(golden(form)["tokenizer"])->last_cut(text, text.size()), 0u) << form;
  for (const char* form : {"phi3", "mistral"})  // all of a text is one word
    EXPECT_EQ(load(golden(form)["tokenizer"])->last_cut(text, text.size()), 0u) << form;
}

/// The parts of a text that the tokens have.
std::vector<std::string> parts(const std::string& form, const std::string& text) {
  std::vector<std::string> all;
  for (const LocatedToken& token : load(golden(form)["tokenizer"])->locate(text))
    all.push_back(text.substr(token.begin, token.end - token.begin));
  return all;
}

TEST(TokenizerJson, HasThePlacesInTheOriginal) {
  using Parts = std::vector<std::string>;
  const Parts words = parts("bert_added", "THE \u00c4\u6771 dogs!");
  EXPECT_EQ(words.front(), "THE");
  EXPECT_EQ(words.back(), "!");
  EXPECT_EQ(parts("xlm_roberta_4", "the\u3000dogs").back(), "s");
  // A token that stands for the space before a word has it.
  const Parts llama = parts("llama3", "the dogs");
  EXPECT_EQ(llama, (Parts{"the", " dogs"}));
}

TEST(TokenizerJson, NeedsNoSettingsIfItHasAUsualEndToken) {
  const auto tokenizer = load(golden("bert_cased")["tokenizer"]);
  EXPECT_EQ(tokenizer->token_text(tokenizer->eos()), "[SEP]");
  EXPECT_EQ(tokenizer->token_text(tokenizer->bos()), "[CLS]");
  EXPECT_EQ(tokenizer->token_text(tokenizer->unk()), "[UNK]");
  json without = golden("llama3")["tokenizer"];
  without["added_tokens"] = json::array();
  EXPECT_NE(error_message([&] { load(without); }).find("none of the usual end tokens"), std::string::npos);
}

TEST(TokenizerJson, KeepsTheFileWithItsSettings) {
  const std::string text = golden("llama3")["tokenizer"].dump();
  const auto bare = load_tokenizer_json(text, "test");
  const std::string file = add_settings(text, {.bos = 2, .eos = 3, .size = bare->vocab_size() + 5}, "test");
  EXPECT_TRUE(has_settings(file) && !has_settings(text));
  EXPECT_EQ(tokenizer_json_of(file), text);
  EXPECT_EQ(tokenizer_json_of(text), text);
  const auto tokenizer = load_tokenizer_json(file, "test");
  EXPECT_EQ(tokenizer->serialized(), file);
  EXPECT_EQ(tokenizer->vocab_size(), bare->vocab_size() + 5);
  EXPECT_EQ(tokenizer->decode(Ids{bare->vocab_size() + 1}), "");
  EXPECT_EQ(tokenizer->bos(), 2);
  EXPECT_EQ(tokenizer->eos(), 3);
  EXPECT_EQ(tokenizer->encode("the dogs"), bare->encode("the dogs"));
  EXPECT_EQ(
      load_hugging_face_tokenizer(text, {.bos = 2, .eos = 3, .size = 300}, "test")->serialized().substr(0, 25),
      "sixfold tokenizer 2 3 300");
}

TEST(TokenizerJson, NamesWhatIsNotSupported) {
  const auto error = [](const std::string& form, const std::function<void(json&)>& change) {
    json tokenizer = golden(form)["tokenizer"];
    change(tokenizer);
    return error_message([&] { load(tokenizer); });
  };
  const auto expect = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect(error("bert_cased",
               [](json& t) {
                 t["normalizer"] = {{"type", "Shout"}};
               }),
         "tokenizer.json.normalizer: the type 'Shout' is not supported");
  expect(error("bert_cased", [](json& t) { t["pre_tokenizer"] = {{"type", "Delimiter"}}; }), "'Delimiter'");
  expect(error("bert_cased", [](json& t) { t["decoder"] = {{"type", "CTC"}}; }), "'CTC'");
  expect(error("bert_cased", [](json& t) { t["model"]["type"] = "WordLevel"; }), "'WordLevel'");
  expect(error("bert_cased", [](json& t) { t["model"]["unk_token"] = "?!"; }), "lacks the unknown token '?!'");
  expect(error("bert_cased", [](json& t) { t.erase("model"); }), "has no 'model'");
  expect(
      error("llama3", [](json& t) { t["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "(a+)+$"; }),
      "'(a+)+$' is not one of those that are known");
  expect(error("llama3",
               [](json& t) {
                 std::swap(t["pre_tokenizer"]["pretokenizers"][0], t["pre_tokenizer"]["pretokenizers"][1]);
               }),
         "no step may follow ByteLevel");
  expect(error("llama3", [](json& t) { t["model"]["end_of_word_suffix"] = "</w>"; }), "end_of_word_suffix");
  expect(error("llama3", [](json& t) { t["model"]["dropout"] = 0.1; }), "'dropout' is not supported");
  expect(error("llama3", [](json& t) { t["model"]["merges"][0] = "a b c"; }), "is not two tokens");
  expect(error("llama3",
               [](json& t) {
                 t["model"]["merges"][0] = {"q", "\u6771"};
               }),
         "is not in the vocabulary");
  expect(error("xlm_roberta_4", [](json& t) { t["model"]["unk_id"] = nullptr; }), "'unk_id' is missing");
  expect(error("xlm_roberta_4", [](json& t) { t["model"]["vocab"][5] = "a"; }), "is not a text and a number");
  expect(error("xlm_roberta_4",
               [](json& t) { t["normalizer"]["normalizers"][0]["precompiled_charsmap"] = "AAA"; }),
         "precompiled_charsmap is too short");
  expect(error("xlm_roberta_4", [](json& t) { t["model"]["vocab"][5][0] = std::string(5000, 'a'); }),
         "has 5000 bytes");
  expect(error("qwen2", [](json& t) { t["added_tokens"][0]["id"] = -1; }), "'id' is -1");
  expect(error("qwen2", [](json& t) { t["added_tokens"][0]["content"] = "a"; }), "'a' has two ids");
  expect(error("bert_cased", [](json& t) { t["added_tokens"][0]["id"] = 2'000'000'000; }), "but only");
}

/// The rules of an untrusted file can't exhaust the memory.
TEST(TokenizerJson, RulesCannotMakeATextLongWithoutBound) {
  json tokenizer = golden("bert_cased")["tokenizer"];
  const json twice{{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(100, 'a')}};
  tokenizer["normalizer"] = {{"type", "Sequence"}, {"normalizers", {twice, twice, twice, twice, twice}}};
  const auto made = load(tokenizer);
  EXPECT_NE(error_message([&] { made->encode(std::string(1000, 'a')); }).find("the rules of a tokenizer make"),
            std::string::npos);
  EXPECT_FALSE(made->encode("b").empty());
}

TEST(TokenizerJson, ReadsFilesOfOldFolders) {
  const std::string bert =
      bert_tokenizer_json("[PAD]\n[UNK]\r\n[CLS]\n[SEP]\n[MASK]\nd\u00f6g\ndog\n##s\n", {}, "vocab.txt");
  EXPECT_EQ(load_tokenizer_json(bert, "test")->encode("D\u00d6gs dog cat"), (Ids{6, 7, 6, 1}));
  const std::string cased =
      bert_tokenizer_json("[UNK]\n[SEP]\nd\u00f6g\ndog\n##s\n", {.do_lower_case = false}, "vocab.txt");
  EXPECT_EQ(load_tokenizer_json(cased, "test")->encode("d\u00f6gs Dog"), (Ids{2, 4, 0}));
  EXPECT_NE(
      error_message([] { bert_tokenizer_json("a\nb\n", {}, "vocab.txt"); }).find("vocab.txt: lacks [UNK]"),
      std::string::npos);

  const json model = golden("roberta")["tokenizer"]["model"];
  std::string merges = "#version: 0.2\n";
  for (const json& merge : model["merges"])
    merges += merge[0].get<std::string>() + " " + merge[1].get<std::string>() + "\n";
  const auto old =
      load_tokenizer_json(byte_level_tokenizer_json(model["vocab"].dump(), merges, true, "vocab.json"), "test");
  const auto now = load(golden("roberta")["tokenizer"]);
  for (const std::string text : {"the dogs don't", " Zw\u00f6lf  12"})
    EXPECT_EQ(old->encode(text), now->encode(text));
  EXPECT_NE(error_message([&] {
              byte_level_tokenizer_json(model["vocab"].dump(), "a b c\n", true, "vocab.json");
            }).find("is not two tokens"),
            std::string::npos);
}

}  // namespace
}  // namespace sixfold
