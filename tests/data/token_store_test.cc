#include "data/token_store.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "data/measure.h"
#include "data/repeats.h"
#include "error_message.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

class TokenStore : public testing::Test {
 protected:
  TokenStore() {
    write_file_atomically(folder_ / "a.en", "a b\nb c d\n\na b\nc\n");
    write_file_atomically(folder_ / "a.de", "x y\ny\nz\nx y\nx y z x y z\n");
    write_file_atomically(folder_ / "b.tsv", "a b\tx y\nd d\tz z\n");
    TokenizerOptions options;
    options.kind = TokenizerKind::whitespace;
    options.joint = false;
    options.vocab_size = 0;
    const std::vector<std::string> source{"a b c d"}, target{"x y z"};
    tokenizers_ = make_tokenizers(options, source, target);
  }

  TokenStoreRecord write(const TokenStoreOptions& options) {
    return write_token_store(store_, texts_, tokenizers_, options);
  }
  std::vector<std::string> pairs(const TokenCorpus& corpus) const {
    std::vector<std::string> all;
    for (int64_t i = 0; i < corpus.size(); ++i)
      all.push_back(tokenizers_.source->decode(corpus.source[i]) + "|" +
                    tokenizers_.target->decode(corpus.target[i]));
    return all;
  }

  TemporaryFolder folder_;
  const std::string store_ = folder_ / "store";
  const std::vector<CorpusFiles> texts_{{.source = folder_ / "a.en", .target = folder_ / "a.de"},
                                        {.tsv = folder_ / "b.tsv"}};
  Tokenizers tokenizers_;
};

TEST_F(TokenStore, HoldsTheTextAsIds) {
  const TokenStoreRecord record = write({.encode = {.threads = 2}});
  EXPECT_EQ(record.pairs, (std::vector<int64_t>{4, 2}));
  EXPECT_EQ(record.report.read, 7);
  EXPECT_EQ(record.report.empty, 1);
  EXPECT_EQ(record.report.repeats, 2);
  EXPECT_EQ(record.report.kept(), 6);
  const TokenCorpus corpus = map_token_store(store_, {1, 0.5});
  EXPECT_EQ(pairs(corpus),
            (std::vector<std::string>{"a b|x y", "b c d|y", "a b|x y", "c|x y z x y z", "a b|x y", "d d|z z"}));
  EXPECT_EQ(corpus.source_tokens(), 2 + 3 + 2 + 1 + 2 + 2 + 6);
  EXPECT_EQ(corpus.parts()[1].weight, 0.5);
  EXPECT_EQ(read_token_store_record(store_).hash, record.hash);
  EXPECT_EQ(read_token_store_record(store_).files, record.files);
  EXPECT_EQ(write({.encode = {.threads = 1}}).hash, record.hash);  // and replaces what is there
}

TEST_F(TokenStore, DropsWhatIsAskedFor) {
  const TokenStoreRecord record = write({.encode = {.max_length = 5, .max_ratio = 2}, .drop_repeats = true});
  EXPECT_EQ(record.report.too_long, 1);
  EXPECT_EQ(record.report.uneven, 1);
  EXPECT_EQ(record.report.repeated, 2);
  EXPECT_EQ(record.pairs, (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(pairs(map_token_store(store_, {})), (std::vector<std::string>{"a b|x y", "d d|z z"}));
  EXPECT_EQ(record.report.describe(),
            "7 pairs, 2 kept; dropped: 1 with an empty side, 1 too long, 1 too uneven, 2 repeated");
}

/// Each pair keeps its own weight when others are dropped; the weights are a part of the text.
TEST_F(TokenStore, HoldsTheWeightsOfPairs) {
  const std::string plain = write({}).hash;
  EXPECT_FALSE(map_token_store(store_, {}).weights);
  auto texts = texts_;
  texts[0].weights = folder_ / "a.weights";
  write_file_atomically(texts[0].weights, "0.5\n0\n7\n3\n8\n");
  const auto write_weighted = [&](const TokenStoreOptions& options) {
    return write_token_store(store_, texts, tokenizers_, options);
  };
  const auto weights = [&] {
    const TokenCorpus corpus = map_token_store(store_, {});
    std::vector<float> all;
    for (int64_t i = 0; i < corpus.size(); ++i) all.push_back(corpus.weights[i]);
    return all;
  };
  const TokenStoreRecord record = write_weighted({});
  EXPECT_EQ(record.pairs, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(record.files.size(), 4u);
  EXPECT_EQ(weights(), (std::vector<float>{0.5f, 3, 8, 1, 1}));
  EXPECT_EQ(map_token_store(store_, {}).weights.relative(1), 0.375f);
  EXPECT_NE(record.hash, plain);
  write_weighted({.encode = {.max_length = 5}, .drop_repeats = true});
  EXPECT_EQ(weights(), (std::vector<float>{0.5f, 1}));
  write_file_atomically(texts[0].weights, "0.5\n0\n7\n3\n9\n");
  EXPECT_EQ(changed_files(texts, record.files).size(), 1u);
  EXPECT_NE(error_message([&] { write_weighted({.expected_hash = record.hash}); }).find("is not the text"),
            std::string::npos);
  write_weighted({});
  write_file_atomically(store_ + "/pair-weights.f32", std::string(16, '\0'));
  EXPECT_NE(error_message([&] { map_token_store(store_, {}); }).find("is damaged"), std::string::npos);
  write({});
  EXPECT_FALSE(std::filesystem::exists(store_ + "/pair-weights.f32"));
}

TEST_F(TokenStore, NoticesThatTextHasChanged) {
  const TokenStoreRecord record = write({});
  EXPECT_TRUE(changed_files(texts_, record.files).empty());
  write_file_atomically(folder_ / "a.en", "a b\nb c d\n\na b\nd\n");
  std::filesystem::remove(folder_ / "b.tsv");
  const auto changed = changed_files(texts_, record.files);
  ASSERT_EQ(changed.size(), 2u);
  EXPECT_NE(changed[0].find("a.en: has changed (17 bytes"), std::string::npos) << changed[0];
  EXPECT_NE(changed[1].find("b.tsv: no longer exists"), std::string::npos) << changed[1];
}

/// What counts is what the files hold.
TEST_F(TokenStore, NamesOfTextsDoNotMatter) {
  const TokenStoreRecord record = write({.settings = "as ever"});
  EXPECT_EQ(read_token_store_record(store_).settings, "as ever");
  auto moved = texts_;
  std::filesystem::create_directory(folder_ / "elsewhere");
  for (std::string* path : {&moved[0].source, &moved[0].target, &moved[1].tsv}) {
    const std::string to = folder_ / "elsewhere/" + std::filesystem::path(*path).filename().string() + "2";
    std::filesystem::copy_file(*path, to);
    *path = to;
  }
  EXPECT_TRUE(changed_files(moved, record.files).empty());
  EXPECT_TRUE(same_contents(stamps_of(moved), record.files));
  moved.pop_back();
  EXPECT_EQ(changed_files(moved, record.files).size(), 1u);
  EXPECT_FALSE(same_contents(stamps_of(moved), record.files));
}

/// Other ids than those that a run needs replace nothing; nor does what is stopped.
TEST_F(TokenStore, IsReplacedByNothingElse) {
  const TokenStoreRecord record = write({});
  const std::string ids = read_file(store_ + "/source.ids");
  write_file_atomically(folder_ / "a.en", "d d\nb c d\n\na b\nc\n");
  EXPECT_NE(error_message([&] { write({.expected_hash = record.hash}); }).find("is not the text"),
            std::string::npos);
  const std::atomic<int> stop{1};
  EXPECT_THROW(write({.stop = &stop}), Cancelled);
  EXPECT_EQ(read_file(store_ + "/source.ids"), ids);
  for (const auto& entry : std::filesystem::directory_iterator(store_))
    EXPECT_TRUE(is_token_store_file(entry.path().filename().string())) << entry.path();
}

TEST_F(TokenStore, RefusesDamage) {
  write({});
  EXPECT_NE(error_message([&] { map_token_store(store_, {1}); }).find("data.weights"), std::string::npos);
  const std::string ids = read_file(store_ + "/source.ids"), offsets = read_file(store_ + "/source.offsets");
  write_file_atomically(store_ + "/source.ids", ids.substr(4));
  EXPECT_NE(error_message([&] { map_token_store(store_, {}); }).find("don't belong together"),
            std::string::npos);
  write_file_atomically(store_ + "/source.ids", ids);
  std::string wrong = offsets;
  wrong[8] = 99;
  write_file_atomically(store_ + "/source.offsets", wrong);
  EXPECT_NE(error_message([&] { map_token_store(store_, {}); }).find("is damaged"), std::string::npos);
  std::string record = read_file(store_ + "/corpus.json");
  record.replace(record.find("\"format_version\": 2"), 19, "\"format_version\": 1e300");
  write_file_atomically(store_ + "/corpus.json", record);
  EXPECT_NE(error_message([&] { read_token_store_record(store_); }).find("'format_version' is 1e+300"),
            std::string::npos);
  write_file_atomically(store_ + "/corpus.json", "{}");
  EXPECT_NE(error_message([&] { read_token_store_record(store_); }).find("is damaged"), std::string::npos);
  write_file_atomically(folder_ / "b.tsv", "\tx\n");
  EXPECT_NE(error_message([&] {
              write_token_store(store_, {{.tsv = folder_ / "b.tsv"}}, tokenizers_, {});
            }).find("no pair of the corpus is left"),
            std::string::npos);
}

TEST_F(TokenStore, CountsWhatIsNotInTheVocabulary) {
  write_file_atomically(folder_ / "b.tsv", "a q\tx y\nd d\tz r s t\n");
  const CorpusReport report = write({}).report;
  EXPECT_EQ(report.source_unknown, 1);
  EXPECT_EQ(report.target_unknown, 3);
  EXPECT_EQ(report.source_tokens, 12);
  EXPECT_NE(
      report.describe().find("; not in the vocabulary: 8.33% of the source tokens, 17.6% of the target tokens"),
      std::string::npos)
      << report.describe();
  std::string older = to_json_text(report);
  for (const char* name : {"\n \"source_unknown\": 1,", "\n \"target_unknown\": 3,"})
    older.erase(older.find(name), std::string_view(name).size());
  EXPECT_EQ(parse_corpus_report(older, "report").source_unknown, 0);
}

TEST_F(TokenStore, MeasuresTextInWordsOrSymbols) {
  const CorpusReport words = measure_corpus(texts_, std::nullopt, {.encode = {.max_length = 5}});
  EXPECT_EQ(words.read, 7);
  EXPECT_EQ(words.too_long, 1);
  EXPECT_EQ(words.repeats, 2);
  EXPECT_EQ(words.source_tokens, 2 + 3 + 2 + 2 + 2);
  EXPECT_EQ(quantile(words.source_lengths, 0.5), 2);
  EXPECT_EQ(quantile(words.source_lengths, 1), 3);
  const CorpusReport symbols = measure_corpus(texts_, tokenizers_, {.encode = {.max_length = 5}});
  EXPECT_EQ(symbols.source_lengths, words.source_lengths);
  const CorpusReport again = parse_corpus_report(to_json_text(words), "report");
  EXPECT_EQ(again.ratios, words.ratios);
  EXPECT_EQ(again.repeats, words.repeats);
  for (const char* count : {"1e300", "-1", "2.5", "18446744073709551615", "true"}) {
    std::string json = to_json_text(CorpusReport());
    const size_t begin = json.find("\"source_lengths\": [") + 19;
    json.replace(json.find('0', begin), 1, count);
    EXPECT_NE(
        error_message([&] { parse_corpus_report(json, "report"); }).find("in 'source_lengths', an entry is"),
        std::string::npos)
        << count;
  }
  EXPECT_NE(error_message([] { parse_corpus_report("{}", "report"); }).find("not the report"),
            std::string::npos);
}

TEST(RepeatFinder, TellsEqualHashesApart) {
  const TemporaryFolder folder;
  RepeatFinder finder(folder.path());
  const std::vector<int> items{5, 6, 5, 7, 6, 5, 8};
  for (const int item : items) finder.add(item < 7 ? 1 : 2);  // 5 and 6, 7 and 8 have one hash each
  const auto equal = [&](int64_t a, int64_t b) {
    return items[static_cast<size_t>(a)] == items[static_cast<size_t>(b)];
  };
  EXPECT_EQ(finder.find(equal), (std::vector<bool>{false, false, true, false, true, true, false}));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

/// More than are written or looked at at once.
TEST(RepeatFinder, EndsWhenItIsAskedTo) {
  TemporaryFolder folder;
  RepeatFinder finder(folder.path());
  finder.add(7);
  const std::atomic<int> stop = 1;
  EXPECT_THROW(finder.find([](int64_t, int64_t) { return true; }, &stop), Cancelled);
}

TEST(RepeatFinder, FindsRepeatsFarApart) {
  constexpr uint64_t items = 100'000, different = 40'000;
  const TemporaryFolder folder;
  RepeatFinder finder(folder.path(), 1000);
  for (uint64_t i = 0; i < items; ++i) finder.add((i % different) * 0x9E3779B97F4A7C15u);
  const std::vector<bool> repeated = finder.find([](int64_t, int64_t) { return true; });
  ASSERT_EQ(repeated.size(), items);
  for (uint64_t i = 0; i < items; ++i) ASSERT_EQ(repeated[i], i >= different) << i;
}

}  // namespace
}  // namespace sixfold
