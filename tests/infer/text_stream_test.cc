#include "infer/text_stream.h"

#include <gtest/gtest.h>

#include "text/characters.h"
#include "text/tokenizers.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

using Ids = std::vector<int32_t>;

/// What is shown after each token, and at the end.
std::vector<std::string> pieces(const Tokenizer& tokenizer, const Ids& ids,
                                const std::vector<std::string>& stops = {}) {
  TextStream stream(tokenizer, stops);
  std::vector<std::string> pieces;
  for (size_t count = 1; count <= ids.size(); ++count)
    pieces.push_back(stream.push(std::span(ids).first(count)));
  pieces.push_back(stream.finish(ids));
  return pieces;
}

std::string joined(const std::vector<std::string>& pieces) {
  std::string all;
  for (const std::string& piece : pieces) all += piece;
  return all;
}

using Pieces = std::vector<std::string>;

TEST(TextStream, ShowsWholeCharacters) {
  const auto bytes = load_bytes(byte_tokenizer_file, "test");
  EXPECT_EQ(pieces(*bytes, bytes->encode("aé€b")), (Pieces{"a", "", "é", "", "", "€", "b", ""}));
  // What never becomes a character is shown as U+FFFD.
  EXPECT_EQ(joined(pieces(*bytes, bytes->encode("a\xFF\xC3z\xE2\x82"))),
            replace_invalid_utf8("a\xFF\xC3z\xE2\x82"));
  EXPECT_EQ(joined(pieces(*bytes, {})), "");
}

TEST(TextStream, EndsBeforeAStopString) {
  const auto characters = load_characters("\nabc", "test");
  EXPECT_EQ(pieces(*characters, characters->encode("abcab"), {"ca"}), (Pieces{"a", "b", "", "", "", ""}));
  EXPECT_EQ(pieces(*characters, characters->encode("acb"), {"cc"}), (Pieces{"a", "", "cb", ""}));
  EXPECT_EQ(joined(pieces(*characters, characters->encode("abc"), {"ca", "bcb"})), "abc");
  EXPECT_EQ(joined(pieces(*characters, characters->encode("aab"), {"ab", "aa"})), "");
}

/// The pieces together are the text, for tokens that are parts of words too.
TEST(TextStream, LosesNothing) {
  const std::vector<std::string> lines(30, "the cat sat on the mat and the dog ran");
  TokenizerOptions options;
  options.byte_fallback = true;
  options.vocab_size = 290;
  const Tokenizers tokenizers = make_tokenizers(options, lines, {});
  for (const std::string text : {"the cat\n\nand  thé 😀 dog", " the\n", "\n", "sat"}) {
    const Ids ids = tokenizers.target->encode_text(text);
    EXPECT_EQ(joined(pieces(*tokenizers.target, ids)), text);
  }
}

}  // namespace
}  // namespace sixfold
