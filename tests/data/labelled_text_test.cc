#include "data/labelled_text.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "data/class_dataset.h"
#include "data/masked_dataset.h"
#include "error_message.h"
#include "temporary_folder.h"
#include "text/characters.h"

namespace sixfold {
namespace {

using Ids = std::vector<int32_t>;
using Texts = std::vector<std::string>;

class LabelledText : public testing::Test {
 protected:
  LabelledText() {
    write_file_atomically(folder_ / "a", "good\tab\n\n bad \tc\td\n");
    write_file_atomically(folder_ / "b", "good\te f");
    tokenizers_.source = tokenizers_.target = load_characters("\n abcdef", "test");
    tokenizers_.joint = true;
  }
  Texts both() const { return {folder_ / "a", folder_ / "b"}; }
  SequenceStoreRecord store(const Texts& training, const Texts& validation, const Texts& labels) const {
    return write_sequence_store(folder_ / "store", {training, validation}, tokenizers_, {.names = labels},
                                labelled_encoder(*tokenizers_.source, labels, InvalidUtf8::error, 1));
  }
  std::string failure(const std::string& text) const {
    write_file_atomically(folder_ / "x", text);
    return error_message([&] { labels_of({folder_ / "x"}, InvalidUtf8::error, nullptr); });
  }

  TemporaryFolder folder_;
  Tokenizers tokenizers_;
};

TEST_F(LabelledText, IsRead) {
  LabelledReader reader(both(), InvalidUtf8::error);
  std::string label, text;
  Texts all;
  while (reader.next(label, text)) all.push_back(label + "|" + text);
  EXPECT_EQ(all, (Texts{"good|ab", "bad|c\td", "good|e f"}));
  EXPECT_EQ(reader.bytes(), 2 + 3 + 3);
  EXPECT_EQ(labels_of(both(), InvalidUtf8::error, nullptr), (Texts{"bad", "good"}));
}

TEST_F(LabelledText, IsRefusedByLine) {
  EXPECT_EQ(failure("a\tb\nno tab\n"),
            (folder_ / "x") + ":2: expected a label, a tab and a text, but there is no tab");
  EXPECT_EQ(failure("\ttext\n"), (folder_ / "x") + ":1: there is no label before the tab");
  EXPECT_EQ(failure("a\t \n"), (folder_ / "x") + ":1: there is no text after the label 'a'");
  EXPECT_NE(failure("a\t\xFF\n").find("x:1"), std::string::npos);
  EXPECT_NE(error_message([&] {
              store({folder_ / "a"}, {folder_ / "b"}, {"bad", "goods"});
            }).find("a:1: the label 'good' does not occur in the training data (did you mean 'goods'?)"),
            std::string::npos)
      << error_message([&] {
           store({folder_ / "a"}, {folder_ / "b"}, {"bad", "goods"});
         });
}

TEST_F(LabelledText, HasNotTooManyLabels) {
  std::string lines;
  for (int i = 0; i <= 10'000; ++i) lines += std::to_string(i) + "\ta\n";
  EXPECT_NE(failure(lines).find("x:10001: there are more than 10000 different labels"), std::string::npos);
}

TEST_F(LabelledText, BecomesSamples) {
  const SequenceStoreRecord record = store(both(), {folder_ / "b"}, {"bad", "good"});
  EXPECT_EQ(record.names, (Texts{"bad", "good"}));
  EXPECT_EQ(read_sequence_store_record(folder_ / "store").names, record.names);
  EXPECT_EQ(record.training.documents, 3);
  EXPECT_EQ(record.training.tokens, 2 + 3 + 3);
  const ClassDataset data(map_sequences(folder_ / "store", false), tokenizers_,
                          {.labels = record.names, .weights = {2, 0.5}, .tokens = 2}, "hash");
  EXPECT_EQ(data.size(), 3);
  EXPECT_EQ(data.cut(), 2);
  EXPECT_EQ(label_counts(map_sequences(folder_ / "store", false), 2), (std::vector<int64_t>{1, 2}));
  BatchBuilder builder;
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t before = builder.batch().tokens();
    data.add(i, 0, builder.sample(static_cast<int32_t>(i)));
    EXPECT_EQ(builder.batch().tokens() - before, data.tokens(i, 0));
  }
  const Batch batch = builder.take();
  const Ids ab = tokenizers_.source->encode("ab");
  EXPECT_EQ(Ids(batch.source.ids.begin(), batch.source.ids.begin() + 4), (Ids{1, ab[0], ab[1], 2}));
  EXPECT_EQ(batch.labels, (Ids{1, 0, 1}));
  EXPECT_EQ(batch.label_weights, (std::vector<float>{0.5, 2, 0.5}));
  EXPECT_EQ(data.describe(1).texts[0].second, "bad");
  EXPECT_EQ(data.describe(2).texts[1].second, "e f");
}

TEST_F(LabelledText, LosesTokensInTraining) {
  IdSequences sequences;
  Ids text{1};  // the label
  for (int i = 0; i < 100; ++i) text.push_back(3 + i % 6);
  sequences.add(text), sequences.add(text);
  const ClassDataset data(sequences, tokenizers_,
                          {.labels = {"a", "b"}, .weights = {1, 1}, .tokens = 100, .dropout = {.rate = 0.3}},
                          "hash");
  const auto ids = [&](int64_t sample, int64_t epoch) {
    BatchBuilder builder;
    data.add(sample, epoch, builder.sample(0));
    return builder.take().source.ids;
  };
  int64_t lost = 0;
  for (int64_t epoch = 0; epoch < 50; ++epoch) {
    const Ids input = ids(0, epoch);
    ASSERT_EQ(input.size(), 102u);
    EXPECT_EQ(input.front(), 1);
    EXPECT_EQ(input.back(), 2);
    for (size_t i = 1; i <= 100; ++i) {
      EXPECT_TRUE(input[i] == text[i] || input[i] == 0);
      lost += input[i] == 0;
    }
  }
  EXPECT_NEAR(static_cast<double>(lost) / 5000, 0.3, 0.03);
  EXPECT_EQ(ids(0, 3), ids(0, 3));
  EXPECT_NE(ids(0, 3), ids(0, 4));
  EXPECT_NE(ids(0, 3), ids(1, 3));
}

TEST_F(LabelledText, IsTheSameForAnyNumberOfThreads) {
  std::string lines;
  for (int i = 0; i < 10'000; ++i) lines += (i % 3 == 0 ? "a\t" : "b\t") + std::string(1 + i % 5, 'c') + "\n";
  write_file_atomically(folder_ / "long", lines);
  std::string hashes[2];
  for (const int threads : {1, 3})
    hashes[threads / 3] =
        write_sequence_store(folder_ / "store", {{folder_ / "long"}, {}}, tokenizers_, {},
                             labelled_encoder(*tokenizers_.source, {"a", "b"}, InvalidUtf8::error, threads))
            .training.hash;
  EXPECT_EQ(hashes[0], hashes[1]);
}

class Masked : public LabelledText {
 protected:
  MaskedDataset masked(const std::vector<Ids>& texts, double share) const {
    IdSequences sequences;
    for (const Ids& text : texts) sequences.add(text);
    return {{sequences, {.tokens = 50}},
            tokenizers_,
            {.share = share, .vocabulary = 1000, .mask = 0, .bos = 1, .eos = 2},
            "hash"};
  }
  static Batch sample(const MaskedDataset& data, int64_t number, int64_t epoch = 0) {
    BatchBuilder builder;
    data.add(number, epoch, builder.sample(static_cast<int32_t>(number)));
    return builder.take();
  }
};

/// The labels are the tokens that were there, and other tokens are as they were.
TEST_F(Masked, HidesTokensAndAsksForThem) {
  Ids text;
  for (int32_t i = 0; i < 50; ++i) text.push_back(100 + i);
  const MaskedDataset data = masked({text, {7}}, 0.15);
  ASSERT_EQ(data.size(), 2);
  int64_t labels = 0, hidden = 0, kept = 0;
  for (int64_t epoch = 0; epoch < 500; ++epoch) {
    const Batch batch = sample(data, 0, epoch);
    ASSERT_EQ(batch.source.ids.size(), 52u);
    EXPECT_EQ(batch.tokens(), data.tokens(0, epoch));
    ASSERT_EQ(batch.labels.size(), 8u);  // 7.5, rounded
    Ids restored = batch.source.ids;
    for (size_t i = 0; i < batch.labels.size(); ++i) {
      int32_t& token = restored[static_cast<size_t>(batch.label_rows[i])];
      ++labels;
      hidden += token == 0;
      kept += token == batch.labels[i];
      token = batch.labels[i];
    }
    EXPECT_TRUE(std::ranges::equal(std::span(restored).subspan(1, 50), text));
  }
  EXPECT_NEAR(static_cast<double>(hidden) / static_cast<double>(labels), 0.8, 0.02);
  EXPECT_NEAR(static_cast<double>(kept) / static_cast<double>(labels), 0.1, 0.02);
  EXPECT_EQ(sample(data, 1).labels, (Ids{7}));  // at least one
}

TEST_F(Masked, IsAFunctionOfSampleAndEpoch) {
  Ids text;
  for (int32_t i = 0; i < 200; ++i) text.push_back(100 + i % 50);
  const MaskedDataset data = masked({text}, 0.15), again = masked({text}, 0.15);
  EXPECT_EQ(sample(data, 2, 3).source.ids, sample(again, 2, 3).source.ids);
  EXPECT_NE(sample(data, 2, 3).label_rows, sample(data, 2, 4).label_rows);
  EXPECT_NE(sample(data, 1, 3).label_rows, sample(data, 2, 3).label_rows);
  EXPECT_NE(error_message([&] { masked({text}, 0); }).find("the share of masked tokens is 0"),
            std::string::npos);
}

}  // namespace
}  // namespace sixfold
