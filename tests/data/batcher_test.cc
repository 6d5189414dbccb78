#include "data/batcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "data/batch_stream.h"
#include "data/pair_dataset.h"
#include "error_message.h"
#include "ops/same_batch.h"

namespace sixfold {
namespace {

// Pair i has `source[i]` source tokens with the end symbol and `target[i]` with it; its ids tell the pair.
PairDataset corpus_of(const std::vector<int>& source, const std::vector<int>& target) {
  TokenCorpus corpus;
  for (size_t i = 0; i < source.size(); ++i) {
    std::vector<int32_t> ids(source[i], static_cast<int32_t>(10 + i));
    ids.back() = 2;
    corpus.source.add(ids);
    corpus.target.add(std::vector<int32_t>(target[i] - 1, static_cast<int32_t>(10 + i)));
  }
  return {corpus, {}, {}, ""};
}

PairDataset many_pairs(int count = 500) {
  std::vector<int> source, target;
  for (int i = 0; i < count; ++i) {
    source.push_back(2 + i * 37 % 41);
    target.push_back(2 + i * 53 % 29);
  }
  return corpus_of(source, target);
}

std::vector<Batch> epoch_of(Batcher& batcher) {
  std::vector<Batch> batches;
  for (const int64_t epoch = batcher.position().epoch; batcher.position().epoch == epoch;)
    batches.push_back(batcher.next());
  return batches;
}

std::vector<int32_t> sentence_order(const std::vector<Batch>& batches) {
  std::vector<int32_t> order;
  for (const Batch& batch : batches) order.insert(order.end(), batch.samples.begin(), batch.samples.end());
  return order;
}

TEST(Batcher, PacksPairs) {
  TokenCorpus corpus;
  corpus.source.add(std::vector<int32_t>{5, 6, 2});
  corpus.target.add(std::vector<int32_t>{7});
  corpus.source.add(std::vector<int32_t>{8, 2});
  corpus.target.add(std::vector<int32_t>{9, 5});
  const PairDataset data(corpus, {}, {.start = 1, .eos = 2}, "");
  const Batch batch = Batcher(data, {.batch_tokens = 100, .shuffle = false}).next();
  EXPECT_EQ(batch.source.ids, (std::vector<int32_t>{5, 6, 2, 8, 2}));
  EXPECT_EQ(batch.source.rows.offsets, (std::vector<int32_t>{0, 3, 5}));
  EXPECT_EQ(batch.target.ids, (std::vector<int32_t>{1, 7, 1, 9, 5}));
  EXPECT_EQ(batch.labels, (std::vector<int32_t>{7, 2, 9, 5, 2}));
  EXPECT_EQ(batch.target.rows.offsets, (std::vector<int32_t>{0, 2, 5}));
  EXPECT_EQ(batch.samples, (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(batch.source.rows.tokens(), 5);
  EXPECT_EQ(batch.target.rows.tokens(), 5);
  EXPECT_EQ(batch.tokens(), 10);
  EXPECT_EQ(batch.loss_weight(), 5);
}

TEST(Batcher, BudgetCountsRealTokensOfBothSides) {
  const PairDataset corpus = corpus_of({3, 3, 4, 20, 2, 2}, {2, 2, 2, 9, 2, 2});
  Batcher batcher(corpus, {.batch_tokens = 11, .shuffle = false});
  EXPECT_EQ(batcher.batches_in_epoch(), 4);
  std::vector<std::vector<int32_t>> sentences;
  for (const Batch& batch : epoch_of(batcher)) sentences.push_back(batch.samples);
  EXPECT_EQ(sentences, (std::vector<std::vector<int32_t>>{{0, 1}, {2}, {3}, {4, 5}}));
}

TEST(Batcher, EveryPairOnceAnEpochWithinTheBudget) {
  const PairDataset corpus = many_pairs();
  for (const bool shuffle : {false, true})
    for (const int max_samples : {0, 1, 7}) {
      Batcher batcher(corpus, {.batch_tokens = 300, .max_samples = max_samples, .shuffle = shuffle});
      for (int epoch = 0; epoch < 2; ++epoch) {
        const auto batches = epoch_of(batcher);
        if (epoch == 0) {
          EXPECT_EQ(std::ssize(batches), batcher.batches_in_epoch());
        }
        for (const Batch& batch : batches) {
          EXPECT_LE(batch.tokens(), 300);
          if (max_samples > 0) {
            EXPECT_LE(batch.size(), max_samples);
          }
        }
        auto order = sentence_order(batches);
        EXPECT_EQ(std::is_sorted(order.begin(), order.end()), !shuffle);
        std::sort(order.begin(), order.end());
        std::vector<int32_t> all(static_cast<size_t>(corpus.size()));
        std::iota(all.begin(), all.end(), 0);
        EXPECT_EQ(order, all);
      }
    }
}

TEST(Batcher, OrderIsAFunctionOfSeedAndEpoch) {
  const PairDataset corpus = many_pairs();
  const auto order = [&](uint64_t seed, int64_t epoch) {
    Batcher batcher(corpus, {.batch_tokens = 200, .seed = seed});
    batcher.seek({epoch, 0});
    return sentence_order(epoch_of(batcher));
  };
  EXPECT_EQ(order(1, 0), order(1, 0));
  EXPECT_NE(order(1, 0), order(2, 0));
  EXPECT_NE(order(1, 0), order(1, 1));
}

TEST(Batcher, OrderIsTheSameOnEveryMachine) {
  const PairDataset corpus = many_pairs(8);
  Batcher batcher(corpus, {.seed = 7});
  EXPECT_EQ(sentence_order(epoch_of(batcher)), (std::vector<int32_t>{3, 1, 0, 2, 6, 7, 5, 4}));
  EXPECT_EQ(sentence_order(epoch_of(batcher)), (std::vector<int32_t>{6, 1, 2, 3, 5, 4, 7, 0}));
}

TEST(Batcher, GoesOnFromAnyPosition) {
  const PairDataset corpus = many_pairs(100);
  const BatcherOptions options{.batch_tokens = 250, .seed = 3};
  Batcher whole(corpus, options);
  std::vector<Batcher::Position> positions;
  std::vector<Batch> batches;
  while (whole.position().epoch < 3) {
    positions.push_back(whole.position());
    batches.push_back(whole.next());
  }
  for (size_t i = 0; i < positions.size(); ++i) {
    Batcher resumed(corpus, options);
    resumed.seek(positions[i]);
    EXPECT_EQ(resumed.position(), positions[i]);
    for (size_t j = i; j < std::min(i + 3, batches.size()); ++j) expect_equal(resumed.next(), batches[j]);
  }
}

TEST(Batcher, KnowsTheEpochOfTheLastPair) {
  const PairDataset corpus = many_pairs(100);
  Batcher batcher(corpus, {.batch_tokens = 250, .seed = 3});
  EXPECT_EQ(batcher.position().last_epoch(), 1);
  for (int64_t epoch = 0; epoch < 3; ++epoch)
    while (batcher.position().epoch == epoch) {
      batcher.next();
      EXPECT_EQ(batcher.position().last_epoch(), epoch + 1);
    }
}

TEST(Batcher, AStreamGivesTheSameBatchesInParts) {
  const PairDataset corpus = many_pairs(100);
  const BatcherOptions options{.batch_tokens = 250, .seed = 3};
  Batcher alone(corpus, options), ahead(corpus, options);
  BatchStream stream(ahead, 100);
  for (int i = 0; i < 40; ++i) {
    const auto parts = split(alone.next(), 100);
    const BatchStream::Next next = stream.next();
    EXPECT_EQ(next.after, alone.position());
    ASSERT_EQ(next.batch.shards.size(), 1u);
    const std::vector<Batch>& shard = next.batch.shards[0];
    ASSERT_EQ(shard.size(), parts.size());
    for (size_t part = 0; part < parts.size(); ++part) expect_equal(shard[part], parts[part]);
  }
}

/// Each process makes its own shards alone, and all know what the whole batch counts.
TEST(Batcher, StreamsOfSeveralProcessesShareTheShardsOfABatch) {
  const PairDataset corpus = many_pairs(100);
  const BatcherOptions options{.batch_tokens = 250, .seed = 3};
  Batcher alone(corpus, options), whole(corpus, options), left(corpus, options), right(corpus, options);
  BatchStream all(whole, 60, {.count = 5, .begin = 0, .end = 5}),
      first(left, 60, {.count = 5, .begin = 0, .end = 2}),
      second(right, 60, {.count = 5, .begin = 2, .end = 5});
  for (int i = 0; i < 20; ++i) {
    const Batch batch = alone.next();
    const UpdateBatch wanted = all.next().batch, a = first.next().batch, b = second.next().batch;
    ASSERT_EQ(wanted.shards.size(), 5u);
    ASSERT_EQ(a.shards.size(), 2u);
    ASSERT_EQ(b.shards.size(), 3u);
    std::vector<int32_t> samples;
    for (size_t s = 0; s < 5; ++s) {
      const std::vector<Batch>& own = s < 2 ? a.shards[s] : b.shards[s - 2];
      ASSERT_EQ(own.size(), wanted.shards[s].size());
      for (size_t part = 0; part < own.size(); ++part) {
        expect_equal(own[part], wanted.shards[s][part]);
        EXPECT_TRUE(own[part].tokens() <= 60 || own[part].size() == 1);
        samples.insert(samples.end(), own[part].samples.begin(), own[part].samples.end());
      }
    }
    EXPECT_EQ(samples, batch.samples);
    for (const UpdateBatch& update : {wanted, a, b}) {
      EXPECT_EQ(update.tokens, batch.tokens());
      EXPECT_EQ(update.loss_weight, batch.loss_weight());
    }
  }
}

/// Each batch comes once for each shard, and knows what the whole update counts.
TEST(Batcher, AnUpdateOfSeveralBatchesHoldsOneOfThem) {
  const PairDataset corpus = many_pairs(100);
  const BatcherOptions options{.batch_tokens = 250, .seed = 3};
  Batcher alone(corpus, options), streamed(corpus, options);
  const ShardRange shards{.count = 3, .begin = 1, .end = 3};
  BatchStream stream(streamed, 60, shards, 4);
  for (int u = 0; u < 10; ++u) {
    std::vector<Batch> batches;
    double loss_weight = 0;
    for (int i = 0; i < 4; ++i) {
      batches.push_back(alone.next());
      loss_weight += batches.back().loss_weight();
    }
    Update update(stream);
    ASSERT_EQ(update.shards(), 2);
    ASSERT_EQ(update.batches(), 4);
    for (size_t shard = 0; shard < 2; ++shard)
      for (int64_t i = 0; i < 4; ++i) {
        std::vector<int32_t> samples;
        for (const Batch& part : update.batch(i).shards[shard])
          samples.insert(samples.end(), part.samples.begin(), part.samples.end());
        EXPECT_EQ(samples, divide(batches[static_cast<size_t>(i)], 3)[shard + 1].samples);
        EXPECT_EQ(update.loss_weight(), loss_weight);
      }
    EXPECT_EQ(update.after(), alone.position());
  }
}

TEST(Batcher, ShardsHaveAboutEquallyManyTokens) {
  const PairDataset corpus = many_pairs(100);
  Batcher batcher(corpus, {.batch_tokens = 500, .seed = 3});
  for (int i = 0; i < 20; ++i) {
    const Batch batch = batcher.next();
    int64_t longest = 0;
    for (const Batch& one : split(batch, 1)) longest = std::max(longest, one.tokens());
    for (const int count : {1, 2, 3, 7}) {
      const std::vector<Batch> shards = divide(batch, count);
      ASSERT_EQ(shards.size(), static_cast<size_t>(count));
      for (const Batch& shard : shards) EXPECT_LE(std::abs(shard.tokens() - batch.tokens() / count), longest);
    }
  }
  const Batch one = split(batcher.next(), 1).front();
  int whole = 0;
  for (const Batch& shard : divide(one, 4)) whole += shard.size();
  EXPECT_EQ(whole, 1);
}

TEST(Batcher, PlacesThatAreNotThereAreErrors) {
  const PairDataset corpus = many_pairs(10);
  Batcher batcher(corpus, {.batch_tokens = 100});
  EXPECT_THROW(batcher.seek({-1, 0}), Error);
  EXPECT_THROW(batcher.seek({0, -1}), Error);
  EXPECT_EQ(error_message([&] {
              batcher.seek({1, 10});
            }),
            "the checkpoint is at sample 11 of epoch 2, but an epoch of these data has only 10 samples, so "
            "they are not "
            "those that the run began with; restore those data, or start a new run");
  EXPECT_GT(batcher.next().size(), 0);
}

TEST(Batcher, OptionsOutOfRangeAreErrors) {
  const PairDataset corpus = many_pairs(10), nothing({}, {}, {}, "");
  EXPECT_THROW(Batcher(nothing, {}), Error);
  EXPECT_THROW(Batcher(corpus, {.batch_tokens = 0}), Error);
  EXPECT_THROW(Batcher(corpus, {.batch_tokens = int64_t{1} << 31}), Error);
  EXPECT_THROW(Batcher(corpus, {.max_samples = -1}), Error);
}

}  // namespace
}  // namespace sixfold
