#include "text/masked_text.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "error_message.h"
#include "text/characters.h"
#include "text/sample_text.h"
#include "text/sentence_piece.h"
#include "text/subword_trainer.h"
#include "text/tokenizer_json.h"
#include "text/whitespace.h"

namespace sixfold {
namespace {

std::shared_ptr<const Tokenizer> pieces(PieceModel model, Normalization normalization, bool byte_fallback) {
  TokenizerOptions options;
  options.model = model;
  options.vocab_size = byte_fallback ? 330 : 80;
  options.byte_fallback = byte_fallback;
  return load_sentence_piece(
      train_sentence_piece(options, {{text_reader(sample::english()), TextSide::source, normalization}}),
      "test", TextSide::source);
}

/// The ids of a text in which a mask takes the place of a token.
std::vector<int32_t> with_mask(const Tokenizer& tokenizer, std::vector<int32_t> ids, size_t place) {
  ids[place] = tokenizer.unk();
  return ids;
}

TEST(MaskedText, StandsForOneTokenOfAWholeWord) {
  const auto tokenizer = load_whitespace("<unk>\n<s>\n</s>\nan\nold\nfilm\n", "test");
  const MaskedText text = MaskedTextCoder(*tokenizer).encode("an  <mask> film <mask>");
  EXPECT_EQ(text.ids, (std::vector<int32_t>{3, 0, 5, 0}));
  ASSERT_EQ(text.masks.size(), 2u);
  EXPECT_EQ(text.masks[0].token, 1u);
  EXPECT_EQ(text.masks[0].begin, 2u) << "with the spaces before it";
  EXPECT_EQ(text.masks[0].end, 10u);
  EXPECT_EQ(text.masks[1].token, 3u);
  EXPECT_EQ(MaskedTextCoder(*tokenizer).text_of(4), " old");
  EXPECT_TRUE(MaskedTextCoder(*tokenizer).encode("an old film").masks.empty());
}

TEST(MaskedText, StandsForOneCharacter) {
  const auto tokenizer = load_characters("\n abc", "test");
  const MaskedText text = MaskedTextCoder(*tokenizer).encode("a <mask><mask>c");
  std::vector<int32_t> expected = tokenizer->encode("a bbc");
  expected[2] = expected[3] = tokenizer->unk();
  EXPECT_EQ(text.ids, expected);
  EXPECT_EQ(text.masks.at(0).begin, 2u) << "a space is a token of its own";
  EXPECT_EQ(text.masks.at(1).token, 3u);
  EXPECT_EQ(MaskedTextCoder(*tokenizer).text_of(tokenizer->encode("b")[0]), "b");
  const auto bytes = load_bytes(byte_tokenizer_file, "test");
  EXPECT_EQ(MaskedTextCoder(*bytes).encode("a<mask>b").ids, with_mask(*bytes, bytes->encode("axb"), 1));
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
          EXPECT_EQ(MaskedTextCoder(*tokenizer).encode(text).ids, all)
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
      load_tokenizer_json(read_file(SIXFOLD_SOURCE_DIR "/tests/fuzz/corpus/byte_pairs/gpt2"), "gpt2");
  const MaskedText text = MaskedTextCoder(*tokenizer).encode("the <mask> the");
  std::vector<int32_t> expected = tokenizer->encode("the");
  expected.push_back(tokenizer->unk());
  for (const int32_t id : tokenizer->encode(" the")) expected.push_back(id);
  EXPECT_EQ(text.ids, expected);
}

/// The text with the first candidates of each mask, which are tokens of another text.
std::string filled(const Tokenizer& tokenizer, const std::string& text, const std::vector<int32_t>& ids) {
  const MaskedTextCoder coder(tokenizer);
  const MaskedText encoded = coder.encode(text);
  EXPECT_EQ(encoded.masks.size(), ids.size()) << text;
  return coder.fill(text, encoded.masks, ids);
}

TEST(MaskedText, IsFilledWithWordsAndPartsOfWords) {
  const auto words = load_whitespace("<unk>\n<s>\n</s>\nthe\nnew@@\nest\nfilm\n", "test");
  EXPECT_EQ(filled(*words, "the <mask>  <mask> film", {4, 5}), "the new@@ est film");
  EXPECT_EQ(filled(*words, "<mask> film", {3}), "the film");
  const auto spaces = load_characters("\n abc", "test");
  const int32_t space = spaces->encode(" ")[0], letter = spaces->encode("b")[0];
  EXPECT_EQ(filled(*spaces, "<mask> <mask>", {space, letter}), "  b") << "a space is a token like others";
}

TEST(MaskedText, IsFilledWithPieces) {
  const auto tokenizer = pieces(PieceModel::unigram, Normalization::identity, true);
  const std::vector<int32_t> all = tokenizer->encode("a \u6771");
  ASSERT_GE(all.size(), 5u);
  const std::vector<int32_t> character(all.end() - 4, all.end());  // the space and three bytes
  ASSERT_EQ(tokenizer->token_text(character[0]), "\u2581");
  int32_t word = 0;  // that begins with its space
  while (tokenizer->token_text(word).size() < 4 || !tokenizer->token_text(word).starts_with("\u2581")) ++word;
  const std::string spaced = MaskedTextCoder(*tokenizer).text_of(word), plain = spaced.substr(1);
  EXPECT_EQ(spaced[0], ' ');
  EXPECT_EQ(MaskedTextCoder(*tokenizer).text_of(character[0]), " ");
  EXPECT_EQ(filled(*tokenizer, "a<mask>\u6771", {character[0]}), "a \u6771");
  EXPECT_EQ(filled(*tokenizer, "<mask> <mask>", {word, word}), plain + spaced);
  EXPECT_EQ(filled(*tokenizer, "x\t<mask>", {word}), "x\t" + plain) << "the white space of the text stays";
  EXPECT_EQ(filled(*tokenizer, "(<mask>", {word}), "(" + spaced);
  EXPECT_EQ(filled(*tokenizer, "a<mask><mask><mask><mask>.", character), "a \u6771.");
  EXPECT_EQ(filled(*tokenizer, "a<mask>", {character[1]}), "a\uFFFD") << "a part of a character";
}

/// A tokenizer like that of BERT removes characters for private use.
TEST(MaskedText, IsEncodedByWordPieces) {
  TokenizerOptions options;
  options.kind = TokenizerKind::wordpiece;
  options.vocab_size = 120;
  const auto tokenizer =
      load_tokenizer_json(train_word_pieces(options, {text_reader(sample::english())}), "test");
  const std::string line = sample::english()[0], rest = line.substr(line.find(' '));
  const std::vector<int32_t> ids = tokenizer->encode(rest);
  const MaskedText masked = MaskedTextCoder(*tokenizer).encode("<mask>" + rest);
  ASSERT_EQ(masked.masks.size(), 1u);
  EXPECT_EQ(masked.ids[0], tokenizer->unk());
  EXPECT_TRUE(std::equal(masked.ids.begin() + 1, masked.ids.end(), ids.begin(), ids.end()));
}

TEST(MaskedText, IsFilledWithBytes) {
  const auto tokenizer = load_bytes(byte_tokenizer_file, "test");
  const std::vector<int32_t> ids = tokenizer->encode("\u00e9");
  EXPECT_EQ(filled(*tokenizer, "a<mask><mask>b", ids), "a\u00e9b");
  EXPECT_EQ(filled(*tokenizer, "a<mask>b", {ids[0]}), "a\uFFFDb");
  EXPECT_EQ(MaskedTextCoder(*tokenizer).text_of(ids[0]), "\uFFFD");
}

TEST(MaskedText, MustNotTouchTextThatIsOneTokenWithIt) {
  const auto words = load_whitespace("<unk>\n<s>\n</s>\nthe\n", "test");
  const auto without_bytes = pieces(PieceModel::unigram, Normalization::identity, false);
  for (const std::string text : {"<mask>.", "the<mask>", "a<mask>b c", "<mask>x<mask>"})
    EXPECT_NE(error_message([&] { MaskedTextCoder(*words).encode(text); }).find("touches text"),
              std::string::npos)
        << text;
  EXPECT_NE(
      error_message([&] { MaskedTextCoder(*without_bytes).encode("a <mask>\u2603"); }).find("touches text"),
      std::string::npos);
  EXPECT_EQ(MaskedTextCoder(*without_bytes).encode("a <mask> \u2603").masks.size(), 1u);
}

TEST(MaskedText, LeavesWhiteSpaceThatIsATokenOfItsOwn) {
  const auto tokenizer = pieces(PieceModel::unigram, Normalization::identity, true);
  std::vector<int32_t> expected = tokenizer->encode("the\t");
  expected.push_back(tokenizer->unk());
  EXPECT_EQ(MaskedTextCoder(*tokenizer).encode("the\t<mask>").ids, expected);
}

TEST(MaskedText, NeedsACharacterToStandForMasks) {
  const auto tokenizer = load_bytes(byte_tokenizer_file, "test");
  std::string all;
  for (int number = 0; number < 0x100; ++number)
    for (const auto& [lead, second] : {std::pair(0xEE, 0x80), {0xE2, 0xA0}})
      all += {static_cast<char>(lead), static_cast<char>(second + (number >> 6)),
              static_cast<char>(0x80 + (number & 0x3F))};
  EXPECT_NE(error_message([&] { MaskedTextCoder(*tokenizer).encode(all + "<mask>"); }).find("none is left"),
            std::string::npos);
  EXPECT_TRUE(MaskedTextCoder(*tokenizer).encode(all).masks.empty());
}

TEST(MaskedText, RefusesWhatIsNotText) {
  const auto tokenizer = load_bytes(byte_tokenizer_file, "test");
  EXPECT_NE(error_message([&] { MaskedTextCoder(*tokenizer).encode("\xFF<mask>"); }).find("not valid UTF-8"),
            std::string::npos);
}

}  // namespace
}  // namespace sixfold
