#include "text/masked_text.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "error_message.h"
#include "text/byte_pairs.h"
#include "text/characters.h"
#include "text/sample_text.h"
#include "text/sentence_piece.h"
#include "text/whitespace.h"

namespace sixfold {
namespace {

std::shared_ptr<const Tokenizer> pieces(PieceModel model, Normalization normalization, bool byte_fallback) {
  TokenizerOptions options;
  options.model = model;
  options.vocab_size = byte_fallback ? 330 : 80;
  options.byte_fallback = byte_fallback;
  return load_sentence_piece(train_sentence_piece(options, normalization, {text_reader(sample::english())}),
                             "test", Spaces::as_trained);
}

/// The ids of a text in which a mask takes the place of a token.
std::vector<int32_t> with_mask(const Tokenizer& tokenizer, std::vector<int32_t> ids, size_t place) {
  ids[place] = tokenizer.unk();
  return ids;
}

TEST(MaskedText, StandsForOneTokenOfAWholeWord) {
  const auto tokenizer = load_whitespace("<unk>\n<s>\n</s>\nan\nold\nfilm\n", "test");
  const MaskedText text = encode_masked(*tokenizer, "an  <mask> film <mask>");
  EXPECT_EQ(text.ids, (std::vector<int32_t>{3, 0, 5, 0}));
  ASSERT_EQ(text.masks.size(), 2u);
  EXPECT_EQ(text.masks[0].token, 1u);
  EXPECT_EQ(text.masks[0].begin, 2u) << "with the spaces before it";
  EXPECT_EQ(text.masks[0].end, 10u);
  EXPECT_EQ(text.masks[1].token, 3u);
  EXPECT_EQ(text_within(*tokenizer, 4), " old");
  EXPECT_TRUE(encode_masked(*tokenizer, "an old film").masks.empty());
}

TEST(MaskedText, StandsForOneCharacter) {
  const auto tokenizer = load_characters("\n abc", "test");
  const MaskedText text = encode_masked(*tokenizer, "a <mask><mask>c");
  std::vector<int32_t> expected = tokenizer->encode("a bbc");
  expected[2] = expected[3] = tokenizer->unk();
  EXPECT_EQ(text.ids, expected);
  EXPECT_EQ(text.masks.at(0).begin, 2u) << "a space is a token of its own";
  EXPECT_EQ(text.masks.at(1).token, 3u);
  EXPECT_EQ(text_within(*tokenizer, tokenizer->encode("b")[0]), "b");
  const auto bytes = load_bytes(byte_tokenizer_file, "test");
  EXPECT_EQ(encode_masked(*bytes, "a<mask>b").ids, with_mask(*bytes, bytes->encode("axb"), 1));
}

/// What surrounds a mask has the tokens that it has beside a word.
TEST(MaskedText, LeavesTheOtherPiecesAsTheyAre) {
  for (const PieceModel model : {PieceModel::unigram, PieceModel::bpe})
    for (const bool byte_fallback : {false, true})
      for (const Normalization normalization :
           {Normalization::identity, Normalization::nfkc, Normalization::nmt_nfkc, Normalization::nfkc_cf,
            Normalization::nmt_nfkc_cf}) {
        const auto tokenizer = pieces(model, normalization, byte_fallback);
        const auto ids = [&](const std::string& text) { return tokenizer->encode(text); };
        const std::vector<int32_t> mask{tokenizer->unk()};
        const auto expect = [&](const std::string& text, const std::vector<std::vector<int32_t>>& parts) {
          std::vector<int32_t> all;
          for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
          EXPECT_EQ(encode_masked(*tokenizer, text).ids, all)
              << text << " " << name_of_enum(normalization) << " " << byte_fallback;
        };
        expect("a man <mask> the dog", {ids("a man"), mask, ids("the dog")});
        expect("<mask> man", {mask, ids("man")});
        expect("a <mask>", {ids("a"), mask});
        expect("<mask>", {mask});
        expect("a <mask> <mask> dog", {ids("a"), mask, mask, ids("dog")});
        expect("a <mask><mask>", {ids("a"), mask, mask});
        const std::string user = "\xEE\x80\x80";  // the first character that could stand for a mask
        expect("a " + user + " <mask>", {ids("a " + user), mask});
      }
}

TEST(MaskedText, BytePairs) {
  const auto tokenizer =
      load_byte_pairs(read_file(SIXFOLD_SOURCE_DIR "/tests/fuzz/corpus/byte_pairs/gpt2"), "gpt2");
  const MaskedText text = encode_masked(*tokenizer, "the <mask> the");
  std::vector<int32_t> expected = tokenizer->encode("the");
  expected.push_back(tokenizer->unk());
  for (const int32_t id : tokenizer->encode(" the")) expected.push_back(id);
  EXPECT_EQ(text.ids, expected);
}

TEST(MaskedText, RefusesWhatIsNotText) {
  const auto tokenizer = load_bytes(byte_tokenizer_file, "test");
  EXPECT_NE(error_message([&] { encode_masked(*tokenizer, "\xFF<mask>"); }).find("not valid UTF-8"),
            std::string::npos);
}

}  // namespace
}  // namespace sixfold
