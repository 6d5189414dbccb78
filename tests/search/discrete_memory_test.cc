// A model and the search over it on a backend whose memory the host can't touch: whatever the host reads or
// writes there by itself faults, and what it gives a kernel of its own memory is refused.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "discrete_backend.h"
#include "model/attention_weights.h"
#include "model_folder/derived.h"
#include "model_folder/model_folder.h"
#include "runtime/search.h"
#include "search/random_model.h"
#include "search/scoring.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

constexpr int small_vocab = 11;

std::vector<std::vector<Hypothesis>> translate(const Transformer& model, const SearchOptions& options) {
  const auto sources = random_sources(12, 7, small_vocab, 5);
  std::vector<std::vector<Hypothesis>> results(sources.size());
  const DecodeWorkspace decoding(model, model.backend()->sibling());
  search(decoding, sources, options,
         [&](size_t index, std::vector<Hypothesis> best) { results[index] = std::move(best); });
  return results;
}

void expect_same_translations(const Transformer& host, const Transformer& device,
                              const SearchOptions& options) {
  const auto expected = translate(host, options), actual = translate(device, options);
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(actual[i].size(), expected[i].size());
    for (size_t j = 0; j < expected[i].size(); ++j) {
      EXPECT_EQ(actual[i][j].ids, expected[i][j].ids);
      EXPECT_EQ(actual[i][j].log_probability, expected[i][j].log_probability);
    }
  }
}

/// Greedy and beam search, over all symbols and some, with rules for the next one.
void expect_same_searches(const Transformer& host, const Transformer& device) {
  const Shortlist shortlist({3, 4, 5, 6, 8}, {});
  for (const int beam : {1, 4})
    for (const Shortlist* some : {static_cast<const Shortlist*>(nullptr), &shortlist}) {
      SearchOptions options{.n_best = beam, .batch_tokens = 40, .shortlist = some};
      options.rules.beam_size = beam;
      options.rules.suppress_tokens = {0, 5};
      options.rules.length_offset = 4;
      expect_same_translations(host, device, options);
      options.rules.min_new_tokens = 2;
      options.rules.renormalize_logits = true;
      expect_same_translations(host, device, options);
    }
}

std::shared_ptr<Backend> reference() { return make_backend({.device = "reference"}); }
std::shared_ptr<Backend> discrete() { return std::make_shared<DiscreteBackend>(); }

TEST(DiscreteMemory, SearchGivesTheSame) {
  expect_same_searches(RandomModel(small_vocab, 3, reference()), RandomModel(small_vocab, 3, discrete()));
}

TEST(DiscreteMemory, ScoresAndAttentionAreTheSame) {
  const RandomModel host(small_vocab, 3, reference()), device(small_vocab, 3, discrete());
  const auto sources = random_sources(5, 7, small_vocab, 5);
  const std::vector<std::vector<int32_t>> targets{{4, 5}, {}, {3}, {6, 7, 8}, {9}};
  EXPECT_EQ(score_targets(device, sources, targets, 20), score_targets(host, sources, targets, 20));
  BatchBuilder builder;
  builder.sample(0).source(sources[0]).teacher_forced(targets[0], host.config().target_ends());
  const Batch batch = builder.take();
  const auto weights = [&](const Transformer& model) {
    Context context(model.backend(), std::make_shared<Arena>(model.backend()));
    return attention_weights(model, batch, AttentionKind::cross, 1, context);
  };
  EXPECT_EQ(weights(device), weights(host));
}

// A mapped file is the model's own memory only where that is the host's.
TEST(DiscreteMemory, ModelFoldersAreReadAndWritten) {
  const TemporaryFolder folder;
  const std::string full = folder / "full", small = folder / "int8", copy = folder / "copy";
  std::filesystem::create_directory(full);
  std::filesystem::create_directory(copy);
  save_model(RandomModel(small_vocab, 3, discrete()), full);
  quantize_model(full, small);
  for (const auto& [path, type] :
       {std::pair(full, WeightType::stored), {full, WeightType::int8}, {small, WeightType::stored}}) {
    const auto host = load_model(path, reference(), DType::f32, type),
               device = load_model(path, discrete(), DType::f32, type);
    host->pack();
    device->pack();
    expect_same_searches(*host, *device);
    save_model(*device, copy);
    EXPECT_EQ(read_file(copy + "/model.safetensors"),
              read_file((type == WeightType::int8 ? small : path) + "/model.safetensors"));
  }
}

}  // namespace
}  // namespace sixfold
