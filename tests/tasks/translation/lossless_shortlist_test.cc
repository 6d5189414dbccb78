#include "tasks/translation/lossless_shortlist.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "model_folder/config_file.h"
#include "search/random_model.h"
#include "tasks/translation/task.h"
#include "temporary_folder.h"
#include "text/whitespace.h"
#include "train/trainer.h"

namespace sixfold {
namespace {

constexpr int vocab = 1000;

std::string numbered_words() {
  std::string words = "<unk>\n<s>\n</s>\n";
  for (int id = 3; id < vocab; ++id) words += "w" + std::to_string(id) + "\n";
  return words;
}

/// A model that has learnt nothing, whose own translations are the references.
class LosslessShortlist : public testing::Test {
 protected:
  LosslessShortlist() {
    options_.rules.beam_size = 1;
    options_.rules.length_offset = 6;
    std::vector<MeasuredLine> lines;
    for (const auto& source : sources_) lines.push_back({lines.size(), source});
    for (const Hypothesis& output : translations_of(model_, lines, options_, nullptr))
      outputs_.push_back(output.ids);
  }
  ReferencedText text(size_t lines) const {
    return {lines, [this](size_t line) { return sources_[line]; },
            [this](size_t line) { return tokenizer_->decode(outputs_[line]); }};
  }
  std::optional<Shortlist> learned_from(const std::vector<std::vector<int32_t>>& targets, size_t lines) const {
    TokenCorpus train{.source = {}, .target = {}, .target_eos = model_.config().target_ends().eos};
    for (size_t i = 0; i < sources_.size(); ++i) train.source.add(sources_[i]), train.target.add(targets[i]);
    return lossless_shortlist(model_, *tokenizer_, train, text(lines), options_, nullptr);
  }

  RandomModel model_{vocab, 4};
  std::shared_ptr<const Tokenizer> tokenizer_ = load_whitespace(numbered_words(), "words");
  std::vector<std::vector<int32_t>> sources_ = random_sources(300, 7, vocab, 2), outputs_;
  SearchOptions options_;
};

TEST_F(LosslessShortlist, OfPairsLikeTheTextIsTheSmallest) {
  testing::internal::CaptureStderr();
  const auto shortlist = learned_from(outputs_, sources_.size());
  const std::string log = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(shortlist) << log;
  EXPECT_EQ(shortlist->common().size(), 100u);
  EXPECT_NE(log.find("BLEU 100.0 instead of 100.0, chrF 100.0 instead of 100.0: kept"), log.npos) << log;
}

/// The translations are not among what is learned from other pairs, and lists that have them are too long.
TEST_F(LosslessShortlist, OfOtherPairsIsNone) {
  const std::vector<std::vector<int32_t>> others(sources_.size(), {5, 6, 7});
  testing::internal::CaptureStderr();
  EXPECT_FALSE(learned_from(others, sources_.size()));
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("not kept"), log.npos) << log;
  EXPECT_NE(log.find("the model has no shortlist"), log.npos) << log;
}

TEST_F(LosslessShortlist, OfFewLinesIsNone) {
  testing::internal::CaptureStderr();
  EXPECT_FALSE(learned_from(outputs_, 199));
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("needs 200 lines of validation text; found 199"), log.npos) << log;
}

/// A list can't be seen to lose what is not there.
TEST_F(LosslessShortlist, OfTranslationsThatAreAllWrongIsNone) {
  for (auto& output : outputs_) output = {0};  // the references: unknown tokens, which no translation has
  testing::internal::CaptureStderr();
  EXPECT_FALSE(learned_from(sources_, sources_.size()));
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("nothing in common with the references"), log.npos) << log;
}

TEST_F(LosslessShortlist, StopsWhenItIsAsked) {
  const std::atomic<int> stop{1};
  TokenCorpus none;
  EXPECT_THROW(lossless_shortlist(model_, *tokenizer_, none, text(300), options_, &stop), Cancelled);
}

/// The forecasts grow with the pairs of tokens, up to as many as are read, whatever the size of the text.
TEST_F(LosslessShortlist, ForecastsTimeAndMemory) {
  const auto corpus = [](int pairs) {
    TokenCorpus train;
    const std::vector<int32_t> ids(39, 5);
    for (int i = 0; i < pairs; ++i) train.source.add(ids), train.target.add(ids);
    return train;
  };
  const TokenCorpus small = corpus(100), larger = corpus(200), large = corpus(20'000), largest = corpus(40'000);
  const auto tokens = [&](const TokenCorpus& train) { return shortlist_tokens(train, text(300), 4); };
  EXPECT_EQ(shortlist_bytes(larger), 2 * shortlist_bytes(small));
  EXPECT_EQ(shortlist_bytes(largest), shortlist_bytes(large));
  EXPECT_LE(shortlist_bytes(largest), 200'000'000);
  EXPECT_GE(tokens(small), 4 * translation_tokens(text(300), 4));
  EXPECT_GT(tokens(large), tokens(small) + 100'000);
  EXPECT_EQ(tokens(largest), tokens(large));
  EXPECT_EQ(shortlist_tokens(large, text(199), 4), 0);
}

/// Lines of many words, and lines that begin with three words that all have, which is what a model soon learns.
std::string numbered_lines(const std::vector<std::vector<int32_t>>& lines, char language) {
  std::string text;
  for (const auto& ids : lines) {
    if (language == 'b') text += "then there is ";
    for (const int32_t id : ids) text += language + std::to_string(id) + " ";
    text.back() = '\n';
  }
  return text;
}

TEST(ShortlistOfARun, IsKeptWithTheModelWhereTheConfigAsks) {
  const TemporaryFolder folder;
  const auto lines = random_sources(900, 6, vocab, 3);
  for (const char language : {'a', 'b'}) {
    const std::string text = numbered_lines(lines, language);
    write_file_atomically(folder / std::string{'t', '.', language}, text);
    size_t half = 0;
    for (int line = 0; line < 300; ++line) half = text.find('\n', half) + 1;
    write_file_atomically(folder / std::string{'v', '.', language}, text.substr(0, half));
  }
  write_file_atomically(folder / "config.yaml", R"(
model: {d_model: 16, d_ff: 16, heads: 2, encoder_layers: 1, decoder_layers: 1}
tokenizer: {kind: whitespace, vocab_size: 0}
data: {batch_tokens: 1000}
train: {updates: 60, threads: 1, precision: fp32}
schedule: {kind: constant, learning_rate: 1e-2, warmup: 20}
validation: {every_updates: 1000, metrics: [loss], best_by: loss}
)");
  for (const bool asked : {false, true}) {
    const std::string run = folder / (asked ? "asked" : "plain");
    train(TranslationConfig(read_translation_options(
              folder / "config.yaml", {"data.train=" + (folder / "t.a") + "," + (folder / "t.b"),
                                       "data.valid=" + (folder / "v.a") + "," + (folder / "v.b"),
                                       std::string("data.shortlist=") + (asked ? "true" : "false")})),
          {.run = run});
    const std::string path = run + "/model/" + Shortlist::file_name;
    ASSERT_EQ(std::filesystem::exists(path), asked);
    if (asked) {
      EXPECT_EQ(load_shortlist(path, load_model_config(run + "/model")).common().size(), 100u);
    }
  }
}

}  // namespace
}  // namespace sixfold
