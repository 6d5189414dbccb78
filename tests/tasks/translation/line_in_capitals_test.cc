// `TranslateOptions::capitals`: lines in capitals are translated as lines in small letters.
#include "base/options.h"
#include "model_folder/config_file.h"
#include "tasks/translation/line_case.h"
#include "tasks/translation/settings.h"
#include "tasks/translation/translator_fixture.h"
#include "text/capitals.h"

namespace sixfold {
namespace {

const std::string usual = "A man sees a red house. Nobody likes two horses.", capitals = in_capitals(usual);

std::vector<Translation> translations(const Translator& translator, const std::string& line,
                                      const TranslateOptions& options) {
  std::vector<Translation> found;
  translator.translate({line}, options, [&](const TranslatedLine& done) {
    EXPECT_EQ(done.source, line);
    found = done.translations;
  });
  return found;
}

TEST_F(TranslatorTest, LinesInCapitalsAreTranslatedAsSmallLetters) {
  const Translator translator(path(), {.threads = 2});
  for (const std::string split : {"", "en"}) {
    TranslateOptions options{.split_sentences = split, .n_best = 2, .details = {.alignment = true}};
    const auto expected = translations(translator, usual, options),
               untouched = translations(translator, capitals, options);
    options.capitals = true;
    const auto found = translations(translator, capitals, options);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].text, in_capitals(expected[i].text));
      EXPECT_EQ(found[i].score, expected[i].score);
      EXPECT_EQ(found[i].alignment, expected[i].alignment);
    }
    EXPECT_NE(found[0].score, untouched[0].score);
    for (const std::string& line : {usual, std::string("A man in the USA."), std::string("A 5.")}) {
      TranslateOptions without = options;
      without.capitals = false;
      EXPECT_EQ(translations(translator, line, options)[0].text,
                translations(translator, line, without)[0].text);
    }
  }
}

TEST_F(TranslatorTest, ConstraintsOfLinesInCapitalsAreThoseOfSmallLetters) {
  const Translator translator(path(), {.threads = 1});
  TranslateOptions options{.constraints = [](size_t, const std::string& source) {
    EXPECT_TRUE(source == usual || source == capitals);
    return OutputConstraints{.prefix = "Die Frau", .phrases = {"großes"}};
  }};
  const std::string expected = translations(translator, usual, options)[0].text;
  EXPECT_TRUE(expected.starts_with("Die Frau"));
  options.capitals = true;
  EXPECT_EQ(translations(translator, capitals, options)[0].text, in_capitals(expected));
}

TEST_F(TranslatorTest, ScoresOfPairsInCapitalsAreThoseOfSmallLetters) {
  const Translator translator(path(), {.threads = 1});
  const std::string target = "Rot, gelb und blau.", target_capitals = in_capitals(target);
  const auto score = [&](const std::string& source, const std::string& output, bool on) {
    return translator.score({&source, 1}, {&output, 1}, {.capitals = on})[0];
  };
  const Translation found = score(capitals, target_capitals, true);
  EXPECT_EQ(found.score, score(usual, target, false).score);
  EXPECT_NE(found.score, score(capitals, target_capitals, false).score);
  EXPECT_EQ(found.text, target_capitals);
  EXPECT_EQ(score(usual, target_capitals, true).score, score(usual, target_capitals, false).score);
  for (const AttentionKind kind : {AttentionKind::encoder, AttentionKind::decoder, AttentionKind::cross})
    EXPECT_EQ(translator.attention(capitals, target_capitals, -1, kind, {.capitals = true}).weights,
              translator.attention(usual, target, -1, kind).weights);
  // The model's own translation is not read again in small letters, which loses those of names.
  for (const AttentionKind kind : {AttentionKind::decoder, AttentionKind::cross})
    EXPECT_EQ(translator.attention(capitals, {}, -1, kind, {.capitals = true}).target,
              translator.attention(usual, {}, -1, kind).target);
}

/// The rules of case are those of the languages that are given, then those of the model.
TEST_F(TranslatorTest, LettersFollowTheLanguages) {
  ModelConfig config = load_model_config(path());
  const auto tokenizers = load_tokenizers(path());
  TranslateOptions options{.capitals = true};
  options.kept_word = [] { return "Frisbee"; };
  const auto both = [&](const std::string& line) {
    const auto small = LineCase(config, *tokenizers.source, options).source_in_small_letters(line);
    return small ? small->text + "|" + in_capitals("ein Frisbee in", small->target) : "none";
  };
  const std::string line = "A Frisbee IN";
  EXPECT_EQ(both(line), "A Frisbee in|EIN Frisbee IN");
  EXPECT_EQ(both("A FRISBEE IN"), "A frisbee in|EIN FRISBEE IN") << "a word of the text";
  EXPECT_EQ(both("A Frisbees IN"), "none");
  config.settings = write_options(TranslationSettings{.source_language = "tr", .target_language = "tr"});
  EXPECT_EQ(both(line), "A Frisbee ın|EİN Frisbee İN");
  options.case_languages = {"en", ""};
  EXPECT_EQ(both(line), "A Frisbee in|EİN Frisbee İN");
  options.target_language = "en";
  EXPECT_EQ(both(line), "A Frisbee in|EIN Frisbee IN");
}

/// What stands between >> and << is text, unless it is a token of the vocabulary.
TEST_F(TranslatorTest, QuotedLinesInCapitalsAreText) {
  const Translator translator(path(), {.threads = 1});
  EXPECT_EQ(
      translator.translate(std::vector<std::string>{">>A MAN SEES.<< TWO HORSES."}, {.capitals = true})[0],
      in_capitals(translator.translate(in_small_letters(">>A MAN SEES.<< TWO HORSES."))));
}

}  // namespace
}  // namespace sixfold
