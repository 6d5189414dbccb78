#include "ops/batch.h"

#include <gtest/gtest.h>

#include <functional>

#include "error_message.h"
#include "ops/same_batch.h"

namespace sixfold {
namespace {

using Ids = std::vector<int32_t>;

TEST(BatchBuilder, LaysOutTeacherForcing) {
  const Batch batch = BatchBuilder()
                          .sample(7)
                          .source(Ids{5, 6, 2})
                          .teacher_forced(Ids{8, 9}, {.start = 1, .eos = 2})
                          .sample(3)
                          .source(Ids{2})
                          .teacher_forced(Ids{}, {.start = -1, .eos = 0})
                          .take();
  EXPECT_EQ(batch.source.ids, (Ids{5, 6, 2, 2}));
  EXPECT_EQ(batch.source.rows.offsets, (Ids{0, 3, 4}));
  EXPECT_EQ(batch.target.ids, (Ids{1, 8, 9, -1}));
  EXPECT_EQ(batch.target.rows.offsets, (Ids{0, 3, 4}));
  EXPECT_EQ(batch.labels, (Ids{8, 9, 2, 0}));
  EXPECT_EQ(batch.samples, (Ids{7, 3}));
  EXPECT_EQ(batch.size(), 2);
  EXPECT_EQ(batch.tokens(), 8);
  EXPECT_EQ(batch.loss_weight(), 4);
}

TEST(BatchBuilder, ATargetThatIsCutOffHasNoEnd) {
  const Batch batch = BatchBuilder().source(Ids{2}).teacher_forced_prefix(Ids{8, 9, 4}, 1).take();
  EXPECT_EQ(batch.target.ids, (Ids{1, 8, 9}));
  EXPECT_EQ(batch.labels, (Ids{8, 9, 4}));
}

TEST(BatchBuilder, LabelsASourceAlone) {
  const Batch batch =
      BatchBuilder().source(Ids{5, 6}).label_source(Ids{1, 0}).source(Ids{7}).label_source(Ids{1}).take();
  EXPECT_EQ(batch.labels, (Ids{1, 0, 1}));
  EXPECT_EQ(batch.target.rows.sequences(), 0);
  EXPECT_EQ(batch.size(), 2);
  EXPECT_EQ(batch.tokens(), 3);
}

TEST(BatchBuilder, LabelsSomeTokensOrWholeSequences) {
  const Batch tokens = BatchBuilder()
                           .source(Ids{5, 6, 7})
                           .label_tokens(Ids{0, 2}, Ids{8, 9})
                           .source(Ids{5, 6})
                           .label_tokens(Ids{1}, Ids{4})
                           .take();
  EXPECT_EQ(tokens.label_rows, (Ids{0, 2, 4}));
  EXPECT_EQ(tokens.labels, (Ids{8, 9, 4}));
  EXPECT_EQ(tokens.loss_weight(), 3);
  const Batch sequences =
      BatchBuilder().source(Ids{5, 6, 7}).label_sequence(1).source(Ids{5}).label_sequence(0, 2.5f).take();
  EXPECT_EQ(sequences.label_rows, (Ids{0, 3}));
  EXPECT_EQ(sequences.label_weights, (std::vector<float>{1, 2.5f}));
  EXPECT_EQ(sequences.loss_weight(), 3.5);
  const std::vector<Batch> parts = split(sequences, 1), token_parts = split(tokens, 1);
  ASSERT_EQ(parts.size(), 2u);
  expect_equal(parts[1], BatchBuilder().sample(1).source(Ids{5}).label_sequence(0, 2.5f).take());
  expect_equal(token_parts[0],
               BatchBuilder().sample(0).source(Ids{5, 6, 7}).label_tokens(Ids{0, 2}, Ids{8, 9}).take());
  expect_equal(token_parts[1], BatchBuilder().sample(1).source(Ids{5, 6}).label_tokens(Ids{1}, Ids{4}).take());
}

/// Parts and shares of a batch keep the weights.
TEST(BatchBuilder, WeighsTheLabelsOfASample) {
  const TargetEnds ends{.start = 1, .eos = 2};
  const Batch batch = BatchBuilder()
                          .source(Ids{5, 6})
                          .teacher_forced(Ids{7, 8}, ends)
                          .weigh(0.5f)
                          .source(Ids{5})
                          .teacher_forced(Ids{9}, ends)
                          .weigh(2)
                          .take();
  EXPECT_EQ(batch.label_weights, (std::vector<float>{0.5f, 0.5f, 0.5f, 2, 2}));
  EXPECT_EQ(batch.loss_weight(), 5.5);
  const Batch second = BatchBuilder().sample(1).source(Ids{5}).teacher_forced(Ids{9}, ends).weigh(2).take();
  expect_equal(split(batch, 1)[1], second);
  expect_equal(divide(batch, 2)[1], second);
  EXPECT_THROW(BatchBuilder()
                   .source(Ids{5})
                   .teacher_forced(Ids{9}, ends)
                   .weigh(2)
                   .source(Ids{5})
                   .teacher_forced(Ids{9}, ends)
                   .take(),
               Error);
}

TEST(BatchBuilder, ChoosesRowsOfEachSource) {
  const Batch batch = BatchBuilder()
                          .source(Ids{5, 6, 7, 8})
                          .choose({1, 4}, Ids{0, 2})
                          .source(Ids{5, 6})
                          .choose({1, 2}, Ids{0, 0})
                          .take();
  EXPECT_EQ(batch.choices, (std::vector<RowRange>{{1, 4}, {5, 6}}));
  EXPECT_EQ(batch.labels, (Ids{0, 2, 0, 0}));
  EXPECT_EQ(batch.loss_weight(), 4);
  const std::vector<Batch> parts = split(batch, 1);
  ASSERT_EQ(parts.size(), 2u);
  expect_equal(parts[0], BatchBuilder().sample(0).source(Ids{5, 6, 7, 8}).choose({1, 4}, Ids{0, 2}).take());
  expect_equal(parts[1], BatchBuilder().sample(1).source(Ids{5, 6}).choose({1, 2}, Ids{0, 0}).take());
  const Batch unlabelled = BatchBuilder().source(Ids{5, 6, 7}).choose({1, 3}).take();
  EXPECT_EQ(unlabelled.labels_of_choice(), 0u);
  expect_equal(split(unlabelled, 1)[0], BatchBuilder().sample(0).source(Ids{5, 6, 7}).choose({1, 3}).take());
}

TEST(BatchBuilder, RefusesChoicesThatDoNotFit) {
  const auto take = [](RowRange tokens, const Ids& labels) {
    BatchBuilder().source(Ids{5}).choose({0, 1}, Ids{0, 0}).source(Ids{5, 6}).choose(tokens, labels).take();
  };
  const auto expect_error = [](const std::string& part, const std::function<void()>& action) {
    const std::string message = error_message(action);
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  take({0, 2}, {0, 1});
  expect_error("a label that chooses row 2 of 2", [&] { take({0, 2}, {0, 2}); });
  expect_error("a label that chooses row -1 of 2", [&] { take({0, 2}, {-1, 0}); });
  expect_error("the choices of a sample are the rows 1 to 4 of a batch, but its source is in the rows 1 to 3",
               [&] {
                 take({0, 3}, {0, 0});
               });
  expect_error("the choices of a sample are the rows 2 to 2", [&] { take({1, 1}, {0, 0}); });
  expect_error("2 choices with 3 labels for a batch of 2 sources", [&] { take({0, 2}, {0}); });
  expect_error("1 choices with 0 labels for a batch of 2 sources", [] {
    BatchBuilder().source(Ids{5}).choose({0, 1}).source(Ids{6}).take();
  });
}

TEST(BatchBuilder, IsEmptyAfterTake) {
  BatchBuilder builder;
  builder.source(Ids{5});
  EXPECT_EQ(builder.take().size(), 1);
  EXPECT_EQ(builder.take().size(), 0);
}

Batch many_samples(bool source, bool target) {
  BatchBuilder builder;
  for (int i = 0; i < 60; ++i) {
    builder.sample(100 + i);
    const Ids ids(static_cast<size_t>(2 + i * 37 % 41), 10 + i);
    if (source) builder.source(ids);
    if (target) builder.teacher_forced(Ids(static_cast<size_t>(i * 53 % 29), 10 + i), {.start = 1, .eos = 2});
    if (!target) builder.label_source(ids);
  }
  return builder.take();
}

TEST(Split, KeepsSamplesInOrderWithinTheLimit) {
  for (const auto& [source, target] : {std::pair(true, true), {true, false}, {false, true}}) {
    const Batch batch = many_samples(source, target);
    for (const int64_t limit : {1, 60, 200, 5000}) {
      const auto parts = split(batch, limit);
      Batch joined;
      for (const Batch& part : parts) {
        EXPECT_TRUE(part.tokens() <= limit || part.size() == 1);
        for (int i = 0; i < part.source.rows.sequences(); ++i)
          joined.source.rows.add(part.source.rows.length(i));
        for (int i = 0; i < part.target.rows.sequences(); ++i)
          joined.target.rows.add(part.target.rows.length(i));
        const auto append = [](Ids& to, const Ids& from) { to.insert(to.end(), from.begin(), from.end()); };
        append(joined.source.ids, part.source.ids);
        append(joined.target.ids, part.target.ids);
        append(joined.labels, part.labels);
        append(joined.samples, part.samples);
      }
      expect_equal(joined, batch);
      EXPECT_EQ(parts.size() == 1, limit == 5000);
    }
  }
  EXPECT_TRUE(split(Batch{}, 10).empty());
}

TEST(Batch, PartsThatOnlySomeSamplesHaveAreRefused) {
  const auto says = [](const std::string& part, const std::function<void()>& call) {
    EXPECT_NE(error_message(call).find(part), std::string::npos) << error_message(call);
  };
  says("1 sample numbers for a batch of 2",
       [] { BatchBuilder().sample(7).source(Ids{5}).source(Ids{6}).take(); });
  says("1 labels for 2 rows", [] { BatchBuilder().source(Ids{5, 6}).label_source(Ids{1}).take(); });
  says("2 sources and 1 targets", [] {
    BatchBuilder().source(Ids{5}).teacher_forced(Ids{6}, {.start = 1, .eos = 2}).source(Ids{7}).take();
  });
  says("2 labels for 1 rows", [] { BatchBuilder().source(Ids{5, 6}).label_tokens(Ids{1}, Ids{1, 2}).take(); });
  says("a label of row 0 after one of row 1", [] {
    BatchBuilder().source(Ids{5, 6}).label_tokens(Ids{1, 0}, Ids{1, 2}).take();
  });
  says("a label of row 2", [] { BatchBuilder().source(Ids{5, 6}).label_tokens(Ids{2}, Ids{1}).take(); });
  says("must have at least one token", [] { BatchBuilder().source(Ids{5}).teacher_forced_prefix(Ids{}, 1); });
  says("labels", [] {
    split(Batch{.source = {{5, 6}, {{0, 2}}}, .target = {}, .labels = {1}, .samples = {}}, 1);
  });
}

/// Samples without numbers go by their places, which a part must keep: dropout is keyed by them.
TEST(Split, NumbersSamplesByTheirPlaceInTheWhole) {
  const Batch batch = BatchBuilder().source(Ids{5}).source(Ids{6}).source(Ids{7}).take();
  const auto parts = split(batch, 2);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].samples, (Ids{0, 1}));
  EXPECT_EQ(parts[1].samples, (Ids{2}));
}

}  // namespace
}  // namespace sixfold
