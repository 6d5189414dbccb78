#include "translate/translator.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "error_message.h"
#include "model/model_dir.h"
#include "temporary_folder.h"
#include "text/sample_text.h"
#include "text/tokenizers.h"

namespace sixfold {
namespace {

/// A folder with a model that has learnt nothing and the tokenizers of a small text.
class TranslatorTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder();
    TokenizerOptions options;
    options.vocab_size = 60;
    options.model = PieceModel::bpe;
    options.joint = false;
    const Tokenizers tokenizers = make_tokenizers(options, sample::english(), sample::german());
    save_tokenizers(tokenizers, folder_->path());
    ModelConfig config;
    config.d_model = 16;
    config.heads = 2;
    config.d_ff = 24;
    config.encoder_layers = 1;
    config.decoder_layers = 2;
    config.tied_embeddings = TiedEmbeddings::decoder;
    config.source_vocab = tokenizers.source->vocab_size();
    config.target_vocab = tokenizers.target->vocab_size();
    config.source_tokenizer_hash = tokenizers.source->hash();
    config.target_tokenizer_hash = tokenizers.target->hash();
    config.search.length_offset = 5;
    save_model(Transformer(config, make_cpu_backend(1), DType::f32, 7), folder_->path());
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }

  static std::string path() { return folder_->path(); }
  static std::vector<std::string> lines() {
    auto lines = sample::english();
    lines.insert(lines.begin() + 3, "");
    lines.insert(lines.begin() + 9, " \t\u3000 ");
    lines.push_back("");
    return lines;
  }

  static TemporaryFolder* folder_;
};

TemporaryFolder* TranslatorTest::folder_ = nullptr;

TEST_F(TranslatorTest, OneLineForEachInOrderWithAnyThreads) {
  const Translator alone(path(), 1), both(path(), 2);
  const auto all = alone.translate(lines());
  ASSERT_EQ(all.size(), lines().size());
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], alone.translate(lines()[i])) << i;
  EXPECT_EQ(both.translate(lines()), all);
  EXPECT_EQ(both.translate(lines(), {.batch_tokens = 40}), all);
  EXPECT_NE(all[0], all[1]);
  EXPECT_TRUE(alone.translate(std::vector<std::string>()).empty());

  std::vector<std::string> emitted;
  both.translate(lines(), {.batch_tokens = 64}, [&](size_t index, const std::string& line) {
    EXPECT_EQ(index, emitted.size());
    emitted.push_back(line);
  });
  EXPECT_EQ(emitted, all);
}

TEST_F(TranslatorTest, InInt8ToALineDependsOnItselfAlone) {
  const Translator alone(path(), 1, WeightType::int8), both(path(), 2, WeightType::int8);
  const auto all = alone.translate(lines());
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], alone.translate(lines()[i])) << i;
  EXPECT_EQ(both.translate(lines(), {.batch_tokens = 40}), all);
}

TEST_F(TranslatorTest, EmptyLinesStayEmpty) {
  const Translator translator(path(), 1);
  const auto all = translator.translate(lines());
  for (const size_t i : {size_t{3}, size_t{9}, all.size() - 1}) EXPECT_EQ(all[i], "");
  EXPECT_NE(all[0], "");
}

TEST_F(TranslatorTest, LongLinesAreCutWithAWarning) {
  const Translator translator(path(), 1);
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

TEST_F(TranslatorTest, InvalidTextIsTranslatedToo) {
  const Translator translator(path(), 1);
  EXPECT_EQ(translator.translate("A man \xff sees"), translator.translate("A man \uFFFD sees"));
}

TEST_F(TranslatorTest, TheBestOfNIsTheTranslation) {
  const Translator translator(path(), 2);
  const auto best = translator.translate(lines());
  size_t count = 0;
  translator.n_best(lines(), 3, {}, [&](size_t index, const std::vector<Translation>& n) {
    EXPECT_EQ(index, count++);
    EXPECT_EQ(n[0].text, best[index]);
    if (!best[index].empty()) {
      ASSERT_EQ(n.size(), 3u);
      EXPECT_GE(n[0].score, n[1].score);
      EXPECT_LT(n[0].score, 0);
    }
  });
  EXPECT_EQ(count, lines().size());
}

TEST_F(TranslatorTest, ThreadsMayShareIt) {
  const Translator translator(path(), 2);
  const auto expected = translator.translate(lines());
  std::vector<std::thread> threads;
  std::vector<std::vector<std::string>> results(3);
  for (auto& result : results) threads.emplace_back([&] { result = translator.translate(lines()); });
  for (auto& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_EQ(result, expected);
}

TEST_F(TranslatorTest, AnErrorOfTheReceiverComesOut) {
  const Translator translator(path(), 2);
  int calls = 0;
  const auto receive = [&](size_t index, const std::string&) {
    ++calls;
    if (index == 5) throw std::runtime_error("the pipe is closed");
  };
  EXPECT_THROW(translator.translate(lines(), {.batch_tokens = 40}, receive), std::runtime_error);
  EXPECT_EQ(calls, 6);
  EXPECT_EQ(translator.translate("").size(), 0u);
}

TEST_F(TranslatorTest, Attention) {
  const Translator translator(path(), 1);
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

TEST_F(TranslatorTest, RefusesATokenizerThatIsNotTheModels) {
  const TemporaryFolder other;
  std::filesystem::copy(path(), other.path(), std::filesystem::copy_options::recursive);
  std::filesystem::copy_file(path() + "/source.spm", other / "target.spm",
                             std::filesystem::copy_options::overwrite_existing);
  const std::string message = error_message([&] { Translator translator(other.path(), 1); });
  EXPECT_NE(message.find("the target tokenizer is not the one"), std::string::npos) << message;
  EXPECT_NE(message.find("target_tokenizer_hash"), std::string::npos) << message;
}

TEST_F(TranslatorTest, RefusesOptionsAndFoldersThatAreNone) {
  const Translator translator(path(), 1);
  const auto message = [&](const TranslateOptions& options) {
    return error_message([&] { translator.translate(lines(), options); });
  };
  EXPECT_NE(message({.beam_size = 0}).find("beam_size is 0"), std::string::npos);
  EXPECT_NE(message({.batch_tokens = -1}).find("batch_tokens is -1"), std::string::npos);
  EXPECT_NE(message({.max_source_length = 0}).find("max_source_length is 0"), std::string::npos);
  EXPECT_NE(error_message([&] { Translator none(path() + "/none", 1); }), "");
  EXPECT_NE(error_message([&] { Translator none(path(), -1); }).find("threads is -1"), std::string::npos);
}

}  // namespace
}  // namespace sixfold
