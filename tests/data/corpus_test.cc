#include "data/corpus.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "data/gzip.h"
#include "error_message.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

using Lines = std::vector<std::string>;

class CorpusTest : public testing::Test {
 protected:
  CorpusFiles pair(std::string_view source, std::string_view target) const {
    return {put("a.en", source), put("a.de", target), ""};
  }
  CorpusFiles tsv(std::string_view text) const { return {"", "", put("a.tsv", text)}; }
  std::string put(const std::string& name, std::string_view text) const {
    write_file_atomically(folder_ / name, text);
    return folder_ / name;
  }
  static std::string refusal(const std::vector<CorpusFiles>& files) {
    return error_message([&] { read_corpus(files); });
  }
  static bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

  TemporaryFolder folder_;
};

TEST_F(CorpusTest, PairsOfFiles) {
  const Corpus corpus = read_corpus({pair("one\r\ntwo\r\n", "\uFEFFeins\nzwei")});
  EXPECT_EQ(corpus.text.source, (Lines{"one", "two"}));
  EXPECT_EQ(corpus.text.target, (Lines{"eins", "zwei"}));
  EXPECT_EQ(corpus.report.describe(), "2 pairs, 2 kept");
}

TEST_F(CorpusTest, TsvTakesItsFirstTwoColumns) {
  const Corpus corpus = read_corpus({tsv("one\teins\r\ntwo\tzwei\tCC-BY\textra\n")});
  EXPECT_EQ(corpus.text.source, (Lines{"one", "two"}));
  EXPECT_EQ(corpus.text.target, (Lines{"eins", "zwei"}));
}

TEST_F(CorpusTest, SeveralCorporaInOrderSomeGzipped) {
  CorpusFiles zipped{folder_ / "b.en", folder_ / "b.de", ""};
  write_gzip(zipped.source, "three\n");
  write_gzip(zipped.target, "drei\n");
  const Corpus corpus = read_corpus({pair("one\n", "eins\n"), zipped, tsv("two\tzwei\n")});
  EXPECT_EQ(corpus.text.source, (Lines{"one", "three", "two"}));
  EXPECT_EQ(corpus.text.target, (Lines{"eins", "drei", "zwei"}));
}

/// A pair has the weight of its line, whatever is dropped before it, and its copies have it too.
TEST_F(CorpusTest, PairsHaveTheWeightsOfTheirLines) {
  CorpusFiles weighted = pair("one\n\nthree\nfour\nfive\n", "eins\nzwei\ndrei\nvier\nfünf\n"),
              table = tsv("six\tsechs\n");
  weighted.weights = folder_ / "w.gz";
  write_gzip(weighted.weights, "2\n3\n0\n0.25\r\n1e-3 \n");
  PairReader reader({weighted, table}, InvalidUtf8::error, {.capitals = 1});
  std::vector<std::pair<std::string, float>> read;
  for (std::string source, target; reader.next(source, target);) read.emplace_back(source, reader.weight());
  const std::vector<std::pair<std::string, float>> expected{{"one", 2},      {"ONE", 2},      {"four", 0.25f},
                                                            {"FOUR", 0.25f}, {"five", 1e-3f}, {"FIVE", 1e-3f},
                                                            {"six", 1},      {"SIX", 1}};
  EXPECT_EQ(read, expected);
  EXPECT_EQ(reader.report().describe(), "10 pairs, 8 kept; dropped: 1 with an empty side, 1 of weight 0");
  EXPECT_EQ(parse_corpus_report(to_json_text(reader.report()), "r").zero_weight, 1);
}

TEST_F(CorpusTest, FaultyWeightsAreNamedWithTheirLine) {
  CorpusFiles weighted = pair("one\ntwo\n", "eins\nzwei\n");
  weighted.weights = folder_ / "w";
  for (const std::string fault :
       {"nan", "inf", "-1", "1e-10", "2e9", "1e400", "", "one", "0,5", "1 2", "0x1", "+1"}) {
    put("w", "1\n" + fault + "\n");
    const std::string said = refusal({weighted});
    EXPECT_TRUE(has(said, "w:2: the line is not the weight of a pair; expected a number from 1e-9 to 1e9"))
        << said;
  }
  put("w", "1\n2\n3\n");
  EXPECT_EQ(refusal({weighted}), folder_ / "w:3: " + folder_ / "a.en has no such line, only 2");
  put("w", "1\n");
  EXPECT_EQ(refusal({weighted}),
            folder_ / "w: has 1 line, but " + folder_ / "a.en has more; there must be a weight for each line");
  put("w", "0\n0\n");
  EXPECT_TRUE(has(refusal({weighted}), "no pair of lines is left (2 pairs, 0 kept; dropped: 2 of weight 0)"));
  EXPECT_TRUE(has(refusal({{.tsv = put("a.tmx", "<tmx/>"), .weights = weighted.weights}}),
                  "a.tmx: a translation memory has no lines"));
  weighted.weights = folder_ / "nowhere";
  EXPECT_TRUE(has(refusal({weighted}), "nowhere"));
}

TEST_F(CorpusTest, PairsWithAnEmptySideAreDroppedAndCounted) {
  const Corpus corpus = read_corpus({pair("one\n\nthree\n \t\nfive\n", "eins\nzwei\n\n\nfünf\n")});
  EXPECT_EQ(corpus.text.source, (Lines{"one", "five"}));
  EXPECT_EQ(corpus.text.target, (Lines{"eins", "fünf"}));
  EXPECT_EQ(corpus.report.describe(), "5 pairs, 2 kept; dropped: 3 with an empty side");
  const Corpus wide = read_corpus({pair("\u3000\n\u2003 \u00A0\nthree\n", "eins\nzwei\ndrei\n")});
  EXPECT_EQ(wide.text.source, Lines{"three"}) << "what is only white space of Unicode is empty";
}

TEST_F(CorpusTest, InvalidUtf8) {
  const CorpusFiles files = pair("one\ntw\xFF\nthree\nfour\n", "eins\nzwei\ndr\xC3\nvier\n");
  EXPECT_TRUE(
      has(refusal({files}),
          files.source +
              ":2: byte 3 is not valid UTF-8; convert the text, or choose --invalid-utf8 replace or skip (in "
              "training data.invalid_utf8)"));
  const Corpus replaced = read_corpus({files}, InvalidUtf8::replace);
  EXPECT_EQ(replaced.text.source[1], "tw\uFFFD");
  EXPECT_EQ(replaced.text.target[2], "dr\uFFFD");
  EXPECT_EQ(replaced.report.describe(), "4 pairs, 4 kept; invalid UTF-8 replaced in 2");
  const Corpus skipped = read_corpus({files}, InvalidUtf8::skip);
  EXPECT_EQ(skipped.text.source, (Lines{"one", "four"}));
  EXPECT_EQ(skipped.text.target, (Lines{"eins", "vier"}));
  EXPECT_EQ(skipped.report.describe(), "4 pairs, 2 kept; dropped: 2 not valid UTF-8");
  const CorpusFiles table = tsv("one\teins\ntwo\tzw\xFF\n");
  EXPECT_TRUE(has(refusal({table}), table.tsv + ":2: byte 7"));
  EXPECT_EQ(read_corpus({table}, InvalidUtf8::skip).text.size(), 1);
}

TEST_F(CorpusTest, DifferentNumbersOfLines) {
  const CorpusFiles files = pair("one\ntwo\nthree\n", "eins\n");
  EXPECT_TRUE(has(refusal({files}), "a.en has 3 lines")) << refusal({files});
  EXPECT_TRUE(has(refusal({files}), "a.de has 1;"));
  EXPECT_TRUE(has(refusal({pair("one\n", "eins\nzwei\n")}), "a.en has 1 line but"));
}

TEST_F(CorpusTest, LinesOfATsvNeedATab) {
  EXPECT_TRUE(has(refusal({tsv("one\teins\ntwo zwei\n")}), "a.tsv:2: the line has no tab"));
}

TEST_F(CorpusTest, EmptyCorpora) {
  EXPECT_TRUE(has(refusal({}), "no text files"));
  EXPECT_TRUE(has(refusal({pair("", "")}), "a.en: is empty; expected one sentence on each line"));
  EXPECT_TRUE(has(refusal({pair("one\n", "eins\n"), tsv("")}), "a.tsv: is empty"));
  EXPECT_TRUE(has(refusal({pair("\n", "\n")}), "no pair of lines is left (1 pair, 0 kept; dropped: 1 with"));
  EXPECT_TRUE(has(refusal({pair("one\n\n", "\nzwei\n")}), "2 with an empty side"));
}

TEST_F(CorpusTest, MissingFilesAreNoticedBeforeAnyIsRead) {
  const CorpusFiles broken = pair("one\ntwo\n", "eins\n");
  const CorpusFiles missing{folder_ / "nowhere.en", broken.target, ""};
  EXPECT_TRUE(has(refusal({broken, missing}), "nowhere.en: can't be read: No such file"));
}

TEST_F(CorpusTest, HalfGivenCorpora) {
  EXPECT_TRUE(has(refusal({{put("a.en", "one\n"), "", ""}}), "a corpus needs a source and a target file"));
  EXPECT_TRUE(has(refusal({{"", "", ""}}), "a corpus needs a source and a target file"));
  EXPECT_TRUE(has(refusal({{put("a.en", "one\n"), "", put("a.tsv", "a\tb\n")}}), "both sides"));
}

}  // namespace
}  // namespace sixfold
