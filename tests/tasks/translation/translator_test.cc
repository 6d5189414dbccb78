#include "tasks/translation/translator.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

#include "base/threads.h"
#include "error_message.h"
#include "model_folder/model_folder.h"
#include "model_folder/provenance.h"
#include "program/small_model.h"
#include "tasks/translation/translator_fixture.h"

namespace sixfold {
namespace {

TEST_F(TranslatorTest, OneLineForEachInOrderWithAnyThreads) {
  const Translator alone(path(), {.threads = 1}), both(path(), {.threads = 2});
  const auto all = alone.translate(lines());
  ASSERT_EQ(all.size(), lines().size());
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], alone.translate(lines()[i])) << i;
  EXPECT_EQ(both.translate(lines()), all);
  EXPECT_EQ(both.translate(lines(), {.batch_tokens = 40}), all);
  EXPECT_NE(all[0], all[1]);
  EXPECT_TRUE(alone.translate(std::vector<std::string>()).empty());

  std::vector<std::string> emitted;
  both.translate(lines(), {.batch_tokens = 64}, [&](const TranslatedLine& line) {
    EXPECT_EQ(line.index, emitted.size());
    EXPECT_EQ(line.source, lines()[line.index]);
    emitted.push_back(line.translations[0].text);
  });
  EXPECT_EQ(emitted, all);
}

TEST_F(TranslatorTest, StartsNoMoreThreadsThanThereAreLines) {
  const auto running = [] {
    const std::filesystem::directory_iterator threads("/proc/self/task");
    return std::distance(begin(threads), end(threads));
  };
  const auto before = running();
  const Translator translator(path(), {.threads = 1000});
  const int lines = 3;
  translator.translate(std::vector<std::string>(lines, "A man sleeps."), {}, [](const TranslatedLine&) {});
  EXPECT_LE(running(),
            before + lines + available_threads());  // those of one batch, which all processors compute
}

TEST_F(TranslatorTest, InInt8ToALineDependsOnItselfAlone) {
  const Translator alone(path(), {.threads = 1, .weights = WeightType::int8}),
      both(path(), {.threads = 2, .weights = WeightType::int8});
  const auto all = alone.translate(lines());
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], alone.translate(lines()[i])) << i;
  EXPECT_EQ(both.translate(lines(), {.batch_tokens = 40}), all);
}

TEST_F(TranslatorTest, EmptyLinesStayEmpty) {
  const Translator translator(path(), {.threads = 1});
  const auto all = translator.translate(lines());
  for (const size_t i : {size_t{3}, size_t{9}, all.size() - 1}) EXPECT_EQ(all[i], "");
  EXPECT_NE(all[0], "");
}

TEST_F(TranslatorTest, LongLinesAreCutWithAWarning) {
  const Translator translator(path(), {.threads = 1});
  const auto pieces = load_tokenizers(path()).source;
  const std::string line = sample::english()[0];
  const auto ids = pieces->encode(line);
  const std::string cut = pieces->decode(std::span(ids).first(6));
  ASSERT_EQ(pieces->encode(cut).size(), 6u);
  testing::internal::CaptureStderr();
  const auto both = translator.translate({cut, line}, {.max_source_length = 6});
  const std::string warning = testing::internal::GetCapturedStderr();
  EXPECT_EQ(both[1], both[0]);
  EXPECT_NE(warning.find("warning: line 2: "), std::string::npos) << warning;
  EXPECT_NE(warning.find("cut to the first 6"), std::string::npos) << warning;
  EXPECT_EQ(warning.find("line 1"), std::string::npos) << warning;
  EXPECT_NE(translator.translate(line), both[1]);
}

/// What happened to a line is data.
TEST_F(TranslatorTest, TellsWhatWasCutAndWhereNoEndWasFound) {
  const Translator translator(path(), {.threads = 2});
  std::vector<TranslatedLine> all;
  testing::internal::CaptureStderr();
  translator.translate(lines(), {.max_source_length = 6},
                       [&](const TranslatedLine& line) { all.push_back(line); });
  testing::internal::GetCapturedStderr();
  const auto pieces = load_tokenizers(path()).source;
  size_t cut = 0, endless = 0;
  for (const TranslatedLine& line : all) {
    const size_t tokens = pieces->encode(line.source).size();
    EXPECT_EQ(line.tokens_cut, tokens > 6 ? tokens - 6 : 0) << line.source;
    cut += line.tokens_cut > 0;
    endless += line.translations[0].reason == FinishReason::forced_end;
  }
  EXPECT_GT(cut, 0u);
  EXPECT_GT(endless, 0u);  // the model has learnt nothing
}

TEST_F(TranslatorTest, InvalidTextIsTranslatedToo) {
  const Translator translator(path(), {.threads = 1});
  EXPECT_EQ(translator.translate("A man \xff sees"), translator.translate("A man \uFFFD sees"));
}

TEST_F(TranslatorTest, TheBestOfNIsTheTranslation) {
  const Translator translator(path(), {.threads = 2});
  const auto best = translator.translate(lines());
  size_t count = 0;
  translator.translate(lines(), {.n_best = 3}, [&](const TranslatedLine& line) {
    const auto& n = line.translations;
    EXPECT_EQ(line.index, count++);
    EXPECT_EQ(n[0].text, best[line.index]);
    if (!best[line.index].empty()) {
      ASSERT_EQ(n.size(), 3u);
      EXPECT_GE(n[0].score, n[1].score);
      EXPECT_LT(n[0].score, 0);
    }
  });
  EXPECT_EQ(count, lines().size());
}

TEST_F(TranslatorTest, ThreadsMayShareIt) {
  const Translator translator(path(), {.threads = 2});
  const auto expected = translator.translate(lines());
  std::vector<std::thread> threads;
  std::vector<std::vector<std::string>> results(3);
  for (auto& result : results) threads.emplace_back([&] { result = translator.translate(lines()); });
  for (auto& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_EQ(result, expected);
}

TEST_F(TranslatorTest, AnErrorOfTheReceiverComesOut) {
  const Translator translator(path(), {.threads = 2});
  int calls = 0;
  const auto receive = [&](const TranslatedLine& line) {
    ++calls;
    if (line.index == 5) throw std::runtime_error("the pipe is closed");
  };
  EXPECT_THROW(translator.translate(lines(), {.batch_tokens = 40}, receive), std::runtime_error);
  EXPECT_EQ(calls, 6);
  EXPECT_EQ(translator.translate("").size(), 0u);
}

/// Lines that come late, from a source that lets go of some and then says that there are none yet.
TEST_F(TranslatorTest, TranslatesAStream) {
  const Translator translator(path(), {.threads = 2});
  const auto expected = translator.translate(lines());
  size_t next = 0, asked = 0;
  std::vector<std::string> emitted;
  const LineSource source = [&](std::string& line, bool wait) {
    if (next == lines().size()) return NextLine::end;
    if (++asked % 5 == 0 || (!wait && asked % 2 == 0)) return NextLine::none_yet;
    line = lines()[next++];
    return NextLine::line;
  };
  translator.translate(source, {.batch_tokens = 60}, [&](const TranslatedLine& line) {
    EXPECT_EQ(line.index, emitted.size());
    emitted.push_back(line.translations[0].text);
  });
  EXPECT_EQ(emitted, expected);
}

TEST_F(TranslatorTest, TakesInABoundedNumberOfLinesAhead) {
  const Translator translator(path(), {.threads = 1});
  size_t taken = 0, out = 0, most = 0;
  const LineSource source = [&](std::string& line, bool) {
    if (taken == 20'000) return NextLine::end;
    line = "";
    most = std::max(most, ++taken - out);
    return NextLine::line;
  };
  translator.translate(source, {}, [&](const TranslatedLine&) { ++out; });
  EXPECT_EQ(out, 20'000u);
  EXPECT_LE(most, 4097u);
}

TEST_F(TranslatorTest, WhatCameBeforeAnErrorOfTheSourceIsTranslated) {
  const Translator translator(path(), {.threads = 2});
  size_t next = 0, emitted = 0;
  const LineSource source = [&](std::string& line, bool) {
    if (next == 7) throw std::runtime_error("the file ends in garbage");
    line = lines()[next++];
    return NextLine::line;
  };
  EXPECT_THROW(translator.translate(source, {}, [&](const TranslatedLine&) { ++emitted; }), std::runtime_error);
  EXPECT_EQ(emitted, 7u);
}

TEST_F(TranslatorTest, IsCancelled) {
  const Translator translator(path(), {.threads = 2});
  std::stop_source stop;
  TranslateOptions options{.batch_tokens = 40};
  options.cancel = stop.get_token();
  int calls = 0;
  EXPECT_THROW(translator.translate(lines(), options,
                                    [&](const TranslatedLine&) {
                                      if (++calls == 3) stop.request_stop();
                                    }),
               Cancelled);
  EXPECT_LT(calls, std::ssize(lines()));
  // From another thread, while it waits for a line that never comes.
  std::stop_source other;
  options.cancel = other.get_token();
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    other.request_stop();
  });
  const LineSource never = [](std::string&, bool) { return NextLine::none_yet; };
  EXPECT_THROW(translator.translate(never, options, [](const TranslatedLine&) {}), Cancelled);
  canceller.join();
}

/// 300 lines at batches of 1 token to all at once and one and two threads: the same text, and scores to the
/// bit.
TEST_F(TranslatorTest, TheSameAnswerAlways) {
  std::vector<std::string> text;
  for (int i = 0; i < 5; ++i)
    for (const auto& line : sample::english()) text.push_back(line.substr(static_cast<size_t>(i)));
  const auto all = [&](int threads, int64_t batch_tokens) {
    std::vector<std::pair<std::string, double>> found;
    Translator(path(), {.threads = threads})
        .translate(text, {.batch_tokens = batch_tokens, .n_best = 2}, [&](const TranslatedLine& line) {
          for (const Translation& t : line.translations) found.emplace_back(t.text, t.score);
        });
    return found;
  };
  const auto expected = all(1, 1);
  for (const int threads : {1, 2})
    for (const int64_t batch_tokens : {7, 640, 100'000}) EXPECT_EQ(all(threads, batch_tokens), expected);
}

TEST_F(TranslatorTest, ScoresGivenPairsAsItsOwn) {
  const Translator translator(path(), {.threads = 2});
  std::vector<std::string> sources, targets;
  std::vector<double> own;
  std::vector<bool> loops;
  translator.translate(lines(), {.details = {.tokens = true}}, [&](const TranslatedLine& line) {
    const Translation& best = line.translations[0];
    const auto target = load_tokenizers(path()).target;
    std::vector<std::string> pieces, said;
    for (const int32_t id : target->encode(best.text)) pieces.push_back(target->token_text(id));
    for (const auto& token : best.tokens) said.push_back(token.text);
    pieces.push_back("</s>");
    if (best.text.empty() || pieces != said) return;  // the same text may be made of other pieces
    sources.push_back(line.source);
    targets.push_back(best.text);
    own.push_back(best.log_probability);
    loops.push_back(best.faults.loops);
  });
  const auto given = translator.score(sample::english(), sample::german());
  const auto alone = translator.score(sample::english(), sample::german(), {.batch_tokens = 1});
  for (size_t i = 0; i < given.size(); ++i) {
    EXPECT_EQ(given[i].log_probability, alone[i].log_probability) << i;
    EXPECT_LT(given[i].log_probability, 0);
    EXPECT_EQ(given[i].tokens.back().text, "</s>");
  }
  for (const int64_t batch_tokens : {0, 1}) {
    const auto scored = translator.score(sources, targets, {.batch_tokens = batch_tokens});
    ASSERT_EQ(scored.size(), sources.size());
    for (size_t i = 0; i < scored.size(); ++i) {
      EXPECT_NEAR(scored[i].log_probability, own[i], 1e-4) << i;
      EXPECT_EQ(scored[i].faults.loops, loops[i]) << i;
    }
  }
  EXPECT_TRUE(translator.score({}, {}).empty());
  EXPECT_NE(error_message([&] { translator.score(lines(), {}); }).find("0 targets"), std::string::npos);
}

TEST_F(TranslatorTest, TextThatIsTooLongForTheModelIsNamedByItsLine) {
  const TemporaryFolder folder;
  std::filesystem::copy(path(), folder.path(), std::filesystem::copy_options::recursive);
  ModelConfig config = load_model_config(path());
  config.positions = Positions::learned;
  config.beyond_positions = BeyondPositions::error;
  config.max_positions = 20;
  save_model(Transformer(config, make_backend(), DType::f32, 7), folder.path());
  const Translator translator(folder.path(), {.threads = 2});
  const std::vector<std::string> texts{"a", sample::english()[0] + sample::english()[1] + sample::english()[2]};
  const auto message = [&](const auto& sources, const auto& targets) {
    return error_message([&] { translator.score(sources, targets, {.first_line = 7}); });
  };
  const std::vector<std::string> short_texts{"a", "b"};
  for (const std::string& text : {message(texts, short_texts), message(short_texts, texts)})
    EXPECT_TRUE(text.starts_with("line 8 has ") && text.find("max_positions") != std::string::npos) << text;
  EXPECT_NO_THROW(translator.score(short_texts, short_texts));
}

TEST_F(TranslatorTest, ParagraphsAreTranslatedBySentences) {
  const Translator translator(path(), {.threads = 2});
  const std::string one = "A man sees a red house.", two = "Nobody likes two horses.";
  const auto split = translator.translate({one + "  " + two, "", one}, {.split_sentences = "en"});
  EXPECT_EQ(split[0], translator.translate(one) + "  " + translator.translate(two));
  EXPECT_EQ(split[1], "");
  EXPECT_EQ(split[2], translator.translate(one));
  EXPECT_NE(error_message([&] {
              translator.translate({one}, {.split_sentences = "en", .details = {.tokens = true}});
            }).find("paragraphs"),
            std::string::npos);
  std::vector<std::vector<std::string>> best;  // of each sentence, then of both
  for (const std::string& text : {one, two, one + "  " + two})
    translator.translate({text}, {.split_sentences = "en", .n_best = 2}, [&](const TranslatedLine& line) {
      best.emplace_back();
      for (const Translation& translation : line.translations) best.back().push_back(translation.text);
    });
  for (const size_t rank : {0, 1}) EXPECT_EQ(best[2].at(rank), best[0].at(rank) + "  " + best[1].at(rank));
  EXPECT_NE(
      error_message([&] { translator.translate({one}, {.split_sentences = "qqq"}); }).find("unknown language"),
      std::string::npos);
}

TEST_F(TranslatorTest, RefusesATokenizerThatIsNotTheModels) {
  const TemporaryFolder other;
  std::filesystem::copy(path(), other.path(), std::filesystem::copy_options::recursive);
  std::filesystem::copy_file(path() + "/source.spm", other / "target.spm",
                             std::filesystem::copy_options::overwrite_existing);
  const std::string message = error_message([&] { Translator translator(other.path(), {.threads = 1}); });
  EXPECT_NE(message.find("the target tokenizer is not the one"), std::string::npos) << message;
  EXPECT_NE(message.find("target_tokenizer_hash"), std::string::npos) << message;
}

/// The settings of a call take the place of those of the model.
TEST_F(TranslatorTest, SearchesAsTheCallSays) {
  const Translator translator(path(), {.threads = 2});
  const std::string shortlist;
  const auto with = [&](const auto& change, TranslateOptions options = {}) {
    GenerationConfig settings = translator.generation();
    change(settings);
    options.generation = settings;
    std::vector<TranslatedLine> found;
    translator.translate(lines(), options, [&](const TranslatedLine& line) { found.push_back(line); });
    return found;
  };
  const auto texts = [](const std::vector<TranslatedLine>& found) {
    std::vector<std::string> all;
    for (const TranslatedLine& line : found) all.push_back(line.translations[0].text);
    return all;
  };
  EXPECT_EQ(texts(with([](GenerationConfig&) {})), translator.translate(lines()));
  EXPECT_EQ(texts(with([](GenerationConfig& o) { o.beam_size = 1; })),
            translator.translate(lines(), {.beam_size = 1}));
  EXPECT_NE(texts(with([](GenerationConfig& o) { o.max_new_tokens = 2; })), translator.translate(lines()));
  for (const TranslatedLine& line :
       with([](GenerationConfig& o) { o.max_new_tokens = 2; }, {.details = {.tokens = true}}))
    EXPECT_LE(line.translations[0].tokens.size(), 2u);
  for (const TranslatedLine& line :
       with([](GenerationConfig& o) { o.word_penalty = 0.5f, o.normalization = ScoreNormalization::none; },
            {.details = {.tokens = true}})) {
    const Translation& best = line.translations[0];
    EXPECT_NEAR(best.score, best.log_probability - 0.5 * static_cast<double>(best.tokens.size()), 1e-4)
        << line.source;
  }
}

TEST_F(TranslatorTest, RefusesOptionsAndFoldersThatAreNone) {
  const Translator translator(path(), {.threads = 1});
  const auto message = [&](const TranslateOptions& options) {
    return error_message([&] { translator.translate(lines(), options); });
  };
  EXPECT_NE(message({.beam_size = 0}).find("beam_size: expected a whole number from 1 to 1000"),
            std::string::npos);
  EXPECT_NE(message({.batch_tokens = -1}).find("batch_tokens: expected a whole number at least 0"),
            std::string::npos);
  EXPECT_NE(message({.max_source_length = 0}).find("max_source_length: expected a whole number at least 1"),
            std::string::npos);
  const std::vector<std::string> one{"a"};
  EXPECT_NE(error_message([&] {
              translator.score(one, one, {.max_source_length = 0});
            }).find("max_source_length: expected"),
            std::string::npos);
  GenerationConfig settings = translator.generation();
  settings.suppress_tokens = {100'000};
  EXPECT_NE(message({.generation = settings})
                .find("generation.suppress_tokens: the id 100000 is not in the vocabulary"),
            std::string::npos);
  settings = translator.generation();
  settings.repetition_penalty = 2, settings.renormalize_logits = true;
  EXPECT_NE(message({.generation = settings}).find("repetition_penalty is 2 and renormalize_logits is true"),
            std::string::npos);
  EXPECT_NE(error_message([&] { Translator none(path() + "/none", {.threads = 1}); }), "");
  EXPECT_NE(error_message([&] { Translator none(path(), {.threads = -1}); }).find("threads is -1"),
            std::string::npos);
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

/// A folder that version 0.1.0 wrote, and what it translated (tests/goldens/model_0_1_0).
TEST(ModelOfVersion010, OpensAndTranslatesAsItDid) {
  const std::string folder = SIXFOLD_TEST_GOLDENS "/model_0_1_0";
  const ModelConfig config = load_model_config(folder);
  EXPECT_EQ(config.task, "translation");
  EXPECT_EQ(config.decoder_start_token, 1);
  EXPECT_EQ(config.postprocess_top, std::vector{ProcessStep::norm});
  EXPECT_EQ(config.postprocess_embedding, (std::vector{ProcessStep::norm, ProcessStep::dropout}));
  EXPECT_EQ(config.generation.beam_size, 3);
  EXPECT_EQ(config.generation.length_penalty, 0.8f);
  EXPECT_EQ(config.generation.stopping_criterion, StoppingCriterion::beam_finished);
  EXPECT_EQ(config.generation.suppress_tokens, std::vector{0});
  EXPECT_EQ(config.generation.at_longest, AtLongest::cut);
  EXPECT_EQ(Translator(folder, {.threads = 1}).translate(lines_of(folder + ".source.txt")),
            lines_of(folder + ".target.txt"));
  EXPECT_FALSE(describe_provenance(folder).empty()) << "its history.json is read";
}

}  // namespace
}  // namespace sixfold
