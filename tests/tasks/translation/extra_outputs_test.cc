#include "tasks/translation/extra_outputs.h"

#include <gtest/gtest.h>

#include <set>

#include "base/random.h"
#include "error_message.h"
#include "program/small_model.h"
#include "tasks/translation/translator_fixture.h"
#include "text/characters.h"
#include "text/token_words.h"
#include "text/whitespace.h"
#include "text/words.h"

namespace sixfold {
namespace {

TEST_F(TranslatorTest, TellsTokensAlignmentsAndAttention) {
  const Translator translator(path(), {.threads = 2});
  TranslateOptions options{.n_best = 2, .details = {.tokens = true, .alignment = true, .attention = true}};
  translator.translate(lines(), options, [&](const TranslatedLine& line) {
    for (const Translation& t : line.translations) {
      if (t.text.empty()) continue;
      double sum = 0;
      for (const auto& token : t.tokens) sum += token.log_probability;
      EXPECT_NEAR(sum, t.log_probability, 1e-4);
      ASSERT_TRUE(t.attention);
      EXPECT_EQ(t.attention->layer, 0);  // the last but one of two
      EXPECT_EQ(t.attention->target.size(), t.tokens.size());
      int before = -1;
      for (const auto& [source, target] : t.alignment) {
        EXPECT_GT(target, before);
        before = target;
        EXPECT_GE(source, 0);
        EXPECT_LE(source, std::count(line.source.begin(), line.source.end(), ' '));
      }
    }
  });
  options.details.layer = 2;
  EXPECT_NE(error_message([&] { translator.translate(lines(), options); }).find("layer 2"), std::string::npos);
}

/// An output that is cut before its first token has nothing to tell, and the others tell all.
TEST_F(TranslatorTest, TellsNothingOfAnOutputWithoutTokens) {
  const Translator translator(path(), {.threads = 1});
  TranslateOptions options{
      .details = {.tokens = true, .alignment = true, .attention = true, .all_attention = true}};
  options.generation = translator.generation();
  options.generation->max_new_tokens = 1;
  options.sample = true;
  size_t empty = 0, lines = 0;
  for (int seed = 1; seed <= 20; ++seed) {
    options.seed = static_cast<uint64_t>(seed);
    translator.translate(sample::english(), options, [&](const TranslatedLine& line) {
      const Translation& t = line.translations[0];
      ++lines;
      if (t.tokens.empty()) ++empty;
      EXPECT_EQ(t.attention.has_value(), !t.tokens.empty());
    });
  }
  EXPECT_GT(empty, 0u);
  EXPECT_EQ(lines, 20 * sample::english().size());
}

/// An output that was cut has no end to score, for which there may be no position.
TEST(ExtraOutputs, OfACutOutputNeedNoMorePositionsThanItself) {
  const TemporaryFolder folder;
  write_small_model(folder / "model", 1, /*joint=*/true, [](ModelConfig& config) {
    config.positions = Positions::learned;
    config.max_positions = 12;
    config.beyond_positions = BeyondPositions::error;
    config.generation.length_offset = 30;
    config.generation.min_new_tokens = 30;
    config.generation.at_longest = AtLongest::cut;
  });
  const Translator translator(folder / "model", {.threads = 1});
  TranslateOptions options{.details = {.tokens = true}};
  translator.translate(std::vector<std::string>{"a b c"}, options, [&](const TranslatedLine& line) {
    const Translation& t = line.translations[0];
    ASSERT_EQ(t.tokens.size(), 12u);
    double sum = 0;
    for (const auto& token : t.tokens) sum += token.log_probability;
    EXPECT_NEAR(sum, t.log_probability, 1e-4);
  });
}

/// The words of the model are tokens, so that a text has the tokens of the translation.
TEST(ExtraOutputs, OfAnEnsembleAreItsScoresAndTheAttentionOfTheFirstModel) {
  const TemporaryFolder folder;
  write_small_model(folder / "first", 11);
  write_small_model(folder / "second", 12);
  const Translator together(folder / "first", {.threads = 2, .ensemble = {folder / "second"}}),
      first(folder / "first", {.threads = 1});
  TranslateOptions options{.details = {.tokens = true, .alignment = true, .attention = true}};
  options.generation = together.generation();
  options.generation->coverage_penalty = 0.3F;
  int others = 0;
  for (const char* text : {"a b c", "h", "b a d c", "g f e"}) {
    const std::vector<std::string> source{text};
    together.translate(source, options, [&](const TranslatedLine& line) {
      const Translation& t = line.translations[0];
      const std::vector<std::string> target{t.text};
      const Translation same = together.score(source, target, options)[0],
                        alone = first.score(source, target, options)[0];
      EXPECT_NEAR(t.log_probability, same.log_probability, 1e-4);
      EXPECT_NEAR(t.score, same.score, 1e-4);
      ASSERT_EQ(t.tokens.size(), same.tokens.size());
      for (size_t i = 0; i < t.tokens.size(); ++i)
        EXPECT_NEAR(t.tokens[i].log_probability, same.tokens[i].log_probability, 1e-4);
      EXPECT_EQ(t.alignment, alone.alignment);
      EXPECT_EQ(t.attention->weights, alone.attention->weights);
      others += std::abs(alone.log_probability - t.log_probability) > 1e-3;
    });
  }
  EXPECT_EQ(others, 4);
  options.details.confidence = true;
  EXPECT_NE(error_message([&] {
              together.translate(std::vector<std::string>{"a"}, options);
            }).find("an ensemble has none"),
            std::string::npos);
}

/// A document needs a word that greedy search repeats, also where the settings penalize repetitions.
TEST(ExtraOutputs, OfAnEnsembleAreThoseOfDocumentsToo) {
  const TemporaryFolder folder;
  for (const char* name : {"first", "second"})
    write_small_model(folder / name, name[0], /*joint=*/true,
                      [](ModelConfig& config) { config.generation.repetition_penalty = 1.1F; });
  const Translator together(folder / "first", {.threads = 1, .ensemble = {folder / "second"}});
  EXPECT_NO_THROW(together.placeholder({}));
}

/// Watching changes no bit. The steps lead to the translations: the best finished hypothesis is the best one.
TEST_F(TranslatorTest, ShowsTheStepsOfTheSearch) {
  const Translator translator(path(), {.threads = 2});
  std::vector<Translation> plain;
  const auto text = lines();
  translator.translate(text, {.n_best = 2}, [&](const TranslatedLine& line) {
    EXPECT_TRUE(line.search.empty());
    plain.insert(plain.end(), line.translations.begin(), line.translations.end());
  });
  size_t next = 0;
  translator.translate(text, {.n_best = 2, .details = {.search = true}}, [&](const TranslatedLine& line) {
    std::vector<double> finished;
    for (size_t step = 0; step < line.search.size(); ++step) {
      ASSERT_FALSE(line.search[step].empty());
      size_t going_on = 0;
      for (const SearchedHypothesis& one : line.search[step]) {
        going_on += one.fate == CandidateFate::continues;
        if (one.fate == CandidateFate::finished) finished.push_back(one.score);
        if (step == 0) {
          EXPECT_EQ(one.parent, -1);
          continue;
        }
        ASSERT_LT(static_cast<size_t>(one.parent), line.search[step - 1].size());
        const SearchedHypothesis& parent = line.search[step - 1][static_cast<size_t>(one.parent)];
        EXPECT_EQ(parent.fate, CandidateFate::continues);
        EXPECT_LE(one.log_probability, parent.log_probability);
      }
      EXPECT_LE(going_on, 4u);
      EXPECT_EQ(going_on == 0, step + 1 == line.search.size());
    }
    std::ranges::sort(finished, std::greater());
    for (size_t rank = 0; rank < line.translations.size(); ++rank) {
      const Translation &own = line.translations[rank], &expected = plain[next++];
      EXPECT_EQ(own.text, expected.text);
      EXPECT_EQ(own.score, expected.score);
      if (line.search.empty()) continue;  // of a line without text
      ASSERT_LT(rank, finished.size());
      EXPECT_EQ(own.score, finished[rank]);
    }
  });
  EXPECT_EQ(next, plain.size());
}

TEST_F(TranslatorTest, ShowsTheAttentionOfAllLayers) {
  const Translator translator(path(), {.threads = 1});
  const std::string line = sample::english()[0];
  const auto translated = [&](const ExtraOutputs& details) {
    TranslatedLine result;
    translator.translate(std::vector{line}, {.details = details},
                         [&](const TranslatedLine& one) { result = one; });
    return result.translations.at(0);
  };
  const Translation plain = translated({}), shown = translated({.attention = true, .all_attention = true});
  EXPECT_EQ(shown.text, plain.text);
  EXPECT_EQ(shown.score, plain.score);
  ASSERT_EQ(shown.all_attention.size(),
            5u);  // one layer of the encoder, two kinds in two layers of the decoder
  for (const SentenceAttention& layer : shown.all_attention) {
    const size_t keys = layer.source.size(), queries = layer.target.size();
    EXPECT_EQ(layer.heads, 2);
    ASSERT_EQ(layer.weights.size(), 2 * keys * queries);
    for (size_t row = 0; row < 2 * queries; ++row) {
      double sum = 0;
      for (size_t key = 0; key < keys; ++key) {
        const float weight = layer.weights[row * keys + key];
        sum += static_cast<double>(weight);
        const bool masked = layer.kind == AttentionKind::decoder && key > row % queries;
        EXPECT_TRUE(!masked || weight == 0);
      }
      EXPECT_NEAR(sum, 1, 1e-4);
    }
  }
  // That of one layer by itself is the same.
  const auto same = std::ranges::find_if(shown.all_attention, [&](const SentenceAttention& layer) {
    return layer.kind == AttentionKind::cross && layer.layer == shown.attention->layer;
  });
  ASSERT_NE(same, shown.all_attention.end());
  ASSERT_EQ(same->weights.size(), shown.attention->weights.size());
  for (size_t i = 0; i < same->weights.size(); ++i)
    EXPECT_NEAR(same->weights[i], shown.attention->weights[i], 1e-5);
  EXPECT_EQ(same->source, shown.attention->source);
  EXPECT_EQ(same->target.size(), shown.attention->target.size());  // these are the tokens before
}

TEST_F(TranslatorTest, ObservesSentencesOfABoundedLength) {
  const Translator translator(path(), {.threads = 1});
  const auto error = [&](const ExtraOutputs& details) {
    return error_message(
        [&] { translator.translate(std::vector{sample::english()[0]}, {.details = details}); });
  };
  EXPECT_NE(error({.search = true, .most_tokens = 2}).find("are shown for at most 2"), std::string::npos);
  EXPECT_NE(error({.all_attention = true, .most_tokens = 2}).find("the sentence has"), std::string::npos);
  for (const ExtraOutputs& details : {ExtraOutputs{.tokens = true, .most_tokens = 2},
                                      ExtraOutputs{.all_attention = true, .search = true, .most_tokens = 500}})
    EXPECT_NO_THROW(translator.translate(std::vector{sample::english()[0]}, {.details = details}));
}

/// Words are those of the line as it is written, whatever the normalizer and unknown characters make of it: ´
/// becomes a space and an accent, ½ three characters, and ☃ is not in the vocabulary.
TEST(TranslatorWords, AreThoseOfTheLine) {
  const TemporaryFolder folder;
  const std::vector<std::string> texts{"a b c d", "ab cd", "abc d 1"};
  TokenizerOptions options;
  options.vocab_size = 24;
  write_small_model(folder / "model", 5, make_tokenizers(options, texts, texts));
  const Translator translator(folder / "model", {.threads = 1});
  struct Case {
    std::string line;
    int words;
  };
  for (const Case& one : {Case{"a b c", 3}, Case{"a\u00b4b c", 2}, Case{"a\u2603b c", 2},
                          Case{"  a\u00bdb   c\u00a8 d", 3}, Case{"a \xFF b", 3}}) {
    SCOPED_TRACE(one.line);
    bool sent = false;
    const auto next = [&](std::string& line, bool) {
      line = one.line;
      return std::exchange(sent, true) ? NextLine::end : NextLine::line;
    };
    translator.translate(next, {.details = {.attention = true}}, [&](const TranslatedLine& done) {
      const std::vector<int>& found = done.translations[0].attention->source_words;
      ASSERT_FALSE(found.empty());
      EXPECT_EQ(found.back(), -1);  // the end token
      EXPECT_EQ(*std::max_element(found.begin(), found.end()), one.words - 1);
      EXPECT_TRUE(std::is_sorted(found.begin(), found.end() - 1));
    });
  }
}

/// The alignments of a text, with 'shift' added to the word numbers.
std::vector<std::pair<int, int>> alignment_of(const Translator& translator, const std::string& text,
                                              const TranslateOptions& how, std::pair<int, int> shift = {}) {
  TranslateOptions options = how;
  options.details.alignment = true;
  std::vector<std::pair<int, int>> pairs;
  translator.translate({text}, options, [&](const TranslatedLine& line) {
    for (const auto& [source, target] : line.translations[0].alignment)
      pairs.emplace_back(source + shift.first, target + shift.second);
  });
  return pairs;
}

TEST_F(TranslatorTest, WordsOfParagraphsAreCountedInTheWholeText) {
  const Translator translator(path(), {.threads = 2});
  const std::string one = "A man sees a red house.", two = "Nobody likes two horses.";
  const int words = static_cast<int>(count_words(translator.translate(one)));
  auto expected = alignment_of(translator, one, {});
  EXPECT_FALSE(expected.empty());
  for (const auto& pair : alignment_of(translator, two, {}, {6, words})) expected.push_back(pair);
  EXPECT_EQ(alignment_of(translator, one + "  " + two, {.split_sentences = "en"}), expected);
}

/// Documents count smaller words in scripts without spaces, and the same words in others.
TEST_F(TranslatorTest, PartsOfWordsAreAligned) {
  const Translator translator(path(), {.threads = 1});
  const std::string english = "A man sees a red house.";
  EXPECT_EQ(alignment_of(translator, english, {.details = {.word_parts = true}}),
            alignment_of(translator, english, {}));
  // Unknown characters are one token, which is in several parts.
  const std::string japanese = "A man 男性は赤い家を見る。 sees the 赤い house.";
  const size_t count = word_parts(japanese).size();
  for (const std::string split : {"", "ja"}) {
    const auto pairs =
        alignment_of(translator, japanese, {.split_sentences = split, .details = {.word_parts = true}});
    std::set<int> sources;
    for (const auto& [source, target] : pairs) sources.insert(source);
    ASSERT_FALSE(sources.empty());
    EXPECT_LT(*sources.rbegin(), static_cast<int>(count)) << split;
    EXPECT_LT(pairs.size(), 4 * count);
  }
}

/// A token is in the last part that begins before its end.
TEST(PartsOfPieces, FollowTheTextThatThePiecesMake) {
  for (const PieceModel model : {PieceModel::bpe, PieceModel::unigram}) {
    TokenizerOptions options;
    options.model = model;
    options.vocab_size = 330;
    options.byte_fallback = true;
    const auto tokenizer = make_tokenizers(options, sample::english(), sample::japanese()).target;
    RandomStream random(3, 0);
    int compared = 0;
    for (int text = 0; text < 50; ++text) {
      std::vector<int32_t> ids;
      for (int i = 0; i < 40; ++i)
        ids.push_back(1 +
                      static_cast<int32_t>(random.below(static_cast<uint32_t>(tokenizer->vocab_size() - 1))));
      const std::string whole = tokenizer->decode(ids);
      const std::vector<int> found = parts_of_tokens(*tokenizer, ids, /*shows_unknown=*/false, whole).words;
      const std::vector<TextRange> parts = word_parts(whole);
      for (size_t i = 0; i < ids.size(); ++i) {
        const std::string before = tokenizer->decode(std::span(ids).first(i + 1));
        if (!whole.starts_with(before)) continue;  // it ends within a character
        int expected = -1;
        for (const TextRange& part : parts) expected += part.begin < before.size();
        EXPECT_EQ(found[i], expected) << before;
        ++compared;
      }
    }
    EXPECT_GT(compared, 300);
  }
}

TEST(PartsOfPieces, ShareTheirTokens) {
  // In "東京都 of" the first token is in two parts; the last word has no token.
  const std::vector<TextRange> ranges{{0, 6}, {6, 9}, {10, 12}, {13, 16}}, tokens{{0, 9}, {9, 12}};
  const TokenWords found = words_of_places(tokens, ranges);
  EXPECT_EQ(found.words, (std::vector<int>{1, 2}));
  EXPECT_EQ(found.shared, (std::vector<std::pair<int, int>>{{0, 1}}));
  // The second word was dropped by normalization.
  const TokenWords dropped = words_of_places(std::vector<TextRange>{{0, 6}, {9, 12}}, ranges);
  EXPECT_EQ(dropped.words, (std::vector<int>{0, 2}));
  EXPECT_TRUE(dropped.shared.empty());
}

/// A word in place of an unknown token may have other parts.
TEST(PartsOfPieces, AreThoseOfTheTextThatIsShown) {
  const auto tokenizer = load_whitespace("<unk>\n<s>\n</s>\n彼@@\nは@@\n行く\n", "test");
  const std::vector<int32_t> ids{3, 4, 0, 4, 5};
  const std::string shown = "彼は東京都は行く";
  std::vector<std::string> words;
  for (const int part : parts_of_tokens(*tokenizer, ids, true, shown).words) {
    const TextRange range = word_parts(shown).at(static_cast<size_t>(part));
    words.push_back(shown.substr(range.begin, range.end - range.begin));
  }
  EXPECT_EQ(words.front(), "彼");
  EXPECT_EQ(words.back(), "行く");
}

/// White space may be a character of several bytes.
TEST(WordsOfPieces, OfBytesFollowTheCharactersThatTheyMake) {
  const auto tokenizer = load_bytes(byte_tokenizer_file, "test");
  for (const std::string space : {" ", "\u00A0", "\u3000", "\u202F"}) {
    const std::string text = "\u00E9a" + space + "\u65E5b" + space + "c";
    const std::vector<int> words = words_of_tokens(*tokenizer, tokenizer->encode(text));
    EXPECT_EQ(words.front(), 0) << text;
    EXPECT_EQ(words[3 + space.size()], 1) << text;
    EXPECT_EQ(words.back(), 2) << text;
  }
}

TEST(WordsOfPieces, FollowTheTextThatThePiecesMake) {
  const auto tokenizer = load_whitespace("<unk>\n<s>\n</s>\nnew@@\ner\nhouse\n", "test");
  const std::vector<int32_t> ids{3, 4, 5, 3};
  EXPECT_EQ(words_of_tokens(*tokenizer, ids), (std::vector<int>{0, 0, 1, 2}));
}

/// Of any tokens, in any order, the words are those of the texts that the first ones, the first two, ... make.
TEST(WordsOfPieces, AreThoseOfEachPrefix) {
  const auto check = [](const Tokenizer& tokenizer) {
    RandomStream random(3, 0);
    for (int text = 0; text < 50; ++text) {
      std::vector<int32_t> ids;
      std::vector<int> expected;
      for (int i = 0; i < 60; ++i) {
        ids.push_back(1 +
                      static_cast<int32_t>(random.below(static_cast<uint32_t>(tokenizer.vocab_size() - 1))));
        expected.push_back(static_cast<int>(count_words(tokenizer.decode(ids))) - 1);
      }
      EXPECT_EQ(words_of_tokens(tokenizer, ids), expected);
    }
  };
  check(*load_whitespace("<unk>\n<s>\n</s>\nnew@@\ner\nhouse\n@@\nand@@\n", "test"));
  for (const PieceModel model : {PieceModel::bpe, PieceModel::unigram}) {
    TokenizerOptions options;
    options.model = model;
    options.vocab_size = 330;
    options.byte_fallback = true;
    check(*make_tokenizers(options, sample::english(), sample::german()).target);
  }
}

TEST_F(TranslatorTest, Attention) {
  const Translator translator(path(), {.threads = 1});
  const auto check = [](const SentenceAttention& a) {
    ASSERT_EQ(a.weights.size(), static_cast<size_t>(a.heads) * a.target.size() * a.source.size());
    for (size_t row = 0; row < static_cast<size_t>(a.heads) * a.target.size(); ++row) {
      double sum = 0;
      for (size_t i = 0; i < a.source.size(); ++i) sum += a.weights[row * a.source.size() + i];
      EXPECT_NEAR(sum, 1, 1e-5);
    }
    EXPECT_EQ(a.source.back(), "</s>");
    EXPECT_EQ(a.target.back(), "</s>");
  };
  const std::string source = sample::english()[5];
  const auto given = translator.attention(source, "Niemand mag");
  check(given);
  EXPECT_EQ(given.heads, 2);
  EXPECT_EQ(given.target.size(), load_tokenizers(path()).target->encode("Niemand mag").size() + 1);
  EXPECT_EQ(given.weights, translator.attention(source, "Niemand mag", 1).weights);
  EXPECT_NE(given.weights, translator.attention(source, "Niemand mag", 0).weights);
  check(translator.attention(source));
  check(translator.attention(""));
  EXPECT_NE(error_message([&] { translator.attention(source, {}, 2); }).find("layer 2"), std::string::npos);
  EXPECT_NE(error_message([&] { translator.attention(source, {}, -3); }).find("layer"), std::string::npos);
}

}  // namespace
}  // namespace sixfold
