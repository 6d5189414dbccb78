#include "tasks/translation/output_constraints.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "error_message.h"
#include "program/small_model.h"
#include "tasks/translation/translator.h"
#include "temporary_folder.h"
#include "text/capitals.h"
#include "text/sample_text.h"
#include "text/utf8.h"
#include "text/words.h"

namespace sixfold {
namespace {

using Texts = std::vector<std::string>;

/// A model that has learnt nothing, with tokenizers of subwords.
class OutputConstraintsTest : public testing::Test {
 protected:
  OutputConstraintsTest() {
    TokenizerOptions options;
    options.vocab_size = 60;
    options.model = PieceModel::bpe;
    options.joint = false;
    tokenizers_ = make_tokenizers(options, sample::english(), sample::german());
    write_small_model(folder_.path(), 7, tokenizers_,
                      [](ModelConfig& config) { config.generation.length_offset = 30; });
  }

  static std::vector<OutputConstraints> some_constraints(size_t count) {
    const std::vector<OutputConstraints> kinds{
        {.prefix = "Die alte", .phrases = {}, .banned_phrases = {}},
        {.prefix = "", .phrases = {"zwei Pferde", "Haus"}, .banned_phrases = {}},
        {},
        {.prefix = "Nie", .phrases = {"kauft"}, .banned_phrases = {"Ein", "mag"}},
        {.prefix = "", .phrases = {"Haus", "Haus"}, .banned_phrases = {"zwei"}}};
    std::vector<OutputConstraints> all;
    for (size_t i = 0; i < count; ++i) all.push_back(kinds[i % kinds.size()]);
    return all;
  }

  TemporaryFolder folder_;
  Tokenizers tokenizers_;
};

std::vector<TranslatedLine> translate_all(const Translator& translator, const Texts& lines,
                                          const std::vector<OutputConstraints>& constraints,
                                          TranslateOptions options = {}) {
  options.constraints = [&](size_t index, const std::string& source) {
    EXPECT_EQ(source, lines[index]);
    return constraints[index];
  };
  std::vector<TranslatedLine> all;
  translator.translate(lines, options, [&](const TranslatedLine& line) { all.push_back(line); });
  return all;
}

size_t times_in(const std::string& text, const std::string& phrase) {
  size_t count = 0;
  for (size_t at = text.find(phrase); at != text.npos; at = text.find(phrase, at + 1)) ++count;
  return count;
}

TEST_F(OutputConstraintsTest, TranslationsHaveWhatIsAskedForWhateverTheBatchAndTheThreads) {
  const Texts lines = sample::english();
  const auto constraints = some_constraints(lines.size());
  for (const WeightType type : {WeightType::stored, WeightType::int8}) {
    const Translator one(folder_.path(), {.threads = 1, .weights = type}),
        two(folder_.path(), {.threads = 2, .weights = type});
    TranslateOptions options;
    options.details.tokens = true;
    options.n_best = 2;
    const auto alone = translate_all(one, lines, constraints, {options});
    options.batch_tokens = 1;
    const auto small = translate_all(one, lines, constraints, options);
    options.batch_tokens = 0;
    const auto threads = translate_all(two, lines, constraints, options);
    for (size_t i = 0; i < lines.size(); ++i) {
      const Translation& best = alone[i].translations[0];
      for (const auto* other : {&small, &threads}) {
        EXPECT_EQ((*other)[i].translations[0].text, best.text);
        EXPECT_EQ((*other)[i].translations[0].score, best.score);
        EXPECT_EQ((*other)[i].translations[1].score, alone[i].translations[1].score);
      }
      EXPECT_TRUE(best.text.starts_with(constraints[i].prefix)) << best.text;
      for (const std::string& phrase : constraints[i].phrases)
        EXPECT_GE(times_in(best.text, phrase),
                  static_cast<size_t>(std::ranges::count(constraints[i].phrases, phrase)))
            << best.text;
      const auto ids = tokenizers_.target->encode(best.text);
      EXPECT_TRUE(best.unmet.empty());
      double sum = 0;
      for (const TranslatedToken& token : best.tokens) sum += token.log_probability;
      EXPECT_NEAR(sum, best.log_probability, type == WeightType::stored ? 1e-3 : 0.1);
    }
  }
}

/// Whether a phrase ends where a word ends in one of its occurrences.
bool has_whole_word(const std::string& text, const std::string& phrase) {
  for (size_t at = text.find(phrase); at != text.npos; at = text.find(phrase, at + 1)) {
    const std::string_view rest = std::string_view(text).substr(at + phrase.size());
    if (!has_letter_or_digit(rest.substr(0, rest.find_first_of(" .,'")))) return true;
  }
  return false;
}

TEST_F(OutputConstraintsTest, PhrasesAreWholeWordsUnlessAskedOtherwise) {
  const Texts lines = sample::english();
  const Translator translator(folder_.path(), {.threads = 1});
  size_t joined = 0;
  for (const bool whole : {true, false}) {
    const std::vector<OutputConstraints> constraints(
        lines.size(),
        {.prefix = "", .phrases = {"Haus", "Pferde"}, .banned_phrases = {}, .whole_words = whole});
    for (const TranslatedLine& line : translate_all(translator, lines, constraints)) {
      const Translation& best = line.translations[0];
      ASSERT_TRUE(best.unmet.empty()) << best.text;
      const bool all = has_whole_word(best.text, "Haus") && has_whole_word(best.text, "Pferde");
      EXPECT_TRUE(all || !whole) << best.text;
      joined += all ? 0 : 1;
    }
  }
  EXPECT_GT(joined, 0u) << "the model never adds to a word, so that this test shows nothing";
}

TEST_F(OutputConstraintsTest, WhatIsNotConstrainedStaysAsItIs) {
  const Translator translator(folder_.path(), {.threads = 2});
  const Texts lines = sample::english();
  const auto constrained = translate_all(translator, lines, some_constraints(lines.size()));
  const Texts plain = translator.translate(lines);
  for (size_t i = 2; i < lines.size(); i += 5) EXPECT_EQ(constrained[i].translations[0].text, plain[i]);
  // A prefix with white space at its end is that without it.
  const auto two = translate_all(translator, {lines[0], lines[0]},
                                 {{.prefix = "Ein Mann", .phrases = {}, .banned_phrases = {}},
                                  {.prefix = "Ein Mann  ", .phrases = {}, .banned_phrases = {}}});
  EXPECT_EQ(two[0].translations[0].text, two[1].translations[0].text);
}

TEST_F(OutputConstraintsTest, WhatCannotBeContainedIsTold) {
  const Translator translator(folder_.path(), {.threads = 1});
  const OutputConstraints many{.prefix = "", .phrases = Texts(70, "Haus"), .banned_phrases = {}};
  const OutputConstraints unknown{.prefix = "", .phrases = {"東京", "Haus"}, .banned_phrases = {"大阪"}};
  const auto lines = translate_all(translator, {"A man", "A man", " "}, {many, unknown, unknown});
  EXPECT_GE(lines[0].translations[0].unmet.size(), 70 - max_phrases);
  EXPECT_EQ(lines[1].translations[0].unmet, Texts{"東京"});
  EXPECT_EQ(lines[2].translations[0].unmet, (Texts{"東京", "Haus"}));
}

/// Translations that lack fewer phrases come first, also in minimum Bayes risk decoding.
TEST_F(OutputConstraintsTest, TheLeastRiskIsThatOfTranslationsWithThePhrases) {
  const Translator translator(folder_.path(), {.threads = 1});
  const Texts lines = sample::english();
  const std::vector<OutputConstraints> all(lines.size(), {.prefix = "", .phrases = {"zwei Pferde", "Haus"}});
  TranslateOptions options{.n_best = 8};
  options.generation = translator.generation();
  options.generation->max_new_tokens = 12;
  const auto found = translate_all(translator, lines, all, options);
  options.n_best = 1, options.mbr = 8;
  const auto chosen = translate_all(translator, lines, all, options);
  bool differ = false;
  for (size_t i = 0; i < lines.size(); ++i) {
    const auto missing = [](const Translation& one) { return one.unmet.size(); };
    const auto [least, most] = std::ranges::minmax(found[i].translations, {}, missing);
    EXPECT_EQ(chosen[i].translations[0].unmet.size(), least.unmet.size()) << i;
    differ = differ || least.unmet.size() < most.unmet.size();
  }
  EXPECT_TRUE(differ);
}

TEST_F(OutputConstraintsTest, ATranslationThatIsMadeAgainLacksNoMorePhrases) {
  const Translator translator(folder_.path(), {.threads = 1});
  const Texts lines{"A", "Two"};
  const std::vector<OutputConstraints> all(lines.size(), {.prefix = "", .phrases = {"zwei Pferde"}});
  TranslateOptions options;
  options.generation = translator.generation();
  options.generation->length_offset = options.generation->min_new_tokens = 60;  // far longer than the lines
  options.retry = translator.generation();
  options.retry->max_new_tokens = 1;  // no place for the phrase
  const auto found = translate_all(translator, lines, all, options);
  for (const TranslatedLine& line : found) EXPECT_TRUE(line.translations[0].unmet.empty()) << line.source;
  EXPECT_TRUE(std::ranges::any_of(found, &TranslatedLine::retried));
}

/// The constraints of a line, such as those of a glossary, are those of the words that are translated whole.
TEST_F(OutputConstraintsTest, AreThoseOfTheWordsThatAreNotCut) {
  const Translator translator(folder_.path(), {.threads = 1});
  const auto seen = [&](const std::string& line, size_t kept, TranslateOptions options = {}) {
    options.max_source_length = static_cast<int>(kept);
    options.warn_of_cuts = false;
    std::string text;
    options.constraints = [&](size_t, const std::string& source) { return text = source, OutputConstraints(); };
    translator.translate(Texts{line}, options, [](const TranslatedLine&) {});
    return text;
  };
  const std::string line = "A man sees a red house. Nobody likes two horses.";
  const auto tokens = tokenizers_.source->locate(line);
  size_t divided = 0;
  for (size_t kept = 1; kept < tokens.size(); ++kept) {
    const size_t cut = tokens[kept - 1].end;
    std::string whole;
    for (const TextRange& word : phrase_words(line))
      if (word.end <= cut) whole = line.substr(0, word.end);
    EXPECT_EQ(seen(line, kept), whole);
    divided += whole.size() < cut;
  }
  EXPECT_GT(divided, 0u) << "some tokens are parts of words";
  EXPECT_EQ(seen(line, tokens.size()), line);

  // Small letters have other numbers of bytes: the small letter of \u0130 has three, that of \u1E9E two.
  for (const std::string letter : {"\u0130", "\u1E9E"}) {
    const std::string capitals = letter + letter + letter + " A MAN SEES A RED HOUSE",
                      small = in_small_letters(capitals);
    const auto located = tokenizers_.source->locate(small);
    const size_t kept = located.size() - 1;
    ASSERT_GE(located[kept - 1].end, small.rfind(' '));
    TranslateOptions options;
    options.capitals = true;
    EXPECT_EQ(seen(capitals, kept, options), capitals.substr(0, capitals.rfind(' ')));
  }
  const std::string valid = "A man \uFFFD sees a red house";
  const auto of_valid = tokenizers_.source->locate(valid);
  const size_t end = valid.find(" a red");
  const auto is_kept = [&](const LocatedToken& token) { return token.end <= end; };
  EXPECT_EQ(seen("A man \xFF sees a red house", std::ranges::count_if(of_valid, is_kept)),
            valid.substr(0, end));

  // A line that is kept as it is has no tokens unless they are asked for.
  TranslateOptions keeping;
  keeping.keep_symbols = true;
  EXPECT_EQ(seen("- - - - !", 3, keeping).find('!'), std::string::npos);
  EXPECT_EQ(seen("- !", 1000, keeping), "- !");
}

TEST_F(OutputConstraintsTest, SentencesOfAParagraphHaveTheirOwn) {
  const Translator translator(folder_.path(), {.threads = 1});
  TranslateOptions options;
  options.split_sentences = "en";
  Texts sentences;
  options.constraints = [&](size_t index, const std::string& source) {
    EXPECT_EQ(index, sentences.size());
    sentences.push_back(source);
    return OutputConstraints{
        .prefix = "", .phrases = {source == "A man buys." ? "Ein Mann" : "東京"}, .banned_phrases = {}};
  };
  translator.translate(Texts{"A man buys. Nobody sees."}, options, [](const TranslatedLine& line) {
    EXPECT_NE(line.translations[0].text.find("Ein Mann"), std::string::npos);
    EXPECT_EQ(line.translations[0].unmet, Texts{"東京"});
  });
  EXPECT_EQ(sentences, (Texts{"A man buys.", "Nobody sees."}));
}

TEST_F(OutputConstraintsTest, AreRefusedByName) {
  const Translator translator(folder_.path(), {.threads = 1});
  const auto refused = [&](const OutputConstraints& constraints, const std::string& part) {
    const std::string message = error_message([&] {
      translate_all(translator, {"A man", "A man"}, {{}, constraints});
    });
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_NE(message.find("line 2: "), std::string::npos) << message;
  };
  refused({.prefix = "東京", .phrases = {}, .banned_phrases = {}},
          "the prefix '東京' has text that the model's");
  refused({.prefix = "\xFF", .phrases = {}, .banned_phrases = {}}, "is not valid UTF-8");
  refused({.prefix = "a\nb", .phrases = {}, .banned_phrases = {}}, "has more than one line");
  refused({.prefix = "", .phrases = {" "}, .banned_phrases = {}}, "the phrase ' ' has no visible character");
  refused({.prefix = "", .phrases = {"ein Haus"}, .banned_phrases = {"Haus"}},
          "the phrase 'ein Haus' contains 'Haus', which the translation must not contain");
  refused({.prefix = "Ein Haus", .phrases = {}, .banned_phrases = {"Haus"}}, "the prefix 'Ein Haus' contains");
  refused({.prefix = "", .phrases = {}, .banned_phrases = Texts(65, "Haus")}, "65 phrases are given");
  std::string many;
  for (size_t i = 0; i <= max_prefix_tokens; ++i) many += "ä ";
  refused({.prefix = many, .phrases = {}, .banned_phrases = {}}, "tokens; at most 1024 are allowed");
  const std::string message = error_message(
      [&] { translate_all(translator, {"A man"}, {{.prefix = many, .phrases = {}, .banned_phrases = {}}}); });
  EXPECT_LT(message.size(), 200u) << "a long text is cut";
  EXPECT_NE(message.find("ä ä..."), std::string::npos) << message;
}

}  // namespace
}  // namespace sixfold
