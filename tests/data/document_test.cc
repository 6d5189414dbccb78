#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "data/block_dataset.h"
#include "data/document_reader.h"
#include "data/sequence_store.h"
#include "error_message.h"
#include "temporary_folder.h"
#include "text/characters.h"
#include "text/tokenizer_json.h"

namespace sixfold {
namespace {

using Ids = std::vector<int32_t>;

class Documents : public testing::Test {
 protected:
  Documents() {
    write_file_atomically(folder_ / "a", "ab\n\nc\nd\n \n\ne");
    write_file_atomically(folder_ / "b", "f\n");
    write_file_atomically(folder_ / "empty", "");
    tokenizers_.source = tokenizers_.target = load_characters("\n abcdef", "test");
    tokenizers_.joint = true;
  }
  /// The texts of files, each as it is decoded.
  std::vector<std::string> texts(TextUnit unit, const std::vector<std::string>& files, int threads = 1) const {
    DocumentReader reader(files, unit, InvalidUtf8::error);
    std::vector<std::string> texts;
    Ids ids;
    encode_documents(
        reader, unit, *tokenizers_.target, threads,
        [&](std::span<const int32_t> more) { ids.insert(ids.end(), more.begin(), more.end()); },
        [&] {
          texts.push_back(tokenizers_.target->decode_text(ids));
          ids.clear();
        });
    EXPECT_TRUE(ids.empty());
    return texts;
  }
  /// Encodes files as one stream each.
  EncodeFiles encoder() const {
    return [this](const std::vector<std::string>& files, SequenceSink& sink) {
      DocumentReader reader(files, TextUnit::stream, InvalidUtf8::error);
      encode_documents(
          reader, TextUnit::stream, *tokenizers_.target, 1,
          [&](std::span<const int32_t> ids) { sink.append(ids); }, [&] { sink.end(); });
      return reader.bytes();
    };
  }
  std::vector<std::string> both() const { return {folder_ / "a", folder_ / "empty", folder_ / "b"}; }

  TemporaryFolder folder_;
  Tokenizers tokenizers_;
};

using Texts = std::vector<std::string>;

TEST_F(Documents, AreWhatTheirUnitSays) {
  EXPECT_EQ(texts(TextUnit::stream, both()), (Texts{"ab\n\nc\nd\n \n\ne\n", "f\n"}));
  EXPECT_EQ(texts(TextUnit::file, both()), (Texts{"ab\n\nc\nd\n \n\ne", "f"}));
  EXPECT_EQ(texts(TextUnit::paragraph, both()), (Texts{"ab", "c\nd", "e", "f"}));
  EXPECT_EQ(texts(TextUnit::line, both()), (Texts{"ab", "c", "d", "e", "f"}));
}

TEST_F(Documents, AreTheSameForAnyNumberOfThreadsAndBlocks) {
  std::string lines;
  for (int i = 0; i < 10'000; ++i)
    lines += std::string(1, static_cast<char>('a' + i % 6)) + (i % 7 == 0 ? "\n\n" : "\n");
  write_file_atomically(folder_ / "long", lines);
  for (const TextUnit unit : {TextUnit::stream, TextUnit::paragraph, TextUnit::line})
    EXPECT_EQ(texts(unit, {folder_ / "long"}, 1), texts(unit, {folder_ / "long"}, 3));
  EXPECT_EQ(texts(TextUnit::stream, {folder_ / "long"}), (Texts{lines}));
}

/// A tokenizer that reads whole texts gets long ones in parts, between which an interrupt is noticed.
TEST_F(Documents, LongWholeTextsAreEncodedInParts) {
  const std::string json = read_file(SIXFOLD_TEST_GOLDENS "/causal/gpt2/tokenizer.json");
  const auto tokenizer =
      load_tokenizer_json(add_settings(json, {.bos = 0, .eos = 1, .size = 340}, "test"), "test");
  std::string lines, one_line, digits(700'000, '1');
  for (int i = 0; i < 60'000; ++i) {
    lines += fmt::format("line {}: it's so\n{}", i * 7 % 1000, i % 5 == 0 ? "\n" : "");
    one_line += fmt::format("a word{} on one line ", i * 7 % 1000);
  }
  for (const std::string& text : {lines, one_line + "\n", digits + "\n" + digits + "\n"}) {
    write_file_atomically(folder_ / "long", text);
    DocumentReader reader({folder_ / "long"}, TextUnit::stream, InvalidUtf8::error);
    Ids ids;
    size_t parts = 0, texts = 0;
    encode_documents(
        reader, TextUnit::stream, *tokenizer, 1,
        [&](std::span<const int32_t> more) { ids.insert(ids.end(), more.begin(), more.end()), ++parts; },
        [&] { ++texts; });
    EXPECT_EQ(texts, 1u);
    EXPECT_EQ(parts > 1, !text.starts_with('1')) << "there is no place to cut digits";
    EXPECT_EQ(ids, tokenizer->encode_text(text));
  }
}

TEST_F(Documents, SkippedLinesSeparateNothing) {
  write_file_atomically(folder_ / "bad", "ab\n\xFF\nc\n\nd\n");
  DocumentReader reader({folder_ / "bad"}, TextUnit::paragraph, InvalidUtf8::skip);
  std::string text;
  for (std::string line;;) {
    const auto event = reader.next(line);
    if (event == DocumentReader::Event::end) break;
    text += event == DocumentReader::Event::line ? line + "," : "|";
  }
  EXPECT_EQ(text, "ab,c,|d,|");
}

TEST_F(Documents, RefusesBadText) {
  EXPECT_NE(error_message([&] { texts(TextUnit::line, {folder_ / "none"}); }).find("none"), std::string::npos);
  write_file_atomically(folder_ / "bad", "a\n\xFF\n");
  EXPECT_NE(error_message([&] { texts(TextUnit::line, {folder_ / "bad"}); }).find("bad:2"), std::string::npos);
}

TEST_F(Documents, AreStored) {
  const std::string store = folder_ / "store";
  const DataFiles files{both(), {folder_ / "b"}};
  const SequenceStoreRecord record =
      write_sequence_store(store, files, tokenizers_, {.settings = "some"}, encoder());
  EXPECT_EQ(record.training.documents, 2);
  EXPECT_EQ(record.training.tokens, 13 + 2);
  EXPECT_EQ(record.training.bytes, 13 + 2);
  EXPECT_EQ(record.training.unknown, 0);
  EXPECT_EQ(record.validation.documents, 1);
  for (const auto& entry : std::filesystem::directory_iterator(store))
    EXPECT_TRUE(is_sequence_store_file(entry.path().filename().string())) << entry.path();
  const SequenceStoreRecord read = read_sequence_store_record(store);
  EXPECT_EQ(read.settings, "some");
  EXPECT_EQ(read.training.hash, record.training.hash);
  EXPECT_EQ(read.training.files, record.training.files);
  EXPECT_NO_THROW(verify_sequence_store(store, read));
  const IdSequences texts = map_sequences(store, false);
  EXPECT_EQ(texts.size(), 2);
  EXPECT_EQ(tokenizers_.target->decode_text(texts[1]), "f\n");
  EXPECT_EQ(map_sequences(store, true).total_length(), 2);

  const auto failing = [&](const SequenceStoreOptions& options, const DataFiles& wanted) {
    return error_message([&] { write_sequence_store(store, wanted, tokenizers_, options, encoder()); });
  };
  EXPECT_NE(failing({.expected_training = "00"}, files).find("not the training data"), std::string::npos);
  EXPECT_NE(failing({.expected_validation = "00"}, files).find("not the validation data"), std::string::npos);
  EXPECT_NE(failing({}, {{folder_ / "empty"}, {}}).find("there is no text"), std::string::npos);
  EXPECT_NO_THROW(verify_sequence_store(store, read));  // what fails replaces nothing
  std::string ids = read_file(store + "/training.ids");
  ids[0] ^= 1;
  write_file_atomically(store + "/training.ids", ids);
  EXPECT_NE(error_message([&] { verify_sequence_store(store, read); }).find("is damaged"), std::string::npos);
}

class Blocks : public Documents {
 protected:
  BlockDataset blocks(const std::vector<Ids>& texts, const BlockOptions& options) const {
    IdSequences sequences;
    for (const Ids& text : texts) sequences.add(text);
    return {{sequences, options}, tokenizers_, {1, 2}, "hash"};
  }
  /// What the decoder reads of a sample, and the labels.
  static std::pair<Ids, Ids> sample(const BlockDataset& data, int64_t number, int64_t epoch = 0) {
    BatchBuilder builder;
    data.add(number, epoch, builder.sample(static_cast<int32_t>(number)));
    const Batch batch = builder.take();
    EXPECT_EQ(batch.tokens(), data.tokens(number, epoch));
    return {batch.target.ids, batch.labels};
  }
};

TEST_F(Blocks, CutAStreamWithoutRegardToItsContents) {
  const BlockDataset data = blocks({{3, 4, 5, 6, 7}, {8}}, {.tokens = 2});
  ASSERT_EQ(data.size(), 4);
  EXPECT_EQ(sample(data, 0), (std::pair<Ids, Ids>{{1, 3}, {3, 4}}));
  EXPECT_EQ(sample(data, 2), (std::pair<Ids, Ids>{{1}, {7}}));
  EXPECT_EQ(sample(data, 3), (std::pair<Ids, Ids>{{1}, {8}}));
  EXPECT_EQ(data.describe(2).texts[0].second, tokenizers_.target->decode(Ids{7}));
}

TEST_F(Blocks, EndTextsThatEnd) {
  const BlockDataset data = blocks({{3, 4, 5}, {6, 7}, {}}, {.tokens = 2, .ends = true});
  ASSERT_EQ(data.size(), 5);
  EXPECT_EQ(sample(data, 0), (std::pair<Ids, Ids>{{1, 3}, {3, 4}}));
  EXPECT_EQ(sample(data, 1), (std::pair<Ids, Ids>{{1, 5}, {5, 2}}));
  EXPECT_EQ(sample(data, 2), (std::pair<Ids, Ids>{{1, 6}, {6, 7}}));
  EXPECT_EQ(sample(data, 3), (std::pair<Ids, Ids>{{1}, {2}}));  // the end alone
  EXPECT_EQ(sample(data, 4), (std::pair<Ids, Ids>{{1}, {2}}));
}

TEST_F(Blocks, AreFoundAmongManyTexts) {
  std::vector<Ids> texts;
  std::vector<Ids> expected;
  for (int32_t i = 0; i < 500; ++i) {
    const Ids text(static_cast<size_t>(i * i % 6), 3 + i);
    texts.push_back(text);
    for (size_t begin = 0; begin < text.size(); begin += 2)
      expected.emplace_back(std::min<size_t>(2, text.size() - begin), 3 + i);
  }
  const BlockDataset data = blocks(texts, {.tokens = 2});
  ASSERT_EQ(data.size(), std::ssize(expected));
  for (int64_t i = 0; i < data.size(); ++i)
    EXPECT_EQ(sample(data, i).second, expected[static_cast<size_t>(i)]) << i;
}

/// In each epoch the blocks follow each other without a gap, and they begin elsewhere.
TEST_F(Blocks, ShiftFromEpochToEpoch) {
  Ids text;
  for (int32_t i = 0; i < 103; ++i) text.push_back(3 + i);
  const BlockDataset data = blocks({text, {3, 4}}, {.tokens = 10, .shifts = true});
  ASSERT_EQ(data.size(), 11);
  std::vector<int32_t> begins;
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    Ids all;
    for (int64_t i = 0; i < 10; ++i) {
      const Ids labels = sample(data, i, epoch).second;
      EXPECT_TRUE(labels.size() == 10 || (i == 9 && !labels.empty())) << epoch << " " << i;
      all.insert(all.end(), labels.begin(), labels.end());
    }
    const int32_t begin = all.front() - 3;
    EXPECT_TRUE(begin >= 0 && begin < 10);
    EXPECT_TRUE(std::ranges::equal(all, std::span(text).subspan(static_cast<size_t>(begin), all.size())));
    EXPECT_EQ(data.tokens(10, epoch), 2);
    if (std::ranges::find(begins, begin) == begins.end()) begins.push_back(begin);
  }
  EXPECT_EQ(begins.front(), 0);
  EXPECT_GT(begins.size(), 3u);
}

}  // namespace
}  // namespace sixfold
