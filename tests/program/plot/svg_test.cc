#include "program/plot/svg.h"

#include <gtest/gtest.h>

namespace sixfold {
namespace {

TEST(XmlText, EscapesMarkupAndShowsControlCharacters) {
  EXPECT_EQ(xml_text("a < b & \"c\" > d"), "a &lt; b &amp; &quot;c&quot; &gt; d");
  EXPECT_EQ(xml_text("\t\n\x7f"), "␉␊␡");
  EXPECT_EQ(xml_text(std::string_view("a\0b", 3)), "a␀b");
  EXPECT_EQ(xml_text("▁größer 猫🐈"), "▁größer 猫🐈");
}

TEST(XmlText, ReplacesWhatIsNoCharacter) {
  EXPECT_EQ(xml_text("\xff"), "\uFFFD");
  EXPECT_EQ(xml_text("a\xe7\x8c"), "a\uFFFD");                  // cut in mid-character
  EXPECT_EQ(xml_text("\xed\xa0\x80x").substr(0, 3), "\uFFFD");  // a surrogate
  EXPECT_EQ(xml_text("\uFFFE"), "\uFFFD");
  EXPECT_EQ(xml_text("\u0085"), "\uFFFD");
}

TEST(TextWidth, KnowsWideNarrowAndCombiningCharacters) {
  EXPECT_GE(text_width("猫猫", 10), 20);
  EXPECT_LT(text_width("ill", 10), text_width("mmm", 10));
  EXPECT_DOUBLE_EQ(text_width("e\u0301", 10), text_width("e", 10));
  EXPECT_DOUBLE_EQ(text_width("", 10), 0);
  EXPECT_DOUBLE_EQ(text_width("abc", 20), 2 * text_width("abc", 10));
}

TEST(Elided, CutsBetweenCharactersToTheWidthGiven) {
  EXPECT_EQ(elided("short", 10, 100), "short");
  for (std::string_view text :
       {"incomprehensibilities", "吾輩は猫である。名前はまだ無い。", "mixed 猫 and 🐈 text"}) {
    std::string cut = elided(text, 10, 60);
    EXPECT_TRUE(cut.ends_with("…")) << cut;
    EXPECT_LE(text_width(cut, 10), 60) << cut;
    EXPECT_GT(text_width(cut, 10), 40) << cut;
    EXPECT_EQ(xml_text(cut).find("\uFFFD"), std::string::npos) << cut;
    EXPECT_TRUE(text.starts_with(cut.substr(0, cut.size() - 3))) << cut;
  }
}

TEST(Wrapped, BreaksAtSpacesAndLosesNoWord) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(wrapped("", 10, 100), Lines{""});
  EXPECT_EQ(wrapped("one line", 10, 1000), Lines{"one line"});
  const std::string text = "many words that need several lines of a narrow picture";
  const Lines lines = wrapped(text, 10, 90);
  EXPECT_GT(lines.size(), 2u);
  std::string joined;
  for (const std::string& line : lines) {
    EXPECT_LE(text_width(line, 10), 90) << line;
    joined += (joined.empty() ? "" : " ") + line;
  }
  EXPECT_EQ(joined, text);
  EXPECT_TRUE(wrapped("incomprehensibilities of it", 10, 60)[0].ends_with("…"));
}

TEST(Svg, WritesShapesTextAndBothColourSchemes) {
  Svg svg;
  svg.rect({1, 2.5, 3, 4.256}, "heat", 0.5, "a<b");
  svg.rect({0, 0, 1, 1}, "panel");
  svg.text(5, 6, "x & y", {.size = 12, .anchor = Anchor::end, .rotate = -60, .css = "muted"});
  std::string picture = svg.finish(100, 50.5, "the <title>");
  for (std::string_view part : {"<rect x=\"1\" y=\"2.5\" width=\"3\" height=\"4.26\" class=\"heat\" "
                                "fill-opacity=\"0.500\"><title>a&lt;b</title></rect>",
                                "<rect x=\"0\" y=\"0\" width=\"1\" height=\"1\" class=\"panel\"/>",
                                "<text x=\"5\" y=\"6\" font-size=\"12\" class=\"muted\" text-anchor=\"end\" "
                                "transform=\"rotate(-60 5 6)\">x &amp; y</text>",
                                "width=\"100\" height=\"50.5\" viewBox=\"0 0 100 50.5\"",
                                "<title>the &lt;title&gt;</title>", "prefers-color-scheme:dark"})
    EXPECT_NE(picture.find(part), std::string::npos) << part << "\n" << picture;
}

}  // namespace
}  // namespace sixfold
