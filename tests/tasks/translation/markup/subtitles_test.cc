#include <gtest/gtest.h>

#include <algorithm>

#include "error_message.h"
#include "tasks/translation/markup/fake_translators.h"
#include "tasks/translation/markup/translate_markup.h"

namespace sixfold {
namespace {

std::vector<std::string> srt_texts(const std::string& srt) {
  std::vector<std::string> all;
  const TextTranslator note = [&](const std::vector<std::string>& texts) {
    all = texts;
    return identity()(texts);
  };
  EXPECT_EQ(translate_srt(srt, note), srt);
  return all;
}

std::string cue(const std::string& text) { return "1\n00:00:01,000 --> 00:00:02,000\n" + text + "\n"; }

TEST(Srt, TheLinesOfASubtitleAreOneText) {
  EXPECT_EQ(
      srt_texts("\uFEFF1\r\n00:00:01,000 --> 00:00:02,000\r\nThe old dog\r\nsleeps.\r\n\r\n2\r\n0:00:03.0 --> "
                "0:00:04.5 X1:10\r\n<i>Nobody</i> sees\r\n"),
      (std::vector<std::string>{"The old dog sleeps.", "Nobody sees"}));
  EXPECT_EQ(srt_texts(cue("- Who?\n- Me\nand you.")), (std::vector<std::string>{"Who?", "Me and you."}));
  EXPECT_EQ(srt_texts(cue("\u2013Who?\n \u2014  Me\n-5 -- or\n-- so")),
            (std::vector<std::string>{"Who?", "Me -5 -- or -- so"}));
  EXPECT_EQ(srt_texts(cue("one\n\ntwo\n3\n")), (std::vector<std::string>{"one", "two 3"}))
      << "a blank line within";
  EXPECT_TRUE(srt_texts("").empty());
}

TEST(Srt, TranslationsHaveAsManyLines) {
  const auto translated = [](const std::string& text) { return translate_srt(cue(text), upper_case()); };
  EXPECT_EQ(translated("one two\nthree four"), cue("ONE TWO\nTHREE FOUR"));
  EXPECT_EQ(translated("one\ntwo three four five six"), cue("ONE\nTWO THREE FOUR FIVE SIX"));
  EXPECT_EQ(translated("one two\n<i>three</i>\n{\\an8}four"), cue("ONE TWO\n<i>THREE</i>\n{\\an8}FOUR"));
  EXPECT_EQ(translated("<font color=\"a b\">one two\nthree</font>"),
            cue("<font color=\"a b\">ONE TWO\nTHREE</font>"));
  EXPECT_EQ(translate_srt(cue("one two\nthree four"),
                          [](const auto& texts) {
                            return std::vector<TranslatedText>(texts.size(), {.text = "oneword"});
                          }),
            cue("oneword"));
  EXPECT_EQ(translate_srt(cue("one two\nthree four"),
                          [](const auto& texts) {
                            return std::vector<TranslatedText>(texts.size(), {.text = "犬は、庭で寝る"});
                          }),
            cue("犬は、\n庭で寝る"))
      << "scripts without spaces";
  const std::string times = "1\r\n00:00:01,000 --> 00:00:02,000\r\n";
  EXPECT_EQ(translate_srt(times + "one\r\ntwo\r\nthree\r\n",
                          [](const auto& texts) {
                            return std::vector<TranslatedText>(texts.size(), {.text = "犬が犬が犬が"});
                          }),
            times + "犬が\r\n犬が\r\n犬が\r\n");
  EXPECT_EQ(translate_srt("1\r\n00:00:01,000 --> 00:00:02,000\r\na b c\r\nd e f", reversed()),
            "1\r\n00:00:01,000 --> 00:00:02,000\r\nF E D\r\nC B A");
}

/// A model may leave out the dash that shows who speaks.
TEST(Srt, DashesOfADialogueStay) {
  const TextTranslator without_dashes = [](const std::vector<std::string>& texts) {
    std::vector<TranslatedText> all;
    for (std::string text : texts) {
      std::erase(text, '-');
      all.push_back({text});
    }
    return all;
  };
  EXPECT_EQ(translate_srt(cue("- Who?\n- Me."), without_dashes), cue("- Who?\n- Me."));
}

TEST(Srt, AnUnpairedTagHasSpaceAsInTheSource) {
  EXPECT_EQ(translate_srt(cue("one <i>two three"), reversed()), cue("THREE <i>TWO ONE"));
  EXPECT_EQ(translate_srt(cue("one two</i> three"), reversed()), cue("THREE TWO</i> ONE"));
  EXPECT_EQ(translate_srt(cue("one <i> two"), upper_case()), cue("ONE <i> TWO"));
}

TEST(Srt, ATranslationIsNoStructure) {
  const TextTranslator evil = [](const auto& texts) {
    return std::vector<TranslatedText>(texts.size(), {.text = "00:00:05,000 ---> 00:00:06,000\n\n7\n\xFF"});
  };
  const std::string srt = translate_srt(cue("hello"), evil);
  EXPECT_EQ(srt, cue("00:00:05,000 -> 00:00:06,000 7 \uFFFD"));
  const TextTranslator two_spaces = [](const auto& texts) {
    return std::vector<TranslatedText>(texts.size(), {.text = "one  two   three"});
  };
  EXPECT_EQ(translate_srt(cue("a\nb\nc"), two_spaces), cue("one\ntwo\nthree"));
  EXPECT_EQ(srt_texts(cue("a --> b")), (std::vector<std::string>{"a", "b"}));
}

TEST(Srt, RefusesWhatIsNone) {
  const auto message = [](const std::string& srt) {
    return error_message([&] { translate_srt(srt, identity(), "a.srt"); });
  };
  EXPECT_NE(message("Hello\n").find("a.srt, line 1"), std::string::npos) << message("Hello\n");
  EXPECT_NE(message("1\n00:00:01 -> 00:00:02\n").find("neither the number nor the times"), std::string::npos);
  EXPECT_NE(message(cue("\xFF")).find("UTF-8"), std::string::npos);
}

}  // namespace
}  // namespace sixfold
