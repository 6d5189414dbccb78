#include "text/read_text.h"

#include <gtest/gtest.h>

#include "text/forty_ways.h"
#include "text/sample_text.h"
#include "text/tokenizers.h"

namespace sixfold {
namespace {

TEST(ReadText, FoldsWhiteSpaceAndComposes) {
  const std::string text = "\uFEFF \t e\u0301\u00A0\u3000m\u00B2 a\u00ADb \r";
  EXPECT_EQ(read_text(text, TextSide::source), "\u00E9 m\u00B2 ab");
  EXPECT_EQ(read_text(text, TextSide::target), "\uFEFF \u00E9 m\u00B2 a\u00ADb");
  EXPECT_EQ(read_text(text, TextSide::exact), text);
  EXPECT_EQ(read_text(" \t\u00A0 ", TextSide::source), "");
  EXPECT_EQ(read_text("e\u00AD\u0301", TextSide::source), "\u00E9");
  EXPECT_EQ(read_text("a\xFF e\u0301", TextSide::target), "a\uFFFD \u00E9");
}

/// The part of the original that each byte of the result stands for.
std::vector<std::string> origins(const std::string& text) {
  const NormalizedText read = locate_text(text, TextSide::source);
  EXPECT_EQ(read.text, read_text(text, TextSide::source));
  EXPECT_EQ(read.text.size(), read.origins.size());
  std::vector<std::string> parts;
  for (const auto& [begin, end] : read.origins) parts.push_back(text.substr(begin, end - begin));
  return parts;
}

TEST(ReadText, KnowsWhereItIsFrom) {
  using Parts = std::vector<std::string>;
  EXPECT_EQ(origins(" a \tb"), (Parts{"a", " \t", "b"}));
  EXPECT_EQ(origins("e\u0301x"), (Parts{"e\u0301", "e\u0301", "x"}));
  EXPECT_EQ(origins("x\u00ADy\u00A0z\uFEFF "), (Parts{"x", "y", "\u00A0", "z"}));
  EXPECT_EQ(origins(""), Parts{});
  const std::string long_text = std::string(2000, 'a') + "e\u0301";
  EXPECT_EQ(origins(long_text).back(), "e\u0301");
}

/// Marks after a letter are composed in parts of 1 KiB, so that no text takes quadratic time.
TEST(ReadText, LongRunsOfMarksAreComposedInParts) {
  std::string marks = "e";
  for (int i = 0; i < 400; ++i) marks += "\u0301\u0316";
  const std::string read = read_text(marks + marks, TextSide::target);
  EXPECT_EQ(read.substr(0, 2), "\u00E9");
  EXPECT_EQ(read.substr(2, 2), "\u0316") << "sorted";
  std::string apart;
  for (size_t begin = 0; begin < marks.size(); begin += 1023)  // an odd place: the letter has one byte
    apart += composed(std::string_view(marks).substr(begin, 1023));
  EXPECT_EQ(composed(marks), apart);
  EXPECT_EQ(composed(marks + marks).substr(0, 1000), composed(marks).substr(0, 1000));
}

class FortyWays : public testing::TestWithParam<bool> {
 protected:
  FortyWays() {
    TokenizerOptions options;
    options.vocab_size = 80;
    options.joint = GetParam();
    target_.push_back("Das sind 9 m\u00B2, \uFB01x.");
    tokenizers_ = make_tokenizers(options, sample::english(), target_);
  }
  std::vector<std::string> target_ = sample::german();
  Tokenizers tokenizers_;
};

TEST_P(FortyWays, AreOneSource) {
  const Tokenizer& source = *tokenizers_.source;
  ASSERT_EQ(sample::forty_ways().size(), 40u);
  const auto ids = source.encode(sample::one_way);
  for (const std::string& way : sample::forty_ways()) {
    EXPECT_EQ(source.encode(way), ids) << way;
    const auto located = source.locate(way);
    ASSERT_EQ(located.size(), ids.size());
    EXPECT_EQ(located.back().end, way.find_last_of(".\x8E") + 1) << way;
  }
}

TEST_P(FortyWays, TargetsAreComposedAndFoldedOnly) {
  const Tokenizer& target = *tokenizers_.target;
  const std::string text = target_.back();
  EXPECT_EQ(target.decode(target.encode(text)), text);
  EXPECT_EQ(target.decode(target.encode("\u00A0Das \t sind 9\u00A0m\u00B2, \uFB01x. ")), text);
  EXPECT_EQ(target.encode("Mein u\u0308b"), target.encode("Mein \u00FCb"));
  EXPECT_EQ(tokenizers_.source->encode("m\u00B2"), tokenizers_.source->encode("m2"));
}

INSTANTIATE_TEST_SUITE_P(Tokenizers, FortyWays, testing::Bool(),
                         [](const auto& test) { return test.param ? "Joint" : "Separate"; });

}  // namespace
}  // namespace sixfold
