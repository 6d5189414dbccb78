#include "tasks/translation/settings.h"

#include <gtest/gtest.h>

#include "error_message.h"
#include "text/tokenizers.h"

namespace sixfold {
namespace {

using Ids = std::vector<int32_t>;

/// A vocabulary with the tokens of two languages in each of two forms, and a word that looks like a code.
class Layout : public testing::Test {
 protected:
  int32_t id(const std::string& token) const { return tokenizer_->encode(token).at(0); }
  PairLayout layout(const TranslationSettings& settings, int forced = -1) const {
    GenerationConfig rules;
    rules.forced_first_token = forced;
    return layout_of(settings, rules, *tokenizer_);
  }

  const std::vector<std::string> text_{"__de__ __fr__ deu_Latn fra_Latn ab __x__ word"};
  const std::shared_ptr<const Tokenizer> tokenizer_ =
      make_tokenizers({.kind = TokenizerKind::whitespace, .vocab_size = 0}, text_, text_).source;
};

TEST_F(Layout, IsTheEndTokenAloneByDefault) {
  const PairLayout plain = layout({});
  EXPECT_EQ(plain, PairLayout());
  EXPECT_EQ(plain.source(Ids{7, 8}, 2), (Ids{7, 8, 2}));
  EXPECT_EQ(plain.target(Ids{7, 8}), (Ids{7, 8}));
  EXPECT_EQ(plain.source_end_size(), 1u);
}

TEST_F(Layout, HasTheTokensOfTheSettings) {
  const PairLayout bart = layout({.source_start = {3}, .source_end = {2, 4}, .target_start = {3}}, 5);
  EXPECT_EQ(bart.source(Ids{7}, 2), (Ids{3, 7, 2, 4}));
  EXPECT_EQ(bart.target(Ids{7}), (Ids{3, 7}));
  EXPECT_EQ(bart.source_end_size(), 2u);
  EXPECT_EQ(layout({}, 5).target(Ids{7}), (Ids{5, 7})) << "a forced token begins each target";
  EXPECT_NE(error_message([&] { layout({.source_start = {999}}); }).find("the id 999 is not in the vocabulary"),
            std::string::npos);
}

TEST_F(Layout, HasTheTokensOfLanguages) {
  for (const auto& [pattern, german, french] :
       {std::tuple("__*__", "de", "fr"), std::tuple("*", "deu_Latn", "fra_Latn")}) {
    TranslationSettings settings{
        .source_language = german, .target_language = french, .language_token = pattern};
    const auto languages = languages_of(settings, *tokenizer_);
    EXPECT_EQ(languages.size(), 2u) << "neither a word nor '__x__' is the token of a language";
    const PairLayout pair = layout(settings, 5);
    EXPECT_EQ(pair.source(Ids{7}, 2), (Ids{languages.at(german), 7, 2}));
    EXPECT_EQ(pair.target(Ids{7}), (Ids{languages.at(french), 7}));
    EXPECT_EQ(pair.target_language, languages.at(french));
    settings.target_language = "";
    EXPECT_EQ(error_message([&] { layout(settings); }),
              fmt::format("target_language is not given; the model reads and writes: {} {}", german, french));
  }
}

TEST_F(Layout, LanguagesAreChangedOnlyWhereTheModelHasTokensForThem) {
  const TranslationSettings fixed{.source_language = "en", .target_language = "de"};
  EXPECT_EQ(with_languages(fixed, "en", "").source_language, "en");
  EXPECT_EQ(
      error_message([&] { with_languages(fixed, "fr", ""); }),
      "source_language 'fr': the model does not choose its languages by tokens, and its own is 'en'; leave it "
      "out");
  const TranslationSettings chosen{.source_language = "en", .language_token = "__*__"};
  EXPECT_EQ(with_languages(chosen, "fr", "de").source_language, "fr");
  EXPECT_EQ(with_languages(chosen, "fr", "de").target_language, "de");
}

}  // namespace
}  // namespace sixfold
