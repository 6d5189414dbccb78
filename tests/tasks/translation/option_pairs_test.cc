#include <functional>

#include "base/error.h"
#include "tasks/translation/translator_fixture.h"

namespace sixfold {
namespace {

/// An option of a translation, and a word of the errors that refuse it.
struct NamedOption {
  std::string name;
  std::function<void(TranslateOptions&)> set;
};

GenerationConfig& rules_of(TranslateOptions& o, const GenerationConfig& usual) {
  if (!o.generation) o.generation = usual;
  return *o.generation;
}

void add_constraints(TranslateOptions& o, const std::function<void(OutputConstraints&)>& add) {
  o.constraints = [before = o.constraints, add](size_t index, const std::string& source) {
    OutputConstraints all = before ? before(index, source) : OutputConstraints{};
    add(all);
    return all;
  };
}

std::vector<NamedOption> all_options(const GenerationConfig& usual) {
  const auto rule = [&usual](auto set) {
    return [&usual, set](TranslateOptions& o) { set(rules_of(o, usual)); };
  };
  const auto constraint = [](auto add) { return [add](TranslateOptions& o) { add_constraints(o, add); }; };
  return {
      {"sample", [](auto& o) { o.sample = true; }},
      {"temperature", [](auto& o) { o.draw.temperature = 0.7F; }},
      {"top_k", [](auto& o) { o.draw.top_k = 5; }},
      {"top_p", [](auto& o) { o.draw.top_p = 0.9F; }},
      {"min_p", [](auto& o) { o.draw.min_p = 0.01F; }},
      {"seed", [](auto& o) { o.seed = 7; }},
      {"mbr", [](auto& o) { o.mbr = 3; }},
      {"n_best", [](auto& o) { o.n_best = 2; }},
      {"n_best of more", [](auto& o) { o.n_best = 5; }},
      {"beam_size", [](auto& o) { o.beam_size = 2; }},
      {"batch_tokens", [](auto& o) { o.batch_tokens = 16; }},
      {"max_source_length", [](auto& o) { o.max_source_length = 5; }},
      {"split_sentences", [](auto& o) { o.split_sentences = "en"; }},
      {"retry",
       [&usual](auto& o) {
         o.retry = usual;
         o.retry->no_repeat_ngram = 1;
       }},
      {"replace_unknown", [](auto& o) { o.replace_unknown = true; }},
      {"keep_symbols", [](auto& o) { o.keep_symbols = true; }},
      {"capitals", [](auto& o) { o.capitals = true; }},
      {"token scores", [](auto& o) { o.details.tokens = true; }},
      {"alignment", [](auto& o) { o.details.alignment = true; }},
      {"attention", [](auto& o) { o.details.attention = true; }},
      {"attention of all layers", [](auto& o) { o.details.all_attention = true; }},
      {"search", [](auto& o) { o.details.search = true; }},
      {"layer", [](auto& o) { o.details.layer = 0; }},
      {"prefix", constraint([](auto& c) { c.prefix = "Ein"; })},
      {"phrases", constraint([](auto& c) { c.phrases.emplace_back("Hund"); })},
      {"banned", constraint([](auto& c) { c.banned_phrases.emplace_back("Mann"); })},
      {"glossary",
       [](auto& o) {
         o.glossary = std::make_shared<const Glossary>(std::vector<GlossaryEntry>{{"man", "Frau"}});
       }},
      {"coverage_penalty", rule([](auto& r) { r.coverage_penalty = 0.2F; })},
      {"repetition_penalty", rule([](auto& r) { r.repetition_penalty = 1.2F; })},
      {"no_repeat_ngram", rule([](auto& r) { r.no_repeat_ngram = 2; })},
      {"min_new_tokens", rule([](auto& r) { r.min_new_tokens = 2; })},
      {"renormalize_logits", rule([](auto& r) { r.renormalize_logits = true; })},
      {"at_longest", rule([](auto& r) { r.at_longest = AtLongest::cut; })},
      {"normalization", rule([](auto& r) { r.normalization = ScoreNormalization::length; })},
  };
}

/// What a call gives: all texts with scores, or the message of its error.
std::vector<std::string> outcome(const Translator& translator, const TranslateOptions& options,
                                 const std::vector<std::string>& lines) {
  std::vector<std::string> all;
  try {
    translator.translate(lines, options, [&](const TranslatedLine& line) {
      for (const Translation& one : line.translations)
        all.push_back(fmt::format("{} {:.4f}", one.text, one.score));
    });
  } catch (const Error& error) {
    return {"error", error.what()};
  }
  return all;
}

/// Any two options go together, with any number of threads, or an error names one of them.
TEST_F(TranslatorTest, EachPairOfOptionsWorksOrIsRefusedByName) {
  const Translator one(path(), {.threads = 1}), two(path(), {.threads = 2});
  const GenerationConfig usual = one.generation();
  const std::vector<NamedOption> options = all_options(usual);
  const std::vector<std::string> lines{"A man is on the street.", "...", "Two dogs. A dog runs in the park."};
  int worked = 0, refused = 0;
  for (size_t i = 0; i < options.size(); ++i)
    for (size_t j = 0; j <= i; ++j) {
      const std::string place = options[j].name + " and " + options[i].name;
      TranslateOptions both{.warn_of_cuts = false};
      options[j].set(both);
      if (j != i) options[i].set(both);
      const auto found = outcome(one, both, lines);
      ASSERT_EQ(outcome(two, both, lines), found) << place;
      if (found[0] != "error") {
        ++worked;
        EXPECT_GE(std::ssize(found), std::ssize(lines)) << place;
        continue;
      }
      ++refused;
      const auto names = [&](const std::string& name) {
        return found[1].find(name.substr(0, name.find(' '))) != std::string::npos;
      };
      EXPECT_TRUE(names(options[i].name) || names(options[j].name)) << place << ": " << found[1];
    }
  EXPECT_GT(worked, 300);
  EXPECT_GT(refused, 40);
}

TEST_F(TranslatorTest, SamplesAreTheSameInAnyPlace) {
  const Translator translator(path(), {.threads = 2});
  TranslateOptions options{.n_best = 3, .sample = true};
  options.draw.temperature = 0.8F;
  const auto all = outcome(translator, options, lines());
  auto reversed = lines();
  std::ranges::reverse(reversed);
  size_t place = 0;
  for (const std::string& line : lines()) {
    const auto alone = outcome(translator, options, {line});
    for (const std::string& text : alone) EXPECT_EQ(all.at(place++), text);
  }
  EXPECT_EQ(place, all.size());
  options.seed = 2;
  EXPECT_NE(outcome(translator, options, lines()), all);
}

/// The translations of least risk are some of those that it chooses among.
TEST_F(TranslatorTest, MinimumBayesRiskChoosesAmongCandidates) {
  const Translator translator(path(), {.threads = 1});
  for (const bool sample : {false, true}) {
    TranslateOptions options{.n_best = 6, .sample = sample};
    std::vector<std::vector<Translation>> candidates, chosen;
    translator.translate(lines(), options,
                         [&](const TranslatedLine& line) { candidates.push_back(line.translations); });
    options.n_best = 2, options.mbr = 6;
    options.details.tokens = true;
    translator.translate(lines(), options,
                         [&](const TranslatedLine& line) { chosen.push_back(line.translations); });
    int others = 0;
    for (size_t i = 0; i < chosen.size(); ++i) {
      EXPECT_EQ(chosen[i].size(), std::min<size_t>(2, candidates[i].size()));
      for (const Translation& one : chosen[i]) {
        const auto found = std::ranges::find(candidates[i], one.text, &Translation::text);
        ASSERT_NE(found, candidates[i].end());
        double sum = 0;
        for (const TranslatedToken& token : one.tokens) sum += token.log_probability;
        EXPECT_NEAR(one.log_probability, sum, 1e-3);
      }
      others += chosen[i][0].text != candidates[i][0].text;
    }
    EXPECT_GT(others, 0);
  }
}

}  // namespace
}  // namespace sixfold
