#include <gtest/gtest.h>

#include "base/file.h"
#include "error_message.h"
#include "text/sentence_piece.h"

namespace sixfold {
namespace {

const std::string path = SIXFOLD_TEST_GOLDENS "/hugging_face/tied/source.spm";

std::shared_ptr<const Tokenizer> renumbered(const std::vector<std::string>& vocabulary) {
  return load_sentence_piece(add_vocabulary(read_file(path), vocabulary, path), path, TextSide::source);
}

TEST(AddedVocabulary, GivesThePiecesItsIds) {
  const auto plain = load_sentence_piece(read_file(path), path, TextSide::source);
  const std::string text = "the old dog";
  std::vector<std::string> vocabulary{"<pad>", "</s>", ">>deu<<", "<unk>"};
  for (const int32_t id : plain->encode(text)) {
    const std::string piece = plain->token_text(id);
    if (std::find(vocabulary.begin(), vocabulary.end(), piece) == vocabulary.end()) vocabulary.push_back(piece);
  }
  const auto tokenizer = renumbered(vocabulary);
  EXPECT_EQ(tokenizer->vocab_size(), static_cast<int>(vocabulary.size()));
  EXPECT_EQ(tokenizer->eos(), 1);
  EXPECT_EQ(tokenizer->unk(), 3);
  EXPECT_EQ(tokenizer->bos(), -1);
  auto ids = tokenizer->encode(text);
  for (size_t i = 0; i < ids.size(); ++i)
    EXPECT_EQ(tokenizer->token_text(ids[i]), plain->token_text(plain->encode(text)[i]));
  ids.push_back(1);  // control symbols leave no trace
  ids.insert(ids.begin(), 0);
  EXPECT_EQ(tokenizer->decode(ids), text);
}

TEST(AddedVocabulary, UnknownPiecesAndLanguages) {
  const auto tokenizer = renumbered({"</s>", "<unk>", ">>deu<<"});
  for (const int32_t id : tokenizer->encode("the dog")) EXPECT_EQ(id, 1);
  EXPECT_EQ(tokenizer->encode(">>deu<< the")[0], 2);
  EXPECT_EQ(tokenizer->encode(">>fra<< the")[0], 1);
  EXPECT_EQ(tokenizer->language_tokens(), std::vector<std::string>{">>deu<<"});
  for (const int32_t id : tokenizer->encode("</s>")) EXPECT_EQ(id, 1);  // text names no control symbol
}

TEST(AddedVocabulary, PiecesOfAnotherModelBecomeTextToo) {
  const std::vector<std::string> vocabulary{"</s>", "<unk>",  "\u2581the", "\u2581Hund",
                                            "e",    "\u2581", "\u3000"};
  const std::string bytes = add_vocabulary(read_file(path), vocabulary, path);
  const auto source = load_sentence_piece(bytes, path, TextSide::source),
             target = load_sentence_piece(bytes, path, TextSide::exact);
  const auto text = [](const auto& tokenizer, const std::vector<int32_t>& ids) {
    return tokenizer->decode(ids);
  };
  EXPECT_EQ(text(target, {3, 4, 2}), "Hunde the");
  EXPECT_EQ(text(target, {2, 5, 3}), "the  Hund");
  EXPECT_EQ(text(target, {5, 6, 3, 6, 5, 5, 0}), "Hund");  // nothing at the ends
  EXPECT_EQ(text(target, {2, 1, 3}), "the Hund");          // no sign for what is unknown
  EXPECT_EQ(text(source, {2, 1, 3}), "the \u2047  Hund");  // the words of a source stay countable
  EXPECT_EQ(text(target, {5, 5}), "");
}

TEST(AddedVocabulary, CanBeTakenOffAgain) {
  const std::string model = read_file(path), added = add_vocabulary(model, {"</s>", "<unk>", "a"}, path);
  EXPECT_NE(added, model);
  EXPECT_EQ(plain_model(added, TextSide::source), model);
  EXPECT_EQ(add_vocabulary(added, {"</s>", "<unk>", "b"}, path),
            add_vocabulary(model, {"</s>", "<unk>", "b"}, path));
}

/// A model of another program reads as that does, on every side, whatever its normalizer_spec says.
TEST(AddedVocabulary, TextIsReadByTheModelsOwnRules) {
  const std::string model = read_file(path);
  const auto keeping = model + std::string("\x1a\x02\x20\x00", 4);  // remove_extra_whitespaces: false
  for (const TextSide side : {TextSide::source, TextSide::target, TextSide::exact}) {
    for (const auto& mark : {mark_imported, mark_whole_texts}) {
      const auto removing = load_sentence_piece(mark(model, path), path, side);
      EXPECT_EQ(removing->encode(" the  dog "), removing->encode("the dog"));
      EXPECT_NE(load_sentence_piece(mark(keeping, path), path, side)->encode("the  dog"),
                removing->encode("the dog"));
    }
    const auto renumbered =
        load_sentence_piece(add_vocabulary(model, {"</s>", "<unk>", "a"}, path), path, side);
    EXPECT_EQ(renumbered->encode(" the  dog "), renumbered->encode("the dog"));
  }
}

TEST(AddedVocabulary, IsCheckedAtOnce) {
  const auto refusal = [](const std::vector<std::string>& vocabulary) {
    return error_message([&] { add_vocabulary(read_file(path), vocabulary, "x.spm"); });
  };
  EXPECT_EQ(refusal({"<unk>"}), "x.spm: the vocabulary lacks </s>");
  EXPECT_EQ(refusal({"</s>"}), "x.spm: the vocabulary lacks <unk>");
  EXPECT_EQ(refusal({"</s>", "<unk>", "a", "a"}), "x.spm: the vocabulary has 'a' twice; remove one");
}

}  // namespace
}  // namespace sixfold
