#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "error_message.h"
#include "tasks/translation/markup/fake_translators.h"
#include "tasks/translation/markup/translate_markup.h"

namespace sixfold {
namespace {

std::vector<std::string> vtt_texts(const std::string& vtt) {
  std::vector<std::string> all;
  const TextTranslator note = [&](const std::vector<std::string>& texts) {
    all = texts;
    return identity()(texts);
  };
  EXPECT_EQ(translate_webvtt(vtt, note), vtt);
  return all;
}

std::string vtt_cue(const std::string& text) { return "WEBVTT\n\n00:01.000 --> 00:02.000\n" + text + "\n"; }

/// A translator that says the same of everything.
TextTranslator always_says(const std::string& translation) {
  return [=](const auto& texts) { return std::vector<TranslatedText>(texts.size(), {.text = translation}); };
}

TEST(WebVtt, OnlyCuesAreTranslated) {
  const std::string vtt =
      "\uFEFFWEBVTT a title\r\nKind: captions\r\n\r\nNOTE a comment\r\nof two lines\r\n\r\nSTYLE\r\n"
      "::cue { color: red }\r\n\r\nREGION\r\nid:left\r\n\r\nintro\r\n00:00:01.000 --> 00:00:02.000 "
      "align:start\r\n"
      "The old dog\r\nsleeps.\r\n\r\nno cue\r\nat all\r\n\r\n00:03.000 --> 00:04.000\r\nNobody sees\r\n";
  EXPECT_EQ(vtt_texts(vtt), (std::vector<std::string>{"The old dog sleeps.", "Nobody sees"}));
  EXPECT_EQ(vtt_texts("WEBVTT\n00:01.000 --> 00:02.000\none\n00:03.000 --> 00:04.000\ntwo"),
            (std::vector<std::string>{"one", "two"}))
      << "no empty lines between";
  EXPECT_EQ(vtt_texts("WEBVTT\r\r00:01.000 --> 00:02.000\rone\rtwo\r\r00:03.000 --> 00:04.000\rthree"),
            (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(vtt_texts(vtt_cue("- Who?\n- Me\nand you.")), (std::vector<std::string>{"Who?", "Me and you."}));
  EXPECT_TRUE(vtt_texts("WEBVTT").empty());
}

TEST(WebVtt, TagsAndTimesAreNoText) {
  EXPECT_EQ(vtt_texts(vtt_cue(
                "<v.loud Bob>one <c.red.b>two</c> <00:01.500>three <v Ann>four &lt;5&gt; &amp;&nbsp;six")),
            (std::vector<std::string>{"one two three", "four <5> & six"}));
  EXPECT_EQ(vtt_texts(vtt_cue("<ruby>one<rt>two</rt> three<rt>four</ruby> five")),
            (std::vector<std::string>{"one three five"}));
  EXPECT_EQ(vtt_texts(vtt_cue("one <i two")), (std::vector<std::string>{"one"})) << "as players read it";
  const auto translated = [](const std::string& text, const TextTranslator& how) {
    return translate_webvtt(vtt_cue(text), how);
  };
  EXPECT_EQ(translated("one <b>two</b> &lt;three", reversed()), vtt_cue("&lt;THREE <b>TWO</b> ONE"));
  EXPECT_EQ(translated("one <00:01.100>two <00:01.200>three", reversed()),
            vtt_cue("<00:01.100>THREE <00:01.200>TWO ONE"))
      << "times ascend";
  EXPECT_EQ(translated("one two\nthree four", upper_case()), vtt_cue("ONE TWO\nTHREE FOUR"));
}

/// An empty line would end a cue, and an arrow would begin one.
TEST(WebVtt, LinesEndAsInTheFile) {
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    const std::string cue =
        "WEBVTT" + end + end + "00:01.000 --> 00:02.000" + end + "one two" + end + "three four" + end;
    EXPECT_EQ(translate_webvtt(cue, upper_case()),
              "WEBVTT" + end + end + "00:01.000 --> 00:02.000" + end + "ONE TWO" + end + "THREE FOUR" + end);
  }
}

TEST(WebVtt, ATranslationIsNoStructure) {
  EXPECT_EQ(
      translate_webvtt(vtt_cue("one two\n<v Bob>three"), always_says("\n\n00:05.000 --> 00:06.000\n\n<i>x\n")),
      vtt_cue("00:05.000 --&gt; 00:06.000 &lt;i&gt;x\n<v Bob>00:05.000 --&gt; 00:06.000 &lt;i&gt;x"));
  EXPECT_EQ(translate_webvtt(vtt_cue("one\n<v Bob>two"), always_says("")), vtt_cue("\u00A0\n<v Bob>\u00A0"));
  EXPECT_EQ(translate_webvtt(vtt_cue("<b>\none</b> two <i>three\n</i>\n<v Bob>four"), upper_case()),
            vtt_cue("<b>ONE</b>\nTWO\n<i>THREE</i> \n<v Bob>FOUR"));
}

TEST(WebVtt, RefusesWhatIsNone) {
  const auto message = [](const std::string& vtt) {
    return error_message([&] { translate_webvtt(vtt, identity(), "a.vtt"); });
  };
  for (const char* vtt :
       {"", "\n", "WEBVTTx\n", "1\n00:00:01,000 --> 00:00:02,000\nsrt\n", "\uFEFF\uFEFFWEBVTT"})
    EXPECT_NE(message(vtt).find("a.vtt, line 1, column 1: the first line"), std::string::npos) << message(vtt);
  EXPECT_NE(message("WEBVTT\n\nx\nsoon --> later\nhello").find("a.vtt, line 4"), std::string::npos);
  EXPECT_NE(message(vtt_cue("\xFF")).find("UTF-8"), std::string::npos);
  const std::string tags(size_t{1} << 20, '<');
  EXPECT_EQ(vtt_texts(vtt_cue("one " + tags)), (std::vector<std::string>{"one"})) << "in linear time";
  std::string nested;
  for (int i = 0; i < 100'000; ++i) nested += "<rt><b>a";
  EXPECT_TRUE(vtt_texts(vtt_cue(nested)).empty());
}

/// Makes files of all kinds of blocks.
class VttGenerator {
 public:
  explicit VttGenerator(uint64_t seed) : random_(seed, 11) {}

  std::string vtt() {
    text_ = below(4) == 0 ? "\uFEFF" : "";
    line(below(2) == 0 ? "WEBVTT" : "WEBVTT\ttitle");
    if (below(3) == 0) line("Language: en");
    for (uint32_t blocks = below(6); blocks > 0; --blocks) {
      line("");
      if (below(6) == 0) line("");
      static const std::vector<std::string> kept{"NOTE", "NOTE what is said", "STYLE", "REGION", "lost"};
      if (below(4) == 0) {
        line(kept[below(5)]);
        for (uint32_t i = below(3); i > 0; --i) line("a { b: c }");
        continue;
      }
      if (below(2) == 0) line("cue " + std::to_string(below(100)));
      line(below(2) == 0 ? "00:01.000 --> 00:02.000" : "01:00:01.000 \t-->01:00:02.000 line:5% align:end");
      for (uint32_t i = 1 + below(3); i > 0; --i) line((below(5) == 0 ? "- " : "") + spoken(0));
    }
    if (below(3) == 0) text_.resize(text_.find_last_not_of("\r\n") + 1);
    return text_;
  }
  /// With a part cut out or repeated.
  std::string broken() {
    std::string text = vtt();
    const size_t at = below(static_cast<uint32_t>(text.size())), size = below(20);
    return below(2) == 0 ? text.erase(at, size)
                         : text.insert(at, text.substr(below(static_cast<uint32_t>(at + 1)), size));
  }

 private:
  uint32_t below(uint32_t n) { return random_.below(n); }
  void line(const std::string& text) { text_ += text + (crlf_ ? "\r\n" : "\n"); }
  std::string spoken(int depth) {
    std::string text;
    for (uint32_t i = 1 + below(4); i > 0; --i) {
      static const std::vector<std::string> words{"one",       "two", "three &amp;", "&lt;four",
                                                  "f\u00FCnf", "6",   "\u4e03"};
      static const std::vector<std::string> tags{"b", "c.red", "lang en", "v Bob", "u", "ruby"};
      static const std::vector<std::string> marks{"<00:01.500>", "<v Ann>", "<i>", "</u>", "<rt>x</rt>"};
      const std::string tag = tags[below(6)];
      const std::string inner = depth < 3 && below(3) == 0 ? spoken(depth + 1) : words[below(7)];
      text += below(4) == 0   ? "<" + tag + ">" + inner + "</" + tag.substr(0, tag.find_first_of(". ")) + ">"
              : below(6) == 0 ? marks[below(5)]
                              : inner;
      if (i > 1) text += below(5) == 0 ? "" : " ";
    }
    return text;
  }

  RandomStream random_;
  bool crlf_ = random_.below(2) == 0;
  std::string text_;
};

/// What a player sees but the words: the blocks, by a reading of its own. Of a cue those lines before its text
/// stay, and its tags, sorted, but times in order.
std::vector<std::string> skeleton(std::string vtt) {
  std::erase(vtt, '\r');
  vtt += "\n\n";
  std::vector<std::string> found, tags, times;
  bool in_cue = false;
  for (size_t begin = 0; begin < vtt.size();) {
    const size_t end = vtt.find('\n', begin);
    const std::string line = vtt.substr(begin, end - begin);
    begin = end + 1;
    if (line.empty()) {
      std::ranges::sort(tags);
      for (std::vector<std::string>* some : {&tags, &times}) {
        found.insert(found.end(), some->begin(), some->end());
        some->clear();
      }
      in_cue = false;
    }
    if (!in_cue) {
      found.push_back(line);
      in_cue = line.find("-->") != line.npos;
      continue;
    }
    for (size_t i = 0; (i = line.find('<', i)) != line.npos; ++i) {
      const std::string tag = line.substr(i, line.find('>', i) + 1 - i);
      (tag[1] == '0' ? times : tags).push_back(tag);
    }
    if (line.starts_with("- ")) tags.emplace_back("-");
  }
  return found;
}

TEST(WebVtt, GeneratedFilesKeepTheirStructure) {
  const TextTranslator translators[] = {reversed(), upper_case(),     dropping(),
                                        adding(),   without_spaces(), arbitrary()};
  for (uint64_t seed = 0; seed < 10'000; ++seed) {
    const std::string vtt = VttGenerator(seed).vtt();
    ASSERT_EQ(translate_webvtt(vtt, identity()), vtt) << "seed " << seed;
    const std::string translated = translate_webvtt(vtt, translators[seed % 6]);
    ASSERT_EQ(skeleton(translated), skeleton(vtt)) << "seed " << seed << "\n" << vtt << "\n" << translated;
    if (seed % 6 < 2) {  // the same words
      std::string words, expected;
      for (const std::string& text : vtt_texts(translated)) words += text + "\n";
      for (const TranslatedText& text : translators[seed % 6](vtt_texts(vtt))) expected += text.text + "\n";
      ASSERT_EQ(words, expected) << "seed " << seed << "\n" << vtt << "\n" << translated;
    }
  }
}

TEST(WebVtt, BrokenFilesAreKeptOrRefused) {
  int kept = 0;
  for (uint64_t seed = 0; seed < 10'000; ++seed) {
    const std::string vtt = VttGenerator(seed).broken();
    std::string translated;
    try {
      translated = translate_webvtt(vtt, reversed());
    } catch (const Error&) {
      continue;
    }
    ++kept;
    ASSERT_EQ(translate_webvtt(vtt, identity()), vtt);
    ASSERT_EQ(translate_webvtt(translated, identity()), translated) << "seed " << seed << "\n" << vtt;
  }
  EXPECT_GT(kept, 5'000);
}

}  // namespace
}  // namespace sixfold
