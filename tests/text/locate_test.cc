// The places of tokens in a text, for each kind of tokenizer.
#include <gtest/gtest.h>

#include "base/file.h"
#include "error_message.h"
#include "text/characters.h"
#include "text/sample_text.h"
#include "text/sentence_piece.h"
#include "text/tokenizer_json.h"
#include "text/tokenizers.h"
#include "text/whitespace.h"

namespace sixfold {
namespace {

using Texts = std::vector<std::string>;

/// The tokens are those of `encode`, their places ascend and lie in the text.
void expect_places(const Tokenizer& tokenizer, const std::string& text) {
  SCOPED_TRACE(text);
  std::vector<int32_t> ids;
  size_t begin = 0, end = 0;
  for (const LocatedToken& token : tokenizer.locate(text)) {
    ids.push_back(token.id);
    EXPECT_LE(begin, token.begin);
    EXPECT_LE(end, token.end);
    EXPECT_LE(token.begin, token.end);
    begin = token.begin, end = token.end;
  }
  EXPECT_LE(end, text.size());
  EXPECT_EQ(ids, tokenizer.encode(text));
}

/// The parts of the text that the tokens stand for.
Texts parts(const Tokenizer& tokenizer, const std::string& text) {
  expect_places(tokenizer, text);
  Texts all;
  for (const LocatedToken& token : tokenizer.locate(text))
    all.push_back(text.substr(token.begin, token.end - token.begin));
  return all;
}

std::string joined(const Texts& texts) {
  std::string all;
  for (const std::string& text : texts) all += text;
  return all;
}

std::shared_ptr<const Tokenizer> pieces(Normalization normalization, bool byte_fallback,
                                        TextSide side = TextSide::source) {
  TokenizerOptions options;
  options.vocab_size = byte_fallback ? 330 : 60;
  options.byte_fallback = byte_fallback;
  return load_sentence_piece(
      train_sentence_piece(options, {{text_reader(sample::english()), side, normalization}}), "test", side);
}

TEST(Locate, Bytes) {
  const auto tokenizer = load_bytes(byte_tokenizer_file, "test");
  EXPECT_EQ(parts(*tokenizer, "a\u00e9"), (Texts{"a", "\xC3", "\xA9"}));
  EXPECT_TRUE(tokenizer->locate("").empty());
}

TEST(Locate, Characters) {
  const auto tokenizer = load_characters("\nab\u00e9", "test");
  EXPECT_EQ(parts(*tokenizer, "b\u00e9x\u6771 a"), (Texts{"b", "\u00e9", "x", "\u6771", " ", "a"}));
}

TEST(Locate, Words) {
  const auto tokenizer = load_whitespace("<unk>\n<s>\n</s>\nder\nl\u00e4uft\n", "test");
  EXPECT_EQ(parts(*tokenizer, "  der\tHund l\u00e4uft "), (Texts{"der", "Hund", "l\u00e4uft"}));
  EXPECT_TRUE(tokenizer->locate("  ").empty());
}

TEST(Locate, BytePairs) {
  for (const char* name : {"gpt2", "llama"}) {
    const auto tokenizer = load_tokenizer_json(
        read_file(std::string(SIXFOLD_SOURCE_DIR "/tests/fuzz/corpus/byte_pairs/") + name), name);
    for (const std::string text : {" the  old\n\u00e9 dog's 21 cats ", "\u6771\u4eac", "x"})
      EXPECT_EQ(joined(parts(*tokenizer, text)), text) << name;
  }
}

TEST(Locate, Pieces) {
  const auto tokenizer = pieces(Normalization::identity, false);
  const std::string text = "A man  sees the girl's bicycle, \u6771. ";
  expect_places(*tokenizer, text);
  // The spaces that the tokenizer drops belong to no token, or to the one beside them.
  std::string all;
  for (const char c : joined(parts(*tokenizer, text)))
    if (c != ' ') all += c;
  EXPECT_EQ(all, "Amanseesthegirl'sbicycle,\u6771.");
  const auto keeping = pieces(Normalization::identity, false, TextSide::exact);
  EXPECT_EQ(joined(parts(*keeping, text)), text);
}

/// The places are those of the original, whatever it was normalized to: "\u2460" to "1", "\uFB01" to "fi",
/// full-width letters to plain ones.
TEST(Locate, PiecesOfNormalizedText) {
  const auto tokenizer = pieces(Normalization::nmt_nfkc_cf, true);
  const std::string text = "\uFF21 \uFF2DAN \uFB01 \u2460 zo\u00eb";
  expect_places(*tokenizer, text);
  size_t end = 0;
  for (const LocatedToken& token : tokenizer->locate(text)) {
    // The bytes of a character may be those of several tokens, but no token has a part of one.
    EXPECT_NE(static_cast<unsigned char>(text[token.begin]) & 0xC0, 0x80) << token.begin;
    const auto after = token.end < text.size() ? static_cast<unsigned char>(text[token.end]) : '\0';
    EXPECT_NE(after & 0xC0, 0x80) << token.end;
    end = std::max(end, token.end);
  }
  EXPECT_EQ(end, text.size());
  const auto located = tokenizer->locate("\uFF2DAN");
  EXPECT_EQ(located.front().begin, 0u);
  EXPECT_EQ(located.back().end, 5u);
}

TEST(Locate, BytesOfUnknownCharacters) {
  const auto tokenizer = pieces(Normalization::identity, true);
  const std::string text = "a man \u6771\u4eac";
  const Texts found = parts(*tokenizer, text);
  ASSERT_GE(found.size(), 6u);
  for (size_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(found[found.size() - i], "\u4eac");
    EXPECT_NE(found[found.size() - 3 - i].find("\u6771"), std::string::npos);
  }
}

TEST(Locate, PiecesWithAnotherVocabulary) {
  const std::string path = SIXFOLD_TEST_GOLDENS "/hugging_face/tied/source.spm";
  const auto plain = load_sentence_piece(read_file(path), path, TextSide::source);
  const auto tokenizer = load_sentence_piece(
      add_vocabulary(read_file(path), {"</s>", "<unk>", ">>deu<<"}, path), path, TextSide::source);
  const std::string text = "the old dog";
  EXPECT_EQ(parts(*tokenizer, text), parts(*plain, text));
  EXPECT_EQ(parts(*tokenizer, ">>deu<< the")[0], ">>deu<<");
  EXPECT_EQ(joined(parts(*tokenizer, ">>deu<< the")).substr(0, 7), ">>deu<<");
  EXPECT_EQ(tokenizer->locate(">>deu<< the").back().end, 11u);
}

TEST(Locate, NeedsText) {
  const auto tokenizer = load_bytes(byte_tokenizer_file, "test");
  EXPECT_NE(error_message([&] { tokenizer->locate("a\xFF"); }).find("is not valid UTF-8"), std::string::npos);
}

}  // namespace
}  // namespace sixfold
