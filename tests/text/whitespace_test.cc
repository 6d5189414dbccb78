#include "text/whitespace.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace sixfold {
namespace {

std::shared_ptr<const Tokenizer> tokenizer_of(const std::vector<std::string>& text,
                                              TokenizerOptions options = {}) {
  return load_whitespace(build_whitespace_vocabulary(options, {text_reader(text)}), "test");
}

TEST(Whitespace, VocabularyIsByFrequencyThenByBytes) {
  TokenizerOptions options;
  EXPECT_EQ(build_whitespace_vocabulary(options, {text_reader(std::vector<std::string>{"b a  c", "c\tü b c"})}),
            "<unk>\n<s>\n</s>\nc\nb\na\nü\n");
  options.vocab_size = 5;
  EXPECT_EQ(build_whitespace_vocabulary(options, {text_reader(std::vector<std::string>{"b a c c ü b c"})}),
            "<unk>\n<s>\n</s>\nc\nb\n");
  options.vocab_size = 0;
  options.minimum_count = 3;
  options.user_defined_symbols = {"x"};
  EXPECT_EQ(build_whitespace_vocabulary(options, {text_reader(std::vector<std::string>{"b a c x c ü b c"})}),
            "<unk>\n<s>\n</s>\nx\nc\n");
}

TEST(Whitespace, VocabularyNeedsTextAndRoom) {
  TokenizerOptions options;
  EXPECT_THROW(build_whitespace_vocabulary(options, {text_reader(std::vector<std::string>{"", " "})}), Error);
  options.vocab_size = 2;
  EXPECT_THROW(build_whitespace_vocabulary(options, {text_reader(std::vector<std::string>{"a"})}), Error);
}

TEST(Whitespace, EncodesSymbolsBetweenSpaces) {
  const auto tokenizer = tokenizer_of({"der Hund läuft", "der Hund"});
  EXPECT_EQ(tokenizer->encode("  Hund der\tläuft "), (std::vector<int32_t>{3, 4, 5}));
  EXPECT_EQ(tokenizer->encode("die Hund"), (std::vector<int32_t>{tokenizer->unk(), 3}));
  EXPECT_TRUE(tokenizer->encode("  ").empty());
  EXPECT_EQ(tokenizer->vocab_size(), 6);
  EXPECT_EQ(tokenizer->token_text(5), "läuft");
  EXPECT_THROW(tokenizer->token_text(6), Error);
}

TEST(Whitespace, TextCannotNameControlSymbols) {
  const auto tokenizer = tokenizer_of({"a b <s> </s>"});
  EXPECT_EQ(tokenizer->vocab_size(), 5);
  EXPECT_EQ(tokenizer->encode("</s> a <s> <unk>"), (std::vector<int32_t>{0, 3, 0, 0}));
}

TEST(Whitespace, DecodeDropsControlSymbols) {
  const auto tokenizer = tokenizer_of({"a b"});
  EXPECT_EQ(tokenizer->decode(std::vector<int32_t>{1, 3, 4, 2}), "a b");
  EXPECT_EQ(tokenizer->decode(std::vector<int32_t>{0, 4}), "<unk> b");
  EXPECT_THROW(tokenizer->decode(std::vector<int32_t>{5}), Error);
  EXPECT_THROW(tokenizer->decode(std::vector<int32_t>{-1}), Error);
}

TEST(Whitespace, JoinsParts) {
  const std::string text = "die neu@@ er@@ en Häu@@ ser ab@@";
  const auto tokenizer = tokenizer_of({text});
  EXPECT_EQ(tokenizer->join(text), "die neueren Häuser ab");
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), "die neueren Häuser ab");
}

TEST(Whitespace, KnowsWhereWordsGoOn) {
  const auto tokenizer = load_whitespace("<unk>\n<s>\n</s>\nnew@@\ner\n@@\n", "vocabulary");
  for (const int32_t id : {0, 1, 2, 4}) EXPECT_FALSE(tokenizer->word_goes_on(id)) << id;
  for (const int32_t id : {3, 5}) EXPECT_TRUE(tokenizer->word_goes_on(id)) << id;
  EXPECT_FALSE(load_whitespace("<unk>\n</s>\n\u2581a\n\u2581b\n@@\n", "vocabulary")->word_goes_on(4));
}

TEST(Whitespace, JoinsPiecesThatMarkWords) {
  const std::string text = "▁die ▁neu er en ▁ Häu ser .";
  const auto tokenizer = tokenizer_of({text});
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), "die neueren Häuser.");
}

TEST(Whitespace, OneStrayMarkDoesNotGlueWords) {
  std::string text = "▁stray";
  for (int i = 0; i < 200; ++i) text += " w" + std::to_string(i);
  const auto tokenizer = tokenizer_of({text});
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("w1 w2 w3")), "w1 w2 w3");
}

TEST(Whitespace, ReadsForeignVocabularies) {
  const auto tokenizer = load_whitespace("</s>\r\na\r\n<unk>\r\n<s>\r\nb", "test");
  EXPECT_EQ(tokenizer->eos(), 0);
  EXPECT_EQ(tokenizer->unk(), 2);
  EXPECT_EQ(tokenizer->bos(), 3);
  EXPECT_EQ(tokenizer->encode("b a"), (std::vector<int32_t>{4, 1}));
  EXPECT_EQ(tokenizer->hash(), load_whitespace(tokenizer->serialized(), "again")->hash());
  EXPECT_EQ(load_whitespace("\uFEFF<unk>\n</s>\na\n", "marked")->unk(), 0) << "a byte order mark is no token";
}

TEST(Whitespace, BadVocabulariesAreRefused) {
  const std::string special = "<unk>\n<s>\n</s>\n";
  for (const std::string& vocabulary :
       {std::string(), std::string("a\nb\n"), std::string("<unk>\n<s>\n"), special + "a\n\nb\n",
        special + "a\na\n", special + "a b\n", special + "\xFF\n", special + special})
    EXPECT_THROW(load_whitespace(vocabulary, "bad.vocab"), Error) << vocabulary;
  try {
    load_whitespace(special + "a\na\n", "bad.vocab");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("bad.vocab:5:"), 0u) << error.what();
  }
}

}  // namespace
}  // namespace sixfold
