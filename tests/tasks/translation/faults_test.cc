#include "tasks/translation/faults.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "error_message.h"
#include "tasks/translation/translator_fixture.h"

namespace sixfold {
namespace {

TranslationFaults found(const std::string& source, const std::string& translation, size_t source_tokens = 10,
                        size_t tokens = 10) {
  std::vector<int32_t> from(source_tokens), to(tokens);
  for (size_t i = 0; i < tokens; ++i) to[i] = static_cast<int32_t>(i);
  return faults_of({source, from}, {translation, to});
}

TEST(TranslationFaults, ACopyIsTheSourceButForCaseAndWhiteSpace) {
  EXPECT_TRUE(found("The old dog sleeps.", " the OLD  dog sleeps. ").copies);
  EXPECT_FALSE(found("The old dog sleeps.", "The old dog sleep.").copies);
  EXPECT_FALSE(found("Angela Merkel, Berlin", "Angela Merkel, Berlin").copies);
  EXPECT_FALSE(
      found("https://www.example.com/a/very/long/path", "https://www.example.com/a/very/long/path").copies);
  EXPECT_FALSE(found("1 + 2 = 3", "1 + 2 = 3").copies);
  EXPECT_TRUE(found("彼女は昨日学校に行った", "彼女は昨日学校に行った").copies);
  EXPECT_FALSE(found("東京", "東京").copies);
  EXPECT_FALSE(found("", "").copies);
}

/// Both the tokens and the bytes have to be many more.
TEST(TranslationFaults, FarLongerIsSoInTokensAndBytes) {
  const std::string ten(10, 'a'), sixty(60, 'b'), more(61, 'b');
  EXPECT_TRUE(found(ten, more, 10, 31).too_long);
  EXPECT_FALSE(found(ten, more, 10, 30).too_long);
  EXPECT_FALSE(found(ten, sixty, 10, 31).too_long);
  EXPECT_FALSE(found("", std::string(40, 'b'), 0, 10).too_long);
}

TEST(TranslationFaults, LoopsAreThoseOfTheTokens) {
  const std::vector<int32_t> source{1, 2, 3}, loop{5, 6, 6, 6, 6};
  const TranslationFaults faults = faults_of({"a b c", source}, {"e f f f f", loop});
  EXPECT_TRUE(faults.loops && faults.any());
  EXPECT_EQ(faults.count(), 1);
  EXPECT_FALSE(found("a b c", "e f g").any());
}

std::vector<TranslatedLine> translated(const Translator& translator, const std::vector<std::string>& lines,
                                       const TranslateOptions& options) {
  std::vector<TranslatedLine> all;
  translator.translate(lines, options, [&](const TranslatedLine& line) { all.push_back(line); });
  return all;
}

/// The model has learnt nothing, so that many of its outputs loop. Each line is the one or the other
/// translation as it would be alone.
TEST_F(TranslatorTest, FaultyTranslationsAreMadeAgain) {
  const Translator one(path(), {.threads = 1}), two(path(), {.threads = 2});
  for (const bool sample : {false, true}) {
    TranslateOptions first{.n_best = 2, .sample = sample};
    if (sample) first.draw.temperature = 0.2F;
    TranslateOptions again = first, second = first;
    again.retry = one.generation();
    again.retry->no_repeat_ngram = 1;
    TranslationCounts counts;
    again.counts = &counts;
    second.generation = again.retry;
    second.seed += sample ? 1 : 0;
    const auto usual = translated(one, lines(), first), other = translated(one, lines(), second);
    const auto mixed = translated(one, lines(), again);
    again.batch_tokens = 24;
    const auto small_batches = translated(two, lines(), again);
    int64_t retried = 0, better = 0, faulty = 0;
    for (size_t i = 0; i < usual.size(); ++i) {
      const TranslationFaults before = usual[i].translations[0].faults, after = other[i].translations[0].faults;
      EXPECT_EQ(mixed[i].retried, before.any()) << i;
      const bool replaced = after.count() < before.count();
      const TranslatedLine& expected = replaced ? other[i] : usual[i];
      ASSERT_EQ(mixed[i].translations.size(), expected.translations.size());
      for (size_t j = 0; j < expected.translations.size(); ++j) {
        EXPECT_EQ(mixed[i].translations[j].text, expected.translations[j].text) << i;
        EXPECT_EQ(mixed[i].translations[j].score, expected.translations[j].score) << i;
        EXPECT_EQ(small_batches[i].translations[j].text, expected.translations[j].text) << i;
      }
      retried += before.any();
      better += replaced;
      faulty += mixed[i].translations[0].faults.any();
    }
    EXPECT_GT(better, 0) << sample;
    EXPECT_LT(retried, std::ssize(usual));
    EXPECT_EQ(counts.retried, 2 * retried);  // by both calls
    EXPECT_EQ(counts.faulty, 2 * faulty);
    EXPECT_EQ(counts.translations, 2 * std::ssize(usual));
  }
}

/// The steps that are shown are those of the search whose translation is kept.
TEST_F(TranslatorTest, AFaultyTranslationIsMadeAgainWithItsDetails) {
  const Translator translator(path(), {.threads = 1});
  TranslateOptions options{.details = {.tokens = true, .search = true}};
  options.retry = translator.generation();
  options.retry->no_repeat_ngram = 1;
  options.retry->beam_size = 2;
  size_t seen = 0;
  for (const TranslatedLine& line : translated(translator, lines(), options)) {
    const Translation& best = line.translations[0];
    if (!line.retried || best.faults.any()) continue;
    ++seen;
    for (const auto& step : line.search)
      EXPECT_LE(std::ranges::count(step, CandidateFate::continues, &SearchedHypothesis::fate), 2);
    double sum = 0;
    for (const TranslatedToken& token : best.tokens) sum += token.log_probability;
    EXPECT_NEAR(sum, best.log_probability, 1e-4);
  }
  EXPECT_GT(seen, 0u);
}

TEST_F(TranslatorTest, SettingsToTryAgainAreChecked) {
  const Translator translator(path(), {.threads = 1});
  TranslateOptions options{.n_best = 3};
  options.retry = translator.generation();
  options.retry->beam_size = 2;
  const auto message = [&] { return error_message([&] { translated(translator, lines(), options); }); };
  EXPECT_NE(message().find("retry: n_best is 3"), std::string::npos);
  options.retry->beam_size = 3;
  options.retry->alignment_layer = 0;
  EXPECT_NE(message().find("retry: alignment_layer is not a setting of the search"), std::string::npos);
}

}  // namespace
}  // namespace sixfold
