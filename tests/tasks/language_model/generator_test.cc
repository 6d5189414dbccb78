#include <cmath>
#include <map>
#include <mutex>

#include "base/file.h"
#include "error_message.h"
#include "model_folder/config_file.h"
#include "tasks/language_model/generator_fixture.h"
#include "text/characters.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

/// Greedy search chooses what the model finds likeliest when it reads the whole window at once: also after it
/// has begun anew.
TEST_F(GeneratorTest, IsTheModelStepByStep) {
  const auto tokenizer = load_tokenizers(model_).target;
  const auto results =
      Generator(model_, {.threads = 1}).generate(prompts_, {.max_tokens = 30, .draw = {.temperature = 0}});
  for (size_t p = 0; p < prompts_.size(); ++p) {
    ASSERT_EQ(results[p].texts.size(), 1u);
    const GeneratedText& result = results[p].texts[0];
    Ids text = tokenizer->encode_text(prompts_[p]);
    size_t window = 0;  // where the window of 12 tokens begins
    const Ids generated = tokenizer->encode_text(result.text);
    double sum = 0;
    ASSERT_EQ(generated.size(), 30u);
    for (size_t i = 0; i < generated.size(); ++i) {
      if (text.size() - window + 1 > 12) window = text.size() - 6;
      auto probabilities = next(Ids(text.begin() + static_cast<std::ptrdiff_t>(window), text.end()));
      for (const size_t id : {0, 1, 2}) probabilities[id] = -1e9;  // a stream does not end
      const auto best = static_cast<int32_t>(std::ranges::max_element(probabilities) - probabilities.begin());
      ASSERT_EQ(best, generated[i]) << p << " " << i;
      sum += probabilities[static_cast<size_t>(best)];
      text.push_back(best);
    }
    EXPECT_NEAR(result.log_probability, sum, 1e-4);
    EXPECT_EQ(result.reason, FinishReason::cut);
  }
}

/// Where a model's texts end, so do those that it generates. The unknown token is never generated.
TEST_F(GeneratorTest, EndsATextThatEnds) {
  write_small_language_model(folder_ / "lines", 3, reads_lines);
  const auto ended = [&](const std::string& model, int beam_size) {
    int count = 0;
    for (const GeneratedTexts& one :
         Generator(model, {.threads = 1})
             .generate(prompts_, {.max_tokens = 200, .beam_size = beam_size, .samples = 2}))
      for (const GeneratedText& text : one.texts) {
        count += text.reason == FinishReason::end_token;
        EXPECT_EQ(text.text.find("\uFFFD"), std::string::npos) << text.text;
      }
    return count;
  };
  EXPECT_GT(ended(folder_ / "lines", 0), 5);
  ended(folder_ / "lines", 4);
  EXPECT_EQ(ended(model_, 0), 0);
  EXPECT_EQ(ended(model_, 4), 0);
}

/// The same seed gives the same text, whatever else is generated, and with any number of threads.
TEST_F(GeneratorTest, IsAFunctionOfSeedAndPrompt) {
  const GenerateOptions options{.max_tokens = 40, .samples = 3, .seed = 7};
  const auto all = texts(prompts_, options);
  ASSERT_EQ(all.size(), 15u);
  EXPECT_EQ(texts(prompts_, options, 3), all);
  for (size_t p = 0; p < prompts_.size(); ++p) {
    GenerateOptions alone = options;
    alone.first_prompt = p;
    EXPECT_EQ(texts({prompts_[p]}, alone), (std::vector(all.begin() + 3 * static_cast<std::ptrdiff_t>(p),
                                                        all.begin() + 3 * static_cast<std::ptrdiff_t>(p) + 3)));
  }
  EXPECT_NE(all[0], all[1]);
  EXPECT_NE(all[0], all[9]);  // the same prompt at another place
  GenerateOptions other = options;
  other.seed = 8;
  EXPECT_NE(texts(prompts_, other), all);
  other = options;
  other.samples = 1;
  EXPECT_EQ(texts({prompts_[0]}, other)[0], all[0]);  // the first of several
}

/// Each token comes with its log-probability and what else was likely; the texts stay what they are.
TEST_F(GeneratorTest, TellsWhatElseWasLikely) {
  const auto tokenizer = load_tokenizers(model_).target;
  GenerateOptions options{.max_tokens = 30, .draw = {.temperature = 0.7f}, .samples = 2, .seed = 5};
  const auto plain = texts(prompts_, options);
  options.likeliest = 3;
  size_t number = 0, best_drawn = 0;
  for (const GeneratedTexts& one : Generator(model_, {.threads = 2}).generate(prompts_, options))
    for (const GeneratedText& text : one.texts) {
      EXPECT_EQ(text.text, plain[number++]);
      std::string joined;
      double sum = 0;
      Ids ids = tokenizer->encode_text(prompts_[one.index]);
      for (const ChosenToken& token : text.chosen) {
        EXPECT_EQ(token.offset, count_characters(joined));
        ASSERT_EQ(token.likeliest.size(), 3u);
        best_drawn += token.likeliest[0].first.text == token.added.text;
        if (ids.size() < 12) {  // the window is full of the text alone
          const auto probabilities = next(ids);
          EXPECT_NEAR(token.likeliest[0].second, *std::ranges::max_element(probabilities), 1e-4);
        }
        for (const auto& [other, log_probability] : token.likeliest) {
          EXPECT_LE(log_probability, token.likeliest[0].second);
          if (other.text == token.added.text) {
            EXPECT_EQ(log_probability, token.log_probability);
          }
        }
        joined += token.added.text;
        sum += token.log_probability.value();
        const Ids added = tokenizer->encode_text(token.added.text);
        ids.insert(ids.end(), added.begin(), added.end());
      }
      EXPECT_EQ(joined, text.text);
      EXPECT_NEAR(sum, text.log_probability, 1e-4);
    }
  EXPECT_GT(best_drawn, 30u);
}

/// The tokens of a prompt have the probabilities that the model gives them, and no others follow if none are
/// wanted.
TEST_F(GeneratorTest, TellsTheTokensOfPrompts) {
  const auto tokenizer = load_tokenizers(model_).target;
  const std::vector<std::string> prompts{"a b", "h", "\ncc"};
  for (const int max_tokens : {0, 3}) {
    const GenerateOptions options{.max_tokens = max_tokens, .likeliest = 2, .prompt_tokens = true};
    const auto results = Generator(model_, {.threads = 2}).generate(prompts, options);
    for (size_t p = 0; p < prompts.size(); ++p) {
      const GeneratedText& text = results[p].texts[0];
      const Ids ids = tokenizer->encode_text(prompts[p]);
      ASSERT_EQ(text.tokens, static_cast<size_t>(max_tokens));
      ASSERT_EQ(text.chosen.size(), ids.size() + static_cast<size_t>(max_tokens));
      std::string joined;
      for (size_t i = 0; i < ids.size(); ++i) {
        const auto expected = next({ids.begin(), ids.begin() + static_cast<ptrdiff_t>(i)});
        EXPECT_NEAR(text.chosen[i].log_probability.value(), expected[static_cast<size_t>(ids[i])], 1e-4);
        ASSERT_EQ(text.chosen[i].likeliest.size(), 2u);
        EXPECT_NEAR(text.chosen[i].likeliest[0].second, *std::ranges::max_element(expected), 1e-4);
        EXPECT_EQ(text.chosen[i].offset, count_characters(joined));
        joined += text.chosen[i].added.text;
      }
      EXPECT_EQ(joined, prompts[p]);
    }
  }
  const auto nothing =
      Generator(model_, {.threads = 1})
          .generate(std::vector<std::string>{""}, {.max_tokens = 0, .likeliest = 1, .prompt_tokens = true});
  EXPECT_TRUE(nothing[0].texts[0].chosen.empty());
  EXPECT_NE(error_message([&] {
              Generator(model_, {.threads = 1}).generate(prompts, {.max_tokens = 0});
            }).find("max_tokens is 0"),
            std::string::npos);
}

TEST_F(GeneratorTest, ContinuesTokensAsItsText) {
  const auto tokenizer = load_tokenizers(model_).target;
  std::vector<Prompt> ids;
  for (const std::string& prompt : prompts_) ids.push_back({.text = {}, .ids = tokenizer->encode_text(prompt)});
  const Generator generator(model_, {.threads = 1});
  const auto of_texts = generator.generate(prompts_, {.max_tokens = 9}),
             of_ids = generator.generate(ids, {.max_tokens = 9});
  for (size_t p = 0; p < ids.size(); ++p) EXPECT_EQ(of_ids[p].texts[0].text, of_texts[p].texts[0].text);
  EXPECT_EQ(generator.refusal({.text = {}, .ids = Ids{1, 4000}}).value().find("the prompt has the token 4000"),
            0u);
}

TEST_F(GeneratorTest, ShowsTheTextAsItComes) {
  std::vector<std::string> shown(prompts_.size());
  std::mutex mutex;
  const auto receive = [&](const TextPiece& piece) {
    const std::lock_guard lock(mutex);
    shown[piece.prompt] += piece.text;
  };
  const GenerateOptions options{.max_tokens = 40, .stop = {"a", "e\n"}};
  const auto results = Generator(model_, {.threads = 2}).generate(prompts_, options, receive);
  for (size_t p = 0; p < prompts_.size(); ++p) EXPECT_EQ(shown[p], results[p].texts[0].text);
}

TEST_F(GeneratorTest, EndsAtAStopString) {
  const auto plain = Generator(model_, {.threads = 1}).generate(prompts_, {.max_tokens = 60});
  const auto stopped =
      Generator(model_, {.threads = 1}).generate(prompts_, {.max_tokens = 60, .stop = {"a", "c"}});
  int stops = 0;
  for (size_t p = 0; p < prompts_.size(); ++p) {
    const std::string& whole = plain[p].texts[0].text;
    EXPECT_EQ(stopped[p].texts[0].text, whole.substr(0, whole.find_first_of("ac")));
    const bool expected = whole.find_first_of("ac") != std::string::npos;
    EXPECT_EQ(stopped[p].texts[0].reason == FinishReason::stop_string, expected);
    stops += expected;
  }
  EXPECT_GT(stops, 0);
}

TEST_F(GeneratorTest, RepeatsNoNgram) {
  for (const std::string& text :
       texts(prompts_, {.max_tokens = 60, .draw = {.temperature = 0}, .no_repeat_ngram = 2}))
    for (size_t i = 0; i + 2 <= text.size(); ++i)
      EXPECT_EQ(text.find(text.substr(i, 2), i + 1), std::string::npos) << text;
}

/// No text ends by itself before the fewest tokens.
TEST_F(GeneratorTest, DoesNotEndBeforeTheFewestTokens) {
  write_small_language_model(folder_ / "lines", 3, reads_lines);
  const Generator lines(folder_ / "lines", {.threads = 1});
  GenerateOptions options{.max_tokens = 40, .samples = 8};
  const auto is_short = [](const GeneratedText& text) { return text.tokens < 12; };
  const auto count_short = [&] {
    std::ptrdiff_t count = 0;
    for (const GeneratedTexts& one : lines.generate(prompts_, options))
      count += std::ranges::count_if(one.texts, is_short);
    return count;
  };
  EXPECT_GT(count_short(), 0);
  options.min_tokens = 12;
  EXPECT_EQ(count_short(), 0);
  for (const auto& found : lines.generate(prompts_, {.max_tokens = 20, .min_tokens = 12, .beam_size = 3}))
    EXPECT_FALSE(is_short(found.texts[0]));
}

/// Where every token would repeat an n-gram the text ends, and the other texts go on.
TEST_F(GeneratorTest, EndsATextThatCannotGoOn) {
  const GenerateOptions options{.max_tokens = 2000, .no_repeat_ngram = 2, .samples = 3};
  for (const GeneratedTexts& one : Generator(model_, {.threads = 1}).generate(prompts_, options)) {
    ASSERT_EQ(one.texts.size(), 3u);
    for (const GeneratedText& text : one.texts) {
      EXPECT_LT(text.tokens, 300u);
      EXPECT_TRUE(std::isfinite(text.log_probability));
    }
  }
}

/// What is in the prompt counts too, in every kind of search.
TEST_F(GeneratorTest, RepeatsNoNgramOfThePrompt) {
  const std::string prompt = "abcabd";
  const std::string greedy =
      texts({prompt}, {.max_tokens = 40, .draw = {.temperature = 0}, .no_repeat_ngram = 2})[0];
  for (size_t i = 0; i < greedy.size(); ++i)
    EXPECT_EQ(prompt.find((prompt.substr(prompt.size() - 1) + greedy).substr(i, 2)), std::string::npos)
        << greedy;
  EXPECT_EQ(texts({prompt}, {.max_tokens = 40, .no_repeat_ngram = 2, .beam_size = 1})[0], greedy);
}

/// A penalty that a training has set counts in every search, as one of a call does.
TEST_F(GeneratorTest, ObeysAStoredRepetitionPenalty) {
  const std::vector<GenerateOptions> searches{
      {.max_tokens = 20, .draw = {.temperature = 0}}, {.max_tokens = 20, .beam_size = 1}, {.max_tokens = 20}};
  std::vector<std::vector<std::string>> plain, asked;
  for (GenerateOptions options : searches) {
    plain.push_back(texts(prompts_, options));
    options.draw.repetition_penalty = 5;
    asked.push_back(texts(prompts_, options));
  }
  ModelConfig config = load_model_config(model_);
  config.generation.repetition_penalty = 5;
  save_config(model_ + "/config.json", config);
  for (size_t i = 0; i < searches.size(); ++i) {
    EXPECT_NE(asked[i], plain[i]) << i;
    EXPECT_EQ(texts(prompts_, searches[i]), asked[i]) << i;
  }
  config.generation.repetition_penalty = 1;
  config.generation.renormalize_logits = true;
  save_config(model_ + "/config.json", config);
  const GenerateOptions both{.draw = {.repetition_penalty = 2}, .beam_size = 2};
  EXPECT_NE(error_message([&] { texts({"a"}, both); }).find("renormalize_logits, which does not go with it"),
            std::string::npos);
}

/// Each text of a beam comes to the receiver.
TEST_F(GeneratorTest, ShowsAllTextsOfABeam) {
  std::map<std::pair<size_t, size_t>, std::string> shown;
  std::mutex mutex;
  const auto receive = [&](const TextPiece& piece) {
    const std::lock_guard lock(mutex);
    shown[{piece.prompt, piece.sample}] += piece.text;
  };
  const auto results = Generator(model_, {.threads = 2})
                           .generate(prompts_, {.max_tokens = 9, .beam_size = 4, .samples = 3}, receive);
  for (size_t p = 0; p < prompts_.size(); ++p)
    for (size_t s = 0; s < results[p].texts.size(); ++s) {
      EXPECT_EQ((shown[{p, s}]), results[p].texts[s].text);
    }
}

/// A default of a caller does not exceed what the model stores.
TEST_F(GeneratorTest, LimitsTheDefaultOfTheModel) {
  const Generator generator(model_, {.threads = 1});
  EXPECT_EQ(generator.max_tokens(0, {}), 256);
  EXPECT_EQ(generator.max_tokens(0, {.default_limit = 16}), 16);
  EXPECT_EQ(generator.max_tokens(0, {.max_tokens = 20, .default_limit = 16}), 20);
  ModelConfig config = load_model_config(model_);
  config.generation.max_new_tokens = 5;
  save_config(model_ + "/config.json", config);
  EXPECT_EQ(Generator(model_, {.threads = 1}).max_tokens(0, {.default_limit = 16}), 5);
  config.generation.max_new_tokens = 0;
  auto settings = settings_of<LanguageModelSettings>(config);
  settings.max_length = 12;
  config.settings = write_options(settings);
  save_config(model_ + "/config.json", config);
  EXPECT_EQ(Generator(model_, {.threads = 1}).max_tokens(7, {}), 4) << "with the start token";
}

/// Beam search with one hypothesis is greedy search, and a wider one returns its best hypotheses.
TEST_F(GeneratorTest, SearchesWithABeam) {
  const auto greedy =
      Generator(model_, {.threads = 1}).generate(prompts_, {.max_tokens = 20, .draw = {.temperature = 0}});
  const auto one = Generator(model_, {.threads = 1}).generate(prompts_, {.max_tokens = 20, .beam_size = 1});
  for (size_t p = 0; p < prompts_.size(); ++p) {
    EXPECT_EQ(one[p].texts[0].text, greedy[p].texts[0].text);
    EXPECT_NEAR(one[p].texts[0].log_probability, greedy[p].texts[0].log_probability, 1e-4);
  }
  for (const GeneratedTexts& found :
       Generator(model_, {.threads = 2}).generate(prompts_, {.max_tokens = 20, .beam_size = 4, .samples = 4})) {
    ASSERT_EQ(found.texts.size(), 4u);
    EXPECT_NE(found.texts[0].text, found.texts[1].text);
  }
}

TEST_F(GeneratorTest, ServesTheOthersIfAPromptIsTooLong) {
  const std::vector<std::string> prompts{"a", "abcdefghabcd", "b", "abcdefghabc"};
  const auto results = Generator(model_, {.threads = 1}).generate(prompts, {.max_tokens = 5});
  EXPECT_EQ(results[1].error, "the prompt has 12 tokens, but the model reads at most 11 at once; shorten it");
  EXPECT_TRUE(results[1].texts.empty());
  for (const size_t p : {0, 2, 3}) {
    EXPECT_FALSE(results[p].error);
    EXPECT_EQ(results[p].texts.size(), 1u);
  }
}

TEST_F(GeneratorTest, RefusesImpossibleOptions) {
  const auto refuse = [&](const GenerateOptions& options, const char* part) {
    EXPECT_NE(error_message([&] { texts({"a"}, options); }).find(part), std::string::npos) << part;
  };
  refuse({.max_tokens = 0}, "max_tokens is 0");
  refuse({.max_tokens = 0, .beam_size = 2}, "max_tokens is 0");
  refuse({.samples = 0}, "samples: expected a whole number from 1 to 65536");
  refuse({.beam_size = 2, .samples = 3}, "samples is 3, but a beam of 2 finds at most 2 texts");
  refuse({.draw = {.top_k = 2}, .beam_size = 2}, "so that top_k has no effect");
  refuse({.beam_size = 2, .seed = 7}, "so that seed has no effect");
  refuse({.beam_size = 2, .stop = {"a"}}, "beam search does not support stop strings");
  refuse({.draw = {.temperature = -3}, .beam_size = 2}, "temperature: expected a number at least 0");
  EXPECT_EQ(Generator(model_, {.threads = 1}).generate(std::vector<std::string>{"\xFF"})[0].error,
            "the prompt is not text: byte 1 is not valid UTF-8");
  refuse({.max_tokens = 5, .min_tokens = 6}, "min_tokens is 6; it must be at most max_tokens, 5");
  refuse({.max_tokens = 5, .min_tokens = -1, .beam_size = 2}, "min_tokens: expected a whole number from 0");
  refuse({.stop = {""}}, "a stop string is empty");
  refuse({.draw = {.top_p = 0}}, "top_p: expected a number above 0 and at most 1");
  write_small_model(folder_ / "translation", 1);
  EXPECT_NE(error_message([&] { Generator(folder_ / "translation"); }).find("not 'language_model'"),
            std::string::npos);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(Generator(model_, {.threads = 1}).generate(prompts_, {.cancel = stop.get_token()}), Cancelled);
}

TEST_F(GeneratorTest, ScoresThatAreNotFiniteAreAnError) {
  write_file_atomically(folder_ / "text", "a b c\n");
  damage_weights(model_);
  EXPECT_NE(
      error_message([&] { Generator(model_, {.threads = 1}).score(folder_ / "text"); }).find("not finite"),
      std::string::npos);
}

/// Windows of every stride predict each token once, from the tokens before it in its window.
TEST_F(GeneratorTest, ScoresAText) {
  const std::string path = folder_ / "text";
  const std::string text = "abc def\n\ngh ab ab ab cde fgh\n";
  write_file_atomically(path, text);
  const Ids ids = load_tokenizers(model_).target->encode_text(text);
  const Generator generator(model_, {.threads = 2});
  for (const int stride : {0, 1, 5, 12}) {
    const int step = stride == 0 ? 6 : stride;
    double expected = 0;
    for (int i = 0; i < std::ssize(ids); ++i) {
      const int end =
          i < 12 ? 12 : std::min<int>(12 + (i - 12) / step * step + step, static_cast<int>(ids.size()));
      const int begin = std::max(end - 12, 0);
      expected +=
          next(Ids(ids.begin() + begin, ids.begin() + i))[static_cast<size_t>(ids[static_cast<size_t>(i)])];
    }
    const TextScore score = generator.score(path, {.stride = stride});
    EXPECT_NEAR(score.log_probability, expected, 1e-3) << stride;
    EXPECT_EQ(score.tokens, std::ssize(ids));
    EXPECT_EQ(score.bytes, std::ssize(text));
    EXPECT_NEAR(score.bits_per_byte(), -expected / std::log(2) / static_cast<double>(text.size()), 1e-4);
    EXPECT_NEAR(std::log(score.perplexity()), score.loss_per_token(), 1e-9);
  }
  EXPECT_EQ(generator.score(path).unknown, 0);
  EXPECT_EQ(generator.score(path).log_probability,
            Generator(model_, {.threads = 1}).score(path).log_probability);
  EXPECT_NE(error_message([&] { generator.score(path, {.stride = 13}); }).find("stride is 13"),
            std::string::npos);
  write_file_atomically(path, "a z\xC3\xA9\n");
  EXPECT_EQ(generator.score(path).unknown, 2);
  write_file_atomically(path, "a\xFF\n");
  EXPECT_NE(error_message([&] { generator.score(path); }).find("byte 2 is not valid UTF-8"), std::string::npos);
  EXPECT_EQ(generator.score(path, {.invalid = InvalidUtf8::replace}).unknown, 1);
  write_file_atomically(path, "");
  EXPECT_NE(error_message([&] { generator.score(path); }).find("no text to score"), std::string::npos);
}

/// Texts that end have an end token each, and do not depend on each other.
TEST_F(GeneratorTest, ScoresLines) {
  write_small_language_model(folder_ / "lines", 3, reads_lines);
  const Generator generator(folder_ / "lines", {.threads = 1});
  const auto score = [&](const std::string& text) {
    write_file_atomically(folder_ / "text", text);
    return generator.score(folder_ / "text");
  };
  const TextScore one = score("abc\n"), other = score("de\n"), both = score("abc\n\nde\n");
  EXPECT_EQ(one.tokens, 4);
  EXPECT_EQ(both.tokens, 7);
  EXPECT_NEAR(both.log_probability, one.log_probability + other.log_probability, 1e-5);
}

}  // namespace
}  // namespace sixfold
