// What makes generation fast changes no text: guesses, and beginnings that are read once.
#include <map>
#include <mutex>
#include <numeric>

#include "error_message.h"
#include "tasks/language_model/generator_fixture.h"
#include "text/characters.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

/// Guesses change no text and no probability, bit for bit, whatever the positions, the window and the options.
TEST_F(GeneratorTest, GuessesChangeNothing) {
  const auto positions = [](Positions kind, int context) {
    return [=](ModelConfig& config) {
      config.positions = kind;
      config.context_tokens = context;
      config.max_positions = 64;
      config.d_model = 64, config.d_ff = 48, config.kv_heads = 1;
    };
  };
  const std::vector<ConfigChange> models{{},
                                         positions(Positions::sinusoidal, 0),
                                         positions(Positions::rotary, 0),
                                         positions(Positions::alibi, 20),
                                         positions(Positions::t5, 0),
                                         positions(Positions::learned, 64)};
  const std::vector<GenerateOptions> calls{
      {.max_tokens = 80, .draw = {.temperature = 0}},
      {.max_tokens = 80, .draw = {.temperature = 0}, .samples = 2},
      {.max_tokens = 61, .draw = {.temperature = 0.05f}, .samples = 3, .likeliest = 2},
      {.max_tokens = 80, .draw = {.repetition_penalty = 1.2f, .temperature = 0.2f, .top_k = 3}, .samples = 2},
      {.max_tokens = 80, .min_tokens = 20, .draw = {.temperature = 0}, .no_repeat_ngram = 9},
      {.max_tokens = 80, .draw = {.temperature = 0.1f}, .stop = {"abca", "hh", "ee"}},
  };
  const std::vector<std::string> prompts{"", "a b a b a b", "abcabcabc", "hh", "d\nd\nd\nd"};
  for (size_t m = 0; m < models.size(); ++m) {
    const std::string folder = folder_ / std::to_string(m);
    write_small_language_model(folder, 5 + m, models[m]);
    for (const WeightType weights : {WeightType::fp32, WeightType::int8})
      for (size_t c = 0; c < calls.size(); ++c) {
        GenerateOptions options = calls[c];
        using Pieces = std::map<std::pair<size_t, size_t>, std::vector<std::string>>;
        std::mutex mutex;
        const auto generate = [&](const Generator& generator, Pieces& pieces) {
          return generator.generate(prompts, options, [&](const TextPiece& piece) {
            const std::lock_guard lock(mutex);
            pieces[{piece.prompt, piece.sample}].emplace_back(piece.text);
          });
        };
        Pieces plain_pieces, guessed_pieces;
        options.draft_tokens = 0;
        const auto plain = generate(Generator(folder, {.threads = 1, .weights = weights}), plain_pieces);
        options.draft_tokens.reset();
        const Generator guessing(folder, {.threads = 1 + static_cast<int>(c % 2), .weights = weights});
        const auto guessed = generate(guessing, guessed_pieces);
        EXPECT_EQ(plain_pieces, guessed_pieces) << m << " " << c;
        for (size_t p = 0; p < prompts.size(); ++p)
          for (size_t t = 0; t < plain[p].texts.size(); ++t) {
            const GeneratedText &a = plain[p].texts[t], &b = guessed[p].texts[t];
            EXPECT_EQ(a.text, b.text) << m << " " << c << " " << p;
            EXPECT_EQ(a.log_probability, b.log_probability) << m << " " << c << " " << p;
            EXPECT_EQ(a.tokens, b.tokens);
            EXPECT_EQ(a.reason, b.reason);
            ASSERT_EQ(a.chosen.size(), b.chosen.size());
            for (size_t i = 0; i < a.chosen.size(); ++i) {
              EXPECT_EQ(a.chosen[i].log_probability, b.chosen[i].log_probability);
              EXPECT_EQ(a.chosen[i].likeliest, b.chosen[i].likeliest);
            }
          }
      }
  }
}

/// Prompts that begin alike read their beginning once. The texts are those of each prompt alone, bit for bit.
TEST_F(GeneratorTest, PromptsShareTheirBeginnings) {
  const std::string folder = folder_ / "long";
  write_small_language_model(folder, 3, [](ModelConfig& config) {
    config.context_tokens = 0;
    config.positions = Positions::rotary;
    config.d_model = 64, config.d_ff = 48;
  });
  const std::string beginning = "abcdefgh hgfedcba abcdhgfe hdgcfbea acegbdfh abababab fedfed aaaa";
  std::vector<std::string> prompts{
      beginning, beginning + " ab",       "b" + beginning,  beginning + " abab", beginning,
      "abc",     beginning.substr(0, 40), beginning + " ab"};
  const GenerateOptions options{.max_tokens = 20, .draw = {.temperature = 0.7f}, .samples = 3};
  const auto of = [&](const Generator& generator, std::span<const std::string> some, size_t first) {
    GenerateOptions numbered = options;
    numbered.first_prompt = first;
    std::vector<std::pair<std::string, double>> texts;
    for (const GeneratedTexts& one : generator.generate(some, numbered))
      for (const GeneratedText& text : one.texts) texts.emplace_back(text.text, text.log_probability);
    return texts;
  };
  std::vector<std::pair<std::string, double>> expected;
  for (size_t p = 0; p < prompts.size(); ++p) {
    GenerateOptions one = options;
    one.first_prompt = p;
    one.likeliest = 0, one.prompt_tokens = true;  // reads the whole prompt, whose probabilities are asked for
    for (const GeneratedTexts& texts :
         Generator(folder, {.threads = 1}).generate(std::span(&prompts[p], 1), one))
      for (const GeneratedText& text : texts.texts) expected.emplace_back(text.text, text.log_probability);
  }
  const Generator generator(folder, {.threads = 1});
  EXPECT_EQ(of(generator, prompts, 0), expected);  // at once
  for (size_t p = 0; p < prompts.size(); ++p)      // and one after the other
    EXPECT_EQ(of(generator, std::span(&prompts[p], 1), p),
              std::vector(expected.begin() + 3 * static_cast<std::ptrdiff_t>(p),
                          expected.begin() + 3 * static_cast<std::ptrdiff_t>(p) + 3));
}

/// The hypotheses of a beam, which begin a window together, are no prompts: each goes on from its own tokens,
/// and what is read later does not continue from theirs.
TEST_F(GeneratorTest, ABeamBeginsAWindow) {
  const std::string folder = folder_ / "window";
  constexpr size_t context = 60;
  write_small_language_model(folder, 3, [](ModelConfig& config) {
    config.context_tokens = context;
    config.positions = Positions::rotary;
  });
  const auto tokenizer = load_tokenizers(folder).target;
  const auto model = load_model(folder, make_backend({.device = "reference"}), DType::f64);
  const auto log_probability_of_next = [&](Ids window, int32_t id) {
    window.push_back(0);
    Context forward(model->backend(), std::make_shared<Arena>(model->backend()));
    const Batch batch =
        BatchBuilder().teacher_forced_prefix(window, model->config().decoder_start_token).take();
    const auto logits =
        ops::logits(forward, model->states(batch, forward), model->output()).to_doubles(*model->backend());
    const std::span<const double> last =
        std::span(logits).last(static_cast<size_t>(model->config().target_vocab));
    double sum = 0;
    for (const double logit : last) sum += std::exp(logit);
    return last[static_cast<size_t>(id)] - std::log(sum);
  };
  const Generator generator(folder, {.threads = 1});
  const std::vector<std::string> prompts{"abcd abcd", "hg"};
  for (const GeneratedTexts& one :
       generator.generate(prompts, {.max_tokens = 100, .beam_size = 4, .samples = 4}))
    for (const GeneratedText& text : one.texts) {
      Ids ids = tokenizer->encode_text(prompts[one.index]);
      size_t window = 0;
      double sum = 0;
      for (const int32_t id : tokenizer->encode_text(text.text)) {
        if (ids.size() - window + 1 > context) window = ids.size() - context / 2;
        sum += log_probability_of_next(Ids(ids.begin() + static_cast<std::ptrdiff_t>(window), ids.end()), id);
        ids.push_back(id);
      }
      EXPECT_NEAR(text.log_probability, sum, 1e-3) << text.text;
      const std::vector<Prompt> begun{{.text = {}, .ids = Ids(ids.end() - 40, ids.end())}};
      const GenerateOptions options{.max_tokens = 5, .draw = {.temperature = 0}};
      EXPECT_EQ(generator.generate(begun, options)[0].texts[0].log_probability,
                Generator(folder, {.threads = 1}).generate(begun, options)[0].texts[0].log_probability);
    }
}

/// A text that repeats itself takes fewer steps. Where the model can't take guesses back there are none.
TEST_F(GeneratorTest, GuessesSaveSteps) {
  const auto steps = [](const std::string& folder, const GenerateOptions& options) {
    const Generator generator(folder, {.threads = 1});
    generator.generate(std::vector<std::string>{"abcabcabc"}, options);
    const auto counts = generator.counts().batch_fill.counts();
    return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
  };
  const GenerateOptions greedy{.max_tokens = 200, .draw = {.temperature = 0}};
  GenerateOptions off = greedy;
  off.draft_tokens = 0;
  write_small_language_model(folder_ / "long", 3, [](ModelConfig& config) { config.context_tokens = 0; });
  EXPECT_EQ(steps(folder_ / "long", off), 200u);
  EXPECT_LT(steps(folder_ / "long", greedy), 80u);
  write_small_language_model(folder_ / "ssru", 3,
                             [](ModelConfig& config) { config.decoder_mixer = MixerKind::ssru; });
  EXPECT_EQ(steps(folder_ / "ssru", greedy), 200u);
  off.draft_tokens = 4;
  EXPECT_NE(error_message([&] { steps(folder_ / "ssru", off); }).find("draft_tokens is 4, but"),
            std::string::npos);
  off.beam_size = 2;
  off.draw = {};
  EXPECT_NE(error_message([&] { steps(folder_ / "long", off); }).find("beam search does not support guesses"),
            std::string::npos);
}

}  // namespace
}  // namespace sixfold
