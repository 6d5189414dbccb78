#include "text/characters.h"

#include <gtest/gtest.h>

#include "error_message.h"
#include "temporary_folder.h"
#include "text/tokenizers.h"

namespace sixfold {
namespace {

using Ids = std::vector<int32_t>;

std::string collect(const TokenizerOptions& options, const std::vector<std::string>& lines) {
  return collect_characters(options, {text_reader(lines)});
}

TokenizerOptions unlimited() {
  TokenizerOptions options;
  options.kind = TokenizerKind::characters;
  options.vocab_size = 0;
  return options;
}

TEST(Characters, AreCollectedInTheOrderOfCodePoints) {
  EXPECT_EQ(collect(unlimited(), {"ba", "é€😀a"}), "\nabé€😀");
  TokenizerOptions few = unlimited();
  few.vocab_size = 6;  // three special tokens, the line feed and two more
  EXPECT_EQ(collect(few, {"abbccc"}), "\nbc");
  TokenizerOptions frequent = unlimited();
  frequent.minimum_count = 2;
  EXPECT_EQ(collect(frequent, {"abbccc"}), "\nbc");
  few.vocab_size = 4;
  EXPECT_NE(error_message([&] { validate(few); }).find("increase it"), std::string::npos);
  EXPECT_NE(error_message([] { collect(unlimited(), {}); }).find("no text"), std::string::npos);
}

TEST(Characters, AreTokens) {
  const auto tokenizer = load_characters("\nabé", "test");
  EXPECT_EQ(tokenizer->vocab_size(), 7);
  EXPECT_EQ(tokenizer->encode("baéx"), (Ids{5, 4, 6, 0}));
  EXPECT_EQ(tokenizer->encode_text("a\n\nb"), (Ids{4, 3, 3, 5}));
  EXPECT_EQ(tokenizer->decode_text(Ids{1, 4, 3, 3, 6, 0, 2}), "a\n\né\uFFFD");
  EXPECT_EQ(tokenizer->decode(Ids{4, 3, 5}), "a b");  // one line
  EXPECT_EQ(tokenizer->token_text(6), "é");
  EXPECT_EQ(tokenizer->token_text(3), "<0x0A>");
  EXPECT_EQ(load_characters(" ", "test")->token_text(3), "\u2581");
  EXPECT_EQ(tokenizer->token_text(2), "</s>");
  EXPECT_EQ(tokenizer->encode("a\xFF"), (Ids{4, 0}));  // not valid UTF-8
  for (const int32_t id : {-1, 7})
    EXPECT_NE(error_message([&] { tokenizer->decode(Ids{id}); }).find("outside the vocabulary"),
              std::string::npos);
}

TEST(Characters, RefusesBadFiles) {
  EXPECT_NE(error_message([] { load_characters("aba", "f"); }).find("f: has the character 'a' twice"),
            std::string::npos);
  EXPECT_NE(error_message([] { load_characters("a\xC3", "f"); }).find("not valid UTF-8"), std::string::npos);
  EXPECT_NE(error_message([] { load_characters("", "f"); }).find("no characters"), std::string::npos);
  EXPECT_NE(error_message([] { load_bytes("x", "f"); }).find("f: is not the file"), std::string::npos);
}

TEST(Bytes, AreTokens) {
  const auto tokenizer = load_bytes(byte_tokenizer_file, "test");
  EXPECT_EQ(tokenizer->vocab_size(), 259);
  const std::string all = "é\n\x01z\xFF";
  const Ids ids = tokenizer->encode_text(all);
  EXPECT_EQ(ids, (Ids{3 + 0xC3, 3 + 0xA9, 3 + 10, 3 + 1, 3 + 'z', 3 + 0xFF}));
  EXPECT_EQ(tokenizer->decode_text(ids), all);
  EXPECT_EQ(tokenizer->token_text(3 + 0xC3), "<0xC3>");
  EXPECT_EQ(tokenizer->token_text(3 + 'z'), "z");
}

/// Text of several lines comes back as it was, whatever the kind of tokens.
TEST(TokenizerText, ReturnsWithItsLines) {
  const std::vector<std::string> lines(50, "the cat sat on the mat  twice, and on");
  for (const TokenizerKind kind :
       {TokenizerKind::characters, TokenizerKind::bytes, TokenizerKind::sentencepiece}) {
    TokenizerOptions options;
    options.kind = kind;
    options.byte_fallback = true;
    options.vocab_size = kind == TokenizerKind::sentencepiece ? 290 : 0;
    options.normalization = Normalization::identity;
    const Tokenizers tokenizers = make_tokenizer(options, text_reader(lines), TextSide::exact);
    for (const std::string text : {"the cat\n\n  on the mat", "the cat\n", "\n", "", " the"})
      EXPECT_EQ(tokenizers.target->decode_text(tokenizers.target->encode_text(text)), text)
          << name_of_enum(kind);
  }
}

TEST(TokenizerText, NeedsATokenForTheEndOfALine) {
  TokenizerOptions options;
  options.kind = TokenizerKind::whitespace;
  options.vocab_size = 0;
  const std::vector<std::string> lines{"a b"};
  const Tokenizers tokenizers = make_tokenizers(options, lines, {});
  EXPECT_EQ(tokenizers.target->decode_text(tokenizers.target->encode_text("b a")), "b a");
  EXPECT_NE(
      error_message([&] { tokenizers.target->encode_text("a\nb"); }).find("no token for the end of a line"),
      std::string::npos);
}

TEST(TokenizerText, IsSavedAndLoaded) {
  const TemporaryFolder folder;
  const std::vector<std::string> lines{"ab", "é"};
  for (const TokenizerKind kind : {TokenizerKind::characters, TokenizerKind::bytes}) {
    TokenizerOptions options = unlimited();
    options.kind = kind;
    const Tokenizers tokenizers = make_tokenizers(options, lines, {});
    const std::string place = folder / std::string(name_of_enum(kind));
    std::filesystem::create_directories(place);
    save_tokenizers(tokenizers, place);
    for (const auto& entry : std::filesystem::directory_iterator(place))
      EXPECT_TRUE(is_tokenizer_file(entry.path().filename().string())) << entry.path();
    const Tokenizers loaded = load_tokenizers(place);
    EXPECT_EQ(loaded.target->hash(), tokenizers.target->hash());
    EXPECT_EQ(loaded.target->kind(), kind);
    TokenizerOptions other = options;
    other.kind = kind == TokenizerKind::bytes ? TokenizerKind::characters : TokenizerKind::bytes;
    other.source = place + "/tokenizer." + std::string(name_of_enum(kind));
    EXPECT_NE(error_message([&] { make_tokenizers(other, lines, {}); }).find("change one of them"),
              std::string::npos);
    options.user_defined_symbols = {"x"};
    EXPECT_NE(error_message([&] { make_tokenizers(options, lines, {}); }).find("can't have them"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace sixfold
