#include "text/sentence_piece.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "error_message.h"
#include "text/sample_text.h"
#include "text/tokenizers.h"

namespace sixfold {
namespace {

TokenizerOptions options_of(int vocab_size) {
  TokenizerOptions options;
  options.vocab_size = vocab_size;
  return options;
}

std::string train(const TokenizerOptions& options, const std::vector<std::string>& text) {
  return train_sentence_piece(options, {{text_reader(text), TextSide::source, options.normalization}});
}

std::shared_ptr<const Tokenizer> tokenizer_of(const TokenizerOptions& options,
                                              const std::vector<std::string>& text,
                                              TextSide side = TextSide::source) {
  return load_sentence_piece(train(options, text), "test", side);
}

std::string round_trip(const Tokenizer& tokenizer, std::string_view text) {
  return tokenizer.decode(tokenizer.encode(text));
}

class SentencePieceModels : public testing::TestWithParam<PieceModel> {};

TEST_P(SentencePieceModels, RoundTrip) {
  for (const auto& text : {sample::english(), sample::german(), sample::japanese()}) {
    TokenizerOptions options = options_of(80);
    options.model = GetParam();
    const auto tokenizer = tokenizer_of(options, text);
    for (const std::string& sentence : text) {
      const auto ids = tokenizer->encode(sentence);
      EXPECT_EQ(tokenizer->decode(ids), sentence);
      EXPECT_LT(ids.size(), sentence.size());
      for (const int32_t id : ids) EXPECT_TRUE(id > tokenizer->eos() && id < tokenizer->vocab_size());
    }
  }
}

/// Long texts are encoded in parts, which must not show: a run of unknown characters is one token, however
/// long.
TEST_P(SentencePieceModels, LongRunsOfUnknownCharactersAreOneToken) {
  TokenizerOptions options = options_of(80);
  options.model = GetParam();
  const auto tokenizer = tokenizer_of(options, sample::english());
  const auto repeated = [](const std::string& text, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += text;
    return all;
  };
  EXPECT_TRUE(tokenizer->locate(repeated(" ", 10000)).empty());
  // Some are normalized to other characters, of which no rule may see a part alone.
  for (const std::string& one : std::vector<std::string>{"ก", "日本", "u\u0323\u0301", "\u30AB\u3099", "🌷",
                                                         "\uFF76\uFF9E", "กข" + repeated("\x01", 100)})
    for (const std::string& before : {std::string(), std::string("A man "), repeated("red house ", 700)})
      for (const std::string& after : {std::string(), std::string(" sees."), repeated("horses", 1500)}) {
        const std::string text = before + repeated(one, 4000) + after;
        const auto ids = tokenizer->encode(text);
        const auto few = tokenizer->encode(before + repeated(one, 3) + after);
        EXPECT_TRUE(tokenizer->decode(ids) == tokenizer->decode(few)) << one;
        // Between two best segmentations of unigram models the rounding of the scores decides.
        EXPECT_TRUE(ids == few || GetParam() == PieceModel::unigram) << one;
        size_t end = 0;
        std::vector<int32_t> located;
        for (const LocatedToken& token : tokenizer->locate(text)) {
          located.push_back(token.id);
          EXPECT_EQ(end, token.begin);
          end = token.end;
        }
        EXPECT_TRUE(located == ids) << one;
        EXPECT_EQ(end, text.size());
      }
}

TEST_P(SentencePieceModels, SameTextGivesTheSameBytes) {
  TokenizerOptions options = options_of(100);
  options.model = GetParam();
  EXPECT_EQ(train(options, sample::german()), train(options, sample::german()));
  EXPECT_NE(train(options, sample::german()), train(options, sample::english()));
}

TEST_P(SentencePieceModels, VocabularyLargerThanTheText) {
  TokenizerOptions options = options_of(30000);
  options.model = GetParam();
  const auto tokenizer = tokenizer_of(options, sample::english());
  EXPECT_LT(tokenizer->vocab_size(), 1000);
  EXPECT_EQ(round_trip(*tokenizer, "Nobody likes horses."), "Nobody likes horses.");
}

TEST_P(SentencePieceModels, VocabularySmallerThanTheAlphabet) {
  TokenizerOptions options = options_of(10);
  options.model = GetParam();
  EXPECT_THROW(train(options, sample::english()), Error);
  EXPECT_EQ(error_message([&] { train(options, sample::english()); }).find("--"), std::string::npos)
      << "options of another program";
}

INSTANTIATE_TEST_SUITE_P(Models, SentencePieceModels, testing::Values(PieceModel::unigram, PieceModel::bpe));

TEST(SentencePiece, SpecialSymbols) {
  const auto tokenizer = tokenizer_of(options_of(40), sample::english());
  EXPECT_EQ(tokenizer->unk(), 0);
  EXPECT_EQ(tokenizer->bos(), 1);
  EXPECT_EQ(tokenizer->eos(), 2);
  EXPECT_EQ(tokenizer->token_text(2), "</s>");
  EXPECT_EQ(tokenizer->vocab_size(), 40);
  auto ids = tokenizer->encode("A man sees two horses.");
  ids.insert(ids.begin(), tokenizer->bos());
  ids.push_back(tokenizer->eos());
  EXPECT_EQ(tokenizer->decode(ids), "A man sees two horses.");
  for (const int32_t id : tokenizer->encode("A </s> <s> man")) EXPECT_TRUE(id != 1 && id != 2);
  EXPECT_EQ(tokenizer->encode("東")[1], tokenizer->unk());
  EXPECT_TRUE(tokenizer->encode("").empty());
  EXPECT_EQ(tokenizer->decode({}), "");
}

TEST(SentencePiece, IdsOutsideTheVocabularyAreErrors) {
  const auto tokenizer = tokenizer_of(options_of(40), sample::english());
  for (const int32_t id : {-1, 40, INT32_MAX}) {
    EXPECT_THROW(tokenizer->decode(std::vector<int32_t>{id}), Error);
    EXPECT_THROW(tokenizer->token_text(id), Error);
  }
}

TEST(SentencePiece, SpacesAreKeptWhereAsked) {
  const auto collapsing = tokenizer_of(options_of(40), sample::english());
  const auto keeping = tokenizer_of(options_of(40), sample::english(), TextSide::exact);
  const std::string text = "  A man  sees   two horses. ";
  EXPECT_EQ(round_trip(*collapsing, text), "A man sees two horses.");
  EXPECT_EQ(round_trip(*keeping, text), text);
  EXPECT_EQ(keeping->encode("A man sees."), collapsing->encode("A man sees."));
  EXPECT_EQ(keeping->hash(), collapsing->hash());
}

TEST(SentencePiece, NormalizationIsAnOption) {
  TokenizerOptions options = options_of(40);
  EXPECT_EQ(round_trip(*tokenizer_of(options, sample::english()), "A man."), "A man.");
  options.normalization = Normalization::nmt_nfkc_cf;
  const auto folding = tokenizer_of(options, sample::english());
  EXPECT_EQ(round_trip(*folding, "Ａ ＭAN."), "a man.");
}

TEST(SentencePiece, UserDefinedSymbolsAreNeverDivided) {
  TokenizerOptions options = options_of(48);
  options.user_defined_symbols = {"<de>", "a,b", "\"q\""};
  const auto tokenizer = tokenizer_of(options, sample::english());
  for (const std::string& symbol : options.user_defined_symbols) {
    const auto ids = tokenizer->encode("man" + symbol + "man");
    EXPECT_EQ(
        std::count_if(ids.begin(), ids.end(), [&](int32_t id) { return tokenizer->token_text(id) == symbol; }),
        1)
        << symbol;
  }
}

TEST(SentencePiece, ByteFallbackKnowsEveryCharacter) {
  TokenizerOptions options = options_of(300);
  options.byte_fallback = true;
  const auto tokenizer = tokenizer_of(options, sample::english());
  EXPECT_EQ(round_trip(*tokenizer, "A man sees 東京."), "A man sees 東京.");
}

TEST(SentencePiece, DecodesToOneLineWhateverThePieces) {
  TokenizerOptions options = options_of(300);
  options.byte_fallback = true;
  const std::string model = train(options, sample::english());
  const auto plain = load_sentence_piece(model, "test", TextSide::exact);
  std::vector<std::string> vocabulary;
  for (int32_t id = 0; id < plain->vocab_size(); ++id) vocabulary.push_back(plain->token_text(id));
  vocabulary.push_back("x\ny");
  const auto renumbered =
      load_sentence_piece(add_vocabulary(model, vocabulary, "test"), "test", TextSide::exact);
  const auto id_of = [&](const std::string& piece) {
    return static_cast<int32_t>(std::ranges::find(vocabulary, piece) - vocabulary.begin());
  };
  const std::vector<int32_t> ids{id_of("<0x41>"), id_of("<0x0D>"), id_of("<0x0A>"), id_of("<0x42>"),
                                 id_of("<0x00>")};
  EXPECT_EQ(plain->decode(ids), "A  B\uFFFD");
  EXPECT_EQ(renumbered->decode(ids), "A  B\uFFFD");
  EXPECT_EQ(renumbered->decode(std::vector<int32_t>{id_of("x\ny")}), "x y");
}

TEST(SentencePiece, TrainsOnAnEvenSampleOfTheText) {
  std::vector<std::string> text = sample::english();
  for (const std::string& sentence : sample::japanese()) text.push_back(sentence);
  TokenizerOptions options = options_of(60);
  options.max_sentences = 16;
  const auto tokenizer = tokenizer_of(options, text);
  EXPECT_EQ(round_trip(*tokenizer, "man"), "man");
  EXPECT_NE(tokenizer->encode("は")[1], tokenizer->unk());
}

TEST(SentencePiece, NoSentenceOfTheSampleIsLost) {
  std::vector<std::string> text;
  for (int i = 0; i < 400; ++i)
    text.push_back({'\xE4', static_cast<char>(0xB8 + i / 64), static_cast<char>(0x80 + i % 64)});
  for (const int64_t most : {1, 7, 100, 199, 200, 201, 399, 400}) {
    TokenizerOptions options = options_of(1000);
    options.max_sentences = most;
    const auto tokenizer = tokenizer_of(options, text);
    EXPECT_EQ(std::ranges::count_if(
                  text, [&](const auto& line) { return tokenizer->encode(line).back() != tokenizer->unk(); }),
              most);
  }
}

TEST(SentencePiece, TextWithNothingToLearnIsAnError) {
  const std::string zero_and_one("\0\x01", 2);
  for (const std::string& line :
       {std::string(), std::string("  "), zero_and_one, std::string("\u200B"), std::string("\u2585")})
    EXPECT_THROW(train(options_of(40), {line, line}), Error);
  EXPECT_THROW(train(options_of(40), {}), Error);
}

/// The trainer takes no sentence of more than 32 KiB, but a text may be one long line.
TEST_P(SentencePieceModels, LongSentencesAreLearnedFromInParts) {
  TokenizerOptions options = options_of(80);
  options.model = GetParam();
  std::string joined, japanese;
  std::vector<std::string> lines;
  while (joined.size() < 100'000)
    for (const std::string& sentence : sample::english())
      joined += (joined.empty() ? "" : " ") + sentence, lines.push_back(sentence);
  const std::string learned = train(options, {joined});
  EXPECT_EQ(learned, train(options, lines));  // words are the same, and only they count
  while (japanese.size() < 100'000)
    for (const std::string& sentence : sample::japanese()) japanese += sentence;
  const auto tokenizer = tokenizer_of(options, {japanese});  // has no spaces
  for (const std::string& sentence : sample::japanese()) EXPECT_EQ(round_trip(*tokenizer, sentence), sentence);
  for (int32_t id = 0; id < tokenizer->vocab_size(); ++id)  // no character was cut
    EXPECT_EQ(tokenizer->token_text(id).find("\uFFFD"), std::string::npos);
}

TEST(SentencePiece, OddTextIsNoHarm) {
  std::vector<std::string> text = sample::english();
  text.push_back(std::string("nul \0 inside", 12));
  text.push_back("bad \xFF byte");
  text.push_back("tab\tand \u2581 mark");
  text.push_back(std::string(3000, 'x'));
  const auto tokenizer = tokenizer_of(options_of(48), text);
  for (const std::string& line : text) round_trip(*tokenizer, line);
  EXPECT_EQ(round_trip(*tokenizer, "A man."), "A man.");
}

TEST(SentencePieceHostile, JunkIsRefused) {
  const std::string model = train(options_of(40), sample::english());
  for (const std::string& bytes :
       {std::string(), std::string("junk"), std::string(1000, '\0'), std::string(1000, '\xFF'),
        std::string(100, '\x0A'), std::string("PK\x03\x04"), std::string("<html>not found</html>"),
        model + "x"})
    EXPECT_THROW(load_sentence_piece(bytes, "bad.spm", TextSide::source), Error);
}

TEST(SentencePieceHostile, EveryTruncationIsRefused) {
  TokenizerOptions options = options_of(40);
  options.normalization = Normalization::nfkc;
  const std::string model = train(options, sample::english());
  for (size_t size = 0; size < model.size(); size += size < 4000 ? 1 : 997)
    EXPECT_THROW(load_sentence_piece(model.substr(0, size), "cut.spm", TextSide::source), Error) << size;
}

// Whatever the checks let through must load and work, or be refused: no crash, no hang.
TEST(SentencePieceHostile, ChangedBytesDoNoHarm) {
  for (const Normalization normalization : {Normalization::identity, Normalization::nmt_nfkc}) {
    TokenizerOptions options = options_of(40);
    options.user_defined_symbols = {"<de>"};
    options.normalization = normalization;
    const std::string model = train(options, sample::english());
    int refused = 0;
    // The table of a normalization has 237,000 bytes, of which some are changed.
    for (size_t i = 0; i < model.size(); i += i < 4000 ? 1 : 97) {
      std::string changed = model;
      changed[i] = static_cast<char>(changed[i] ^ (1 << i % 8));
      try {
        const auto tokenizer = load_sentence_piece(changed, "changed.spm", TextSide::source);
        round_trip(*tokenizer, "A man <de> sees two horses.");
      } catch (const Error&) {
        ++refused;
      }
    }
    EXPECT_GT(refused, 0);
  }
}

std::string refusal(const std::string& model) {
  try {
    load_sentence_piece(model, "some/bad.spm", TextSide::source);
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::input);
    return error.what();
  }
  return "accepted";
}

TEST(SentencePieceHostile, NormalizationTableMustNotPointOutsideItself) {
  TokenizerOptions options = options_of(40);
  options.normalization = Normalization::nfkc;
  std::string model = train(options, sample::english());
  const size_t table = model.find("nfkc\x12") + 8;  // behind the name: a tag and a length of 3 bytes
  const auto with = [&](size_t position, uint32_t value) {
    std::string changed = model;
    std::memcpy(&changed.at(position), &value, 4);
    return refusal(changed);
  };
  for (const uint32_t size : {0u, 3u, 0x7FFFFFFCu, 0xFFFFFFFFu})
    EXPECT_NE(with(table, size).find("impossible size"), std::string::npos) << size;
  EXPECT_NE(with(table + 4, 0x7FFFFC00).find("points outside itself"), std::string::npos);
  EXPECT_NE(with(table + 4, 0xFFFFFFFF).find("points outside its strings"), std::string::npos);
}

TEST(SentencePieceHostile, ErrorsNameTheFile) {
  EXPECT_NE(refusal("junk").find("some/bad.spm"), std::string::npos);
}

/// The library starts threads of its own; that it may not is an error that names the cause.
TEST(SentencePiece, SaysThatItsThreadsAreRefused) {
  const auto train_without_threads = [] {
    const rlimit none{1, 1};
    if (::setrlimit(RLIMIT_NPROC, &none) != 0 || (::getuid() == 0 && ::setuid(65534) != 0)) std::_Exit(2);
    try {
      const auto text = sample::english();
      make_tokenizers(options_of(60), text, text);
    } catch (const Error& error) {
      const bool named =
          std::string(error.what()).find("the system can't start the threads") != std::string::npos;
      std::_Exit(named && error.fault() == Fault::environment ? 0 : 3);
    }
    std::_Exit(4);
  };
  EXPECT_EXIT(train_without_threads(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace sixfold
