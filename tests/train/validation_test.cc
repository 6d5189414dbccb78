#include "train/validation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "train/copying.h"

namespace sixfold {
namespace {

TEST(Validation, ABetterScoreIsLowerOrHigher) {
  EXPECT_TRUE(is_better({2}, 3.0));
  EXPECT_FALSE(is_better({3}, 3.0));
  EXPECT_FALSE(is_better({4}, 3.0));
  EXPECT_TRUE(is_better({4, /*higher_is_better=*/true}, 3.0));
  EXPECT_FALSE(is_better({2, true}, 3.0));
  EXPECT_TRUE(is_better({2, true}, std::nullopt));
  for (const std::optional<double> best : {std::optional<double>(), std::optional(3.0)})
    for (const double value : {NAN, INFINITY, -INFINITY}) EXPECT_FALSE(is_better({value, true}, best));
}

/// The loss is that of a label, however the data are cut into batches; the task's scores stand beside it.
TEST(Validation, MeasuresLossAndTheTasksScores) {
  CopyingOptions options;
  options.model.d_model = 8, options.model.d_ff = 8, options.model.heads = 2;
  options.model.encoder_layers = 1, options.model.decoder_layers = 0;
  options.model.tied_embeddings = TiedEmbeddings::none;
  const Copying task(options);
  const std::shared_ptr<Backend> backend = make_backend({.device = "reference"});
  Transformer model(task.model_config(), backend, DType::f32, 1);
  const auto arena = std::make_shared<Arena>(backend);
  const Scores whole =
      validate_model(task, model, {.batch_tokens = 1000}, 0, {.part_tokens = 0, .arena = arena}).scores;
  const Scores parts =
      validate_model(task, model, {.batch_tokens = 1000}, 0, {.part_tokens = 7, .arena = arena}).scores;
  EXPECT_NEAR(whole.at("loss").value, std::log(10), 1);
  EXPECT_NEAR(parts.at("loss").value, whole.at("loss").value, 1e-6);
  EXPECT_EQ(whole.at("perplexity").value, std::exp(whole.at("loss").value));
  EXPECT_FALSE(whole.at("perplexity").higher_is_better);
  EXPECT_TRUE(whole.at("accuracy").higher_is_better);
}

}  // namespace
}  // namespace sixfold
