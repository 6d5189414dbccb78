#include "data/tmx.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "base/file.h"
#include "base/random.h"
#include "data/corpus.h"
#include "error_message.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

using TextPairs = std::vector<std::pair<std::string, std::string>>;

class TmxTest : public testing::Test {
 protected:
  std::string file(const std::string& text) const {
    write_file_atomically(folder_ / "a.tmx", text);
    return folder_ / "a.tmx";
  }
  TextPairs read(const std::string& text, const std::string& source = "en",
                 const std::string& target = "de") const {
    TextPairs pairs;
    TmxReader reader(file(text), source, target);
    for (std::pair<std::string, std::string> pair; reader.next(pair.first, pair.second);) pairs.push_back(pair);
    return pairs;
  }
  std::string refusal(const std::string& text) const {
    return error_message([&] { read(text); });
  }

  TemporaryFolder folder_;
};

std::string tuv(const std::string& language, const std::string& text) {
  return "<tuv xml:lang=\"" + language + "\"><seg>" + text + "</seg></tuv>";
}
std::string tmx(const std::string& body) {
  return "<?xml version=\"1.0\"?>\n<!DOCTYPE tmx SYSTEM \"tmx14.dtd\">\n<tmx version=\"1.4\"><header "
         "srclang=\"*all*\"/>"
         "<body>\n" +
         body + "</body></tmx>\n";
}

TEST_F(TmxTest, UnitsWithBothLanguagesArePairs) {
  EXPECT_EQ(read(tmx("<tu>" + tuv("en", "one") + tuv("de", "eins") + tuv("fr", "un") + "</tu><tu>" +
                     tuv("en", "two") + "</tu><tu><note>n</note>" + tuv("DE_de", "drei") +
                     tuv("EN-us", "three") + "</tu>")),
            (TextPairs{{"one", "eins"}, {"three", "drei"}}));
  EXPECT_EQ(read("<tmx><tu><tuv lang='en'><seg>a</seg></tuv><tuv "
                 "lang='de'><prop>x</prop><seg>b</seg></tuv></tu></tmx>"),
            (TextPairs{{"a", "b"}}))
      << "of version 1.1";
}

TEST_F(TmxTest, ExactCodesComeFirst) {
  const std::string unit =
      tmx("<tu>" + tuv("pt", "eu") + tuv("pt-PT", "tu") + tuv("pt-BR", "voc\u00EA") + tuv("pt-BR", "second") +
          tuv("en-GB", "colour") + tuv("en-US", "color") + "</tu>");
  EXPECT_EQ(read(unit, "pt_BR", "en"), (TextPairs{{"voc\u00EA", "colour"}}));
  EXPECT_EQ(read(unit, "eng_Latn", "pt"), (TextPairs{{"colour", "eu"}}));
  EXPECT_EQ(read(unit, "en-GB", "en-US"), (TextPairs{{"colour", "color"}}));
}

TEST_F(TmxTest, CodeIsNoText) {
  EXPECT_EQ(read(tmx("<tu>" +
                     tuv("en",
                         "\n one <bpt i=\"1\">&lt;b <sub>x</sub>></bpt>two<ept i=\"1\">y</ept>\t <hi>three</hi>"
                         "<ph/><it pos=\"begin\">z</it> &amp;<![CDATA[<four>]]>&#8364;\r\n") +
                     tuv("de", "eins") + "</tu>")),
            (TextPairs{{"one two three &<four>\u20AC", "eins"}}));
}

TEST_F(TmxTest, OtherEncodingsAreRead) {
  const std::string text = "<tmx><tu>" + tuv("en", "a") + tuv("de", "\u00E4") + "</tu></tmx>";
  std::string wide = "\xFF\xFE", latin = "<?xml version='1.0' encoding='ISO-8859-1'?>";
  for (size_t i = 0; i < text.size(); ++i) {
    const bool umlaut = text[i] == '\xC3';
    const char c = umlaut ? '\xE4' : text[i];
    wide += std::string{c, '\0'};
    latin += c;
    i += umlaut;
  }
  EXPECT_EQ(read(wide), (TextPairs{{"a", "\u00E4"}}));
  EXPECT_EQ(read(latin), (TextPairs{{"a", "\u00E4"}}));
  EXPECT_EQ(read("\uFEFF" + text), (TextPairs{{"a", "\u00E4"}}));
}

TEST_F(TmxTest, PairReaderReadsThemAmongOthers) {
  write_file_atomically(folder_ / "b.tsv", "two\tzwei\n");
  const std::string name = file(tmx("<tu>" + tuv("en", "one") + tuv("de", "eins") + "</tu>\n<tu>" +
                                    tuv("en", " ") + tuv("de", "null") + "</tu>"));
  const auto files = corpus_files({name, folder_ / "b.tsv"}, "data.train", "en", "de");
  const Corpus corpus = read_corpus(files);
  EXPECT_EQ(corpus.text.source, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(corpus.text.target, (std::vector<std::string>{"eins", "zwei"}));
  EXPECT_EQ(corpus.report.empty, 1);
  PairReader reader(files, InvalidUtf8::error);
  std::string source, target;
  ASSERT_TRUE(reader.next(source, target));
  EXPECT_EQ(reader.place(), name + ":4");
  EXPECT_GT(reader.fraction_read(), 0.5);
  ASSERT_TRUE(reader.next(source, target));
  EXPECT_EQ(reader.place(), (folder_ / "b.tsv") + ":1");
  expect_holds(error_message([&] { corpus_files({name}, "data.train", "en"); }), "data.target_language");
}

TEST_F(TmxTest, RefusesWhatIsNone) {
  expect_holds(refusal(""), "a.tmx:1: the TMX is not well-formed: no element found");
  expect_holds(refusal("one\ttwo\n"), "a.tmx:1");
  expect_holds(refusal("<html/>"), "is not a TMX file, whose root is <tmx>, but has <html>");
  expect_holds(refusal("<tmx>\n<tu>"), "a.tmx:2");
  expect_holds(refusal("<tmx>\xFF</tmx>"), "a.tmx:1");
  expect_holds(refusal(tmx("<tu>" + tuv("en", "one") + tuv("fr", "un") + "</tu>")),
               "no unit has both en and de; its languages are: en, fr");
  expect_holds(refusal(tmx("")), "its languages are: none");
  expect_holds(refusal("<!DOCTYPE tmx [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;&a;\">]><tmx>&b;</tmx>"),
               "declares the entity a");
  expect_holds(refusal(tmx("<tu>" + tuv("en", "&x;") + "</tu>")), "the entity &x; is not known");
  std::string deep = "<tmx>";
  for (int i = 0; i < 1000; ++i) deep += "<tu>";
  expect_holds(refusal(deep), "nested");
  expect_holds(refusal(tmx("<tu>" + tuv("en", std::string(1'100'000, 'a')) + "</tu>")),
               "a segment has more than");
  expect_holds(refusal(tmx("<!--" + std::string(9'000'000, '-'))), "a.tmx:4");
  expect_holds(refusal(tmx("<tu x='" + std::string(9'000'000, 'a'))), "a tag or comment has more than");
}

/// Units with known pairs, of all kinds of variants and codes. Files are larger than what is read at once.
TEST_F(TmxTest, GeneratedMemoriesGiveTheirPairs) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    RandomStream random(seed, 3);
    TextPairs expected;
    std::string body;
    const auto segment = [&](std::string& text) {
      std::string written;
      for (uint32_t i = 1 + random.below(6); i > 0; --i) {
        static const std::pair<const char*, const char*> parts[] = {{"one", "one"},
                                                                    {" ", " "},
                                                                    {"&lt;", "<"},
                                                                    {"f\u00FCnf", "f\u00FCnf"},
                                                                    {"<ph x=\"1\">one</ph>", ""},
                                                                    {"<hi>two</hi>", "two"},
                                                                    {"\n", " "},
                                                                    {"<bpt i=\"1\"/>", ""},
                                                                    {"<!-- c -->", ""},
                                                                    {"<![CDATA[&]]>", "&"}};
        const auto& [bytes, meant] = parts[random.below(10)];
        written += bytes, text += meant;
      }
      std::string folded;
      for (const char c : text)
        if (c != ' ' || (!folded.empty() && folded.back() != ' ')) folded += c;
      if (folded.ends_with(' ')) folded.pop_back();
      text = folded;
      return written;
    };
    for (uint32_t i = 1 + random.below(seed % 10 == 0 ? 3000 : 30); i > 0; --i) {
      std::pair<std::string, std::string> pair;
      std::string other;
      const bool has_source = random.below(8) != 0, has_target = random.below(8) != 0;
      std::vector<std::string> variants{tuv("fr", segment(other))};
      if (has_source) variants.push_back(tuv("en-GB", segment(pair.first)));
      if (has_target) variants.push_back(tuv("de", segment(pair.second)));
      std::rotate(variants.begin(), variants.begin() + random.below(static_cast<uint32_t>(variants.size())),
                  variants.end());
      body += "<tu tuid=\"" + std::to_string(i) + "\">";
      for (const std::string& variant : variants) body += variant;
      body += "</tu>\n";
      if (has_source && has_target) expected.push_back(pair);
    }
    if (expected.empty()) continue;
    ASSERT_EQ(read(tmx(body)), expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace sixfold
