#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "error_message.h"
#include "tasks/translation/markup/fake_translators.h"
#include "tasks/translation/markup/markdown_leaves.h"
#include "tasks/translation/markup/translate_markup.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

std::vector<std::string> markdown_texts(const std::string& markdown) {
  std::vector<std::string> all;
  const TextTranslator note = [&](const std::vector<std::string>& texts) {
    all = texts;
    return identity()(texts);
  };
  EXPECT_EQ(translate_markdown(markdown, note), markdown);
  return all;
}

using Texts = std::vector<std::string>;

TEST(Markdown, TextsOfBlocksAreTranslated) {
  EXPECT_EQ(markdown_texts("\uFEFF---\ntitle: x\n---\n# One #\n\nTwo\nthree\r\n> four\n> five\n\n- six\n  - "
                           "seven\n\n1. [x] a\n\n"
                           "Setext\n======\n\n| h | i |\n|---|:-:|\n| j\\|k | **l** |\n"),
            (Texts{"One", "Two three", "four five", "six", "seven", "a", "Setext", "h", "i", "j|k", "l"}));
  EXPECT_EQ(
      markdown_texts("```c\nint x;\n```\n\n    code\n\n<div>\nraw\n</div>\n\n[ref]: http://x 'title'\n\n***\n"),
      Texts());
  EXPECT_EQ(
      markdown_texts("a *b* __c__ ~~d~~ [e](u \"t\") [f][ref] [ref] ![alt *x*](i) <http://x> http://y.org/z "
                     "g<br>h &amp; \\*i\\* <b>j</b>\n\n[ref]: u\n"),
      (Texts{"a b c d e f ref g", "h & *i* j"}));
  EXPECT_EQ(markdown_texts("a `code` b\\\nc  \nd\n"), (Texts{"a", "b", "c", "d"}));
  EXPECT_TRUE(markdown_texts("").empty());
}

/// Tables of GitHub that md4c does not find by itself.
TEST(Markdown, TablesMayFollowTextAndHaveShortDelimiters) {
  for (const char* delimiters :
       {"|--|--|", "| - | - |", "|-|-|", "|:-:|--|", "| :- | -: |", "-|-", "--|--", "|---|---|"})
    for (const std::string quote : {"", "> ", "  "}) {
      const std::string row = "\n" + quote, start = quote == "  " ? "- " : quote;
      EXPECT_EQ(markdown_texts(start + "| a b | c |" + row + delimiters + row + "| d | e f |\n\nend\n"),
                (Texts{"a b", "c", "d", "e f", "end"}))
          << delimiters;
      EXPECT_EQ(markdown_texts(start + "some text:" + row + "| a b | c |" + row + delimiters + row +
                               "| d | e f |" + row + delimiters + row + "| g | h |\n\nend\n"),
                (Texts{"some text:", "a b", "c", "d", "e f", "g", "h", "end"}))
          << delimiters;
    }
  EXPECT_EQ(translate_markdown("Dogs:\n| a b | c |\r\n|:-|--|\n| d | e f |\n", upper_case()),
            "DOGS:\n| A B | C |\r\n|:-|--|\n| D | E F |\n");
  EXPECT_EQ(markdown_texts("a | b\n--\n\n| c | d |\n| - |\n\n```\n| a | b |\n|-|-|\n```\n"),
            (Texts{"a | b", "| c | d | | - |"}));
}

/// A table ends where another block begins; what is no table to GitHub is none here.
TEST(Markdown, TablesEndWhereBlocksBegin) {
  for (const std::string delimiters : {"|-|-|", "|---|---|"}) {
    const std::string table = "| a | b |\n" + delimiters + "\n| c | d |\n";
    const Texts cells{"a", "b", "c", "d"};
    const auto with = [&](const Texts& more) {
      Texts all = cells;
      all.insert(all.end(), more.begin(), more.end());
      return all;
    };
    EXPECT_EQ(markdown_texts(table + "```\ncode\n```\n"), cells);
    EXPECT_EQ(markdown_texts(table + "# Head\n"), with({"Head"}));
    EXPECT_EQ(markdown_texts(table + "<div>\nraw\n</div>\n"), cells);
    EXPECT_EQ(markdown_texts(table + "    code here\n"), cells);
    EXPECT_EQ(markdown_texts(table + "- one\n- two\n"), with({"one", "two"}));
    EXPECT_EQ(markdown_texts(table + "***\n"), cells);
    EXPECT_EQ(markdown_texts(table + "> e\n> | f | g |\n> |-|-|\n"), with({"e", "f", "g"}));
    EXPECT_EQ(markdown_texts("```\n" + table + "```\n" + table), cells);
    EXPECT_EQ(markdown_texts("> ~~~\n> code\n\n" + table), cells);
    EXPECT_EQ(markdown_texts("<div translate=\"no\">\nraw\n" + table + "</div>\n"), Texts());
    EXPECT_EQ(markdown_texts("<details><summary>x</summary>\n" + table + "</details>\n"), Texts());
    EXPECT_EQ(markdown_texts("-\t| a | b |\n\t" + delimiters + "\n\t| c | d |\n"), cells);
    EXPECT_EQ(markdown_texts("- - | a | b |\n    " + delimiters + "\n    | c | d |\n"), cells);
  }
  EXPECT_EQ(markdown_texts("* a | b\n- | -\n"), Texts{"a | b"});
}

TEST(Markdown, FrontMatterMayEndWithPoints) {
  EXPECT_EQ(markdown_texts("---\ntitle: x\nauthor: y\n...\n\n# One\n\n---\n\ntwo\n"), (Texts{"One", "two"}));
}

TEST(Markdown, ElementsThatAreNotTranslatedInHtmlKeepTheirContent) {
  EXPECT_EQ(
      markdown_texts("a <kbd>b *x* c</kbd> d <span translate=\"no\">e</span> f <script>g \"h\"</script> i\n"),
      (Texts{"a", "d", "f i"}));
  EXPECT_EQ(markdown_texts("a *b <code>c</code> d* <b class=\"notranslate\">e</b>\n"), (Texts{"a b", "d"}));
  EXPECT_EQ(markdown_texts("a <code>b *c </code> d* e\n"), (Texts{"a", "b c", "d e"}))
      << "its end is within a span";
  EXPECT_EQ(markdown_texts("a <span translate=\"no\">b <span>c</span> d</span> e\n"), (Texts{"a", "e"}));
  EXPECT_EQ(markdown_texts("a <code>b\n"), (Texts{"a", "b"})) << "it has no end";
  EXPECT_EQ(translate_markdown("one <kbd>Ctrl</kbd> two\n", upper_case()), "ONE <kbd>Ctrl</kbd> TWO\n");
}

TEST(Markdown, MarksFollowTheirWords) {
  const auto translated = [](const std::string& markdown, const TextTranslator& how = reversed()) {
    return translate_markdown(markdown, how);
  };
  EXPECT_EQ(translated("one **two** [three](u \"t\")\n"), "[THREE](u \"t\") **TWO** ONE\n");
  EXPECT_EQ(translated("> one\n> *two*\n"), "> *TWO* ONE\n");
  EXPECT_EQ(translated("## one **two**\n"), "## **TWO** ONE\n");
  EXPECT_EQ(translated("***one** two*\n"), "*TWO **ONE***\n");
  EXPECT_EQ(translated("one ![x](i) two\n", upper_case()), "ONE ![x](i) TWO\n");
}

TEST(Markdown, OneSpaceFollowsALinkAroundAnImage) {
  const std::string text = "**[![A](a.png)](/a)** fast and [![B](b.png)](/b) slow\n";
  EXPECT_EQ(translate_markdown(text, upper_case()), "**[![A](a.png)](/a)** FAST AND [![B](b.png)](/b) SLOW\n");
}

TEST(Markdown, ATranslationIsNoMark) {
  const auto says = [](const std::string& markdown, const std::string& text) {
    return translate_markdown(
        markdown, [&](const auto& texts) { return std::vector<TranslatedText>(texts.size(), {.text = text}); });
  };
  EXPECT_EQ(says("one\n", "1. a"), "1\\. a\n");
  EXPECT_EQ(says("one\n", "- a *b* [c](d) <e> `f` g_h _i_ &amp; & # #j"),
            "\\- a \\*b\\* \\[c\\]\\(d) \\<e> \\`f\\` g_h \\_i\\_ \\&amp; & \\# \\#j\n");
  EXPECT_EQ(says("| a |\n|---|\n| b |\n", "x|y"), "| x\\|y |\n|---|\n| x\\|y |\n");
  EXPECT_EQ(says("# one\n", "a\n\n# b #"), "# a \\# b \\#\n");
  EXPECT_EQ(says("one **two**\n", ""), "one **two**\n") << "a block does not vanish";
}

/// Documents of all kinds of blocks and marks.
class MarkdownGenerator {
 public:
  /// `spaced`: whether white space is between all words and marks.
  explicit MarkdownGenerator(uint64_t seed, bool spaced = false) : random_(seed, 13), spaced_(spaced) {}

  std::string markdown() {
    std::string text = below(5) == 0 ? "---\ntitle: one\n---\n" : "";
    for (uint32_t i = 1 + below(4); i > 0; --i) text += block(0) + "\n";
    text += "[ref]: http://example.org 'title'\n";
    if (below(3) == 0) {
      std::string crlf;
      for (const char c : text) crlf += c == '\n' ? "\r\n" : std::string(1, c);
      return crlf;
    }
    return text;
  }
  /// With parts cut out, repeated, and signs put anywhere.
  std::string broken() {
    std::string text = markdown();
    for (uint32_t i = 1 + below(4); i > 0 && !text.empty(); --i) {
      const size_t at = below(static_cast<uint32_t>(text.size()));
      static const std::vector<std::string> scraps{"*",  "**", "_", "`",    "``",  "[",    "]",    "](", ")",
                                                   "![", "<",  ">", "|",    "\n",  "\n\n", "> ",   "- ", "#",
                                                   "~~", "\\", "&", "    ", "1. ", "<b>",  "</i>", "\t"};
      if (below(3) == 0)
        text.erase(at, below(20));
      else
        text.insert(at, scraps[below(static_cast<uint32_t>(scraps.size()))]);
    }
    while (!text.empty() && (text.back() & 0xC0) == 0x80) text.pop_back();
    return replace_invalid_utf8(text);
  }

 private:
  uint32_t below(uint32_t n) { return random_.below(n); }
  std::string indented(const std::string& text, const std::string& first, const std::string& rest) {
    std::string result = first;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      result += text.substr(begin, end - begin) + "\n";
      begin = end + 1;
      if (begin < text.size()) result += text[begin] == '\n' && rest == "  " ? "" : rest;
    }
    return result;
  }
  std::string block(int depth) {
    switch (below(depth < 2 ? 10 : 4)) {
      case 0:
        return std::string(1 + below(6), '#') + " " + line(0) + (below(3) == 0 ? " ##" : "") + "\n";
      case 1:
        return line(0) + "\n===\n";
      case 2:
        return below(2) == 0 ? "```c\nint *x;\n```\n" : "<div>\nraw *text*\n</div>\n";
      case 3:
        return "| " + line(0) + " | " + line(0) + " |\n|---|:-:|\n| " + line(0) + " | " + line(0) + " |\n";
      case 4:
      case 5:
        return indented(block(depth + 1), "> ", "> ");
      case 6:
        return indented(block(depth + 1), "- ", "  ") + (below(2) == 0 ? "- " + line(0) + "\n" : "");
      case 7:
        return "1. " + line(0) + "\n2. [ ] " + line(0) + "\n";
      default: {
        std::string text = line(0);
        for (uint32_t i = below(3); i > 0; --i)
          text += (below(4) == 0 ? "\\\n" : below(4) == 0 ? "  \n" : "\n") + line(0);
        return text + "\n";
      }
    }
  }
  std::string line(int depth) {
    std::string text;
    for (uint32_t i = 1 + below(4); i > 0; --i) {
      static const std::vector<std::string> words{"one",   "two,", "f\u00FCnf",  "(six)",
                                                  "&amp;", "\\*",  "snake_case", "\u4e03"};
      static const std::vector<std::string> marks{
          "`x *y*`", "![alt *x*](i.png)", "<http://x.org>", "http://y.org/z", "<br>",
          "[ref]",   "`` a`b ``",         "![](j \"t\")",   "[](k)"};
      const auto inner = [&] {
        if (spaced_) return words[below(3)] + " **" + words[below(4)] + "** " + marks[below(6)];
        return depth < 2 ? line(depth + 1) : words[below(3)];
      };
      switch (below(12)) {
        case 0:
          text += "*" + inner() + "*";
          break;
        case 1:
          text += "**" + (spaced_ ? words[0] : inner()) + "**";
          break;
        case 2:
          text += "_" + inner() + "_";
          break;
        case 3:
          text += depth == 0 ? "[" + words[below(8)] + " *two*](u \"t\")" : "[two][ref]";
          break;
        case 4:
          text += "~~" + inner() + "~~";
          break;
        case 5:
          text += "<b>" + inner() + "</b>";
          break;
        case 6:
          text += marks[below(9)];
          break;
        default:
          text += words[below(8)];
      }
      if (i > 1) text += !spaced_ && below(6) == 0 ? "" : " ";
    }
    return text;
  }

  RandomStream random_;
  bool spaced_;
};

/// What is broken between a document and its translation.
std::string broken_markdown(const MarkdownDocument& before, const MarkdownDocument& after) {
  if (before.blocks != after.blocks) return "the blocks have changed";
  for (size_t i = 0; i < before.leaves.size(); ++i) {
    if (before.leaves[i].spans != after.leaves[i].spans)
      return "the marks of text " + std::to_string(i) + " have changed";
    if (!std::ranges::includes(before.leaves[i].emphases, after.leaves[i].emphases))
      return "there is more emphasis";
  }
  return "";
}

TEST(Markdown, GeneratedDocumentsKeepTheirStructure) {
  const TextTranslator translators[] = {reversed(), upper_case(),     dropping(),
                                        adding(),   without_spaces(), arbitrary()};
  for (uint64_t seed = 0; seed < 5'000; ++seed) {
    const std::string markdown =
        seed % 5 < 2 ? MarkdownGenerator(seed).broken() : MarkdownGenerator(seed).markdown();
    ASSERT_EQ(translate_markdown(markdown, identity()), markdown) << "seed " << seed;
    std::string translated;
    ASSERT_NO_THROW(translated = translate_markdown(markdown, translators[seed % 6])) << "seed " << seed << "\n"
                                                                                      << markdown;
    ASSERT_EQ(broken_markdown(read_markdown(markdown), read_markdown(translated)), "")
        << "seed " << seed << "\n"
        << markdown << "\n"
        << translated;
  }
}

/// What only keeps its bytes is not translated. Where words are apart, all of them are translated.
TEST(Markdown, GeneratedDocumentsAreTranslated) {
  size_t leaves = 0, emphases = 0, kept = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const std::string markdown = MarkdownGenerator(seed, /*spaced=*/true).markdown();
    const std::string translated = translate_markdown(markdown, upper_case());
    const Texts texts = markdown_texts(markdown), upper_texts = markdown_texts(translated);
    ASSERT_EQ(texts.size(), upper_texts.size()) << "seed " << seed;
    for (size_t i = 0; i < texts.size(); ++i)
      ASSERT_EQ(upper_texts[i], upper(texts[i])) << "seed " << seed << "\n" << markdown << "\n" << translated;
    const MarkdownDocument before = read_markdown(markdown), after = read_markdown(translated);
    for (size_t i = 0; i < before.leaves.size(); ++i) {
      ++leaves;
      emphases += before.leaves[i].emphases.size(), kept += after.leaves[i].emphases.size();
    }
  }
  EXPECT_GT(leaves, 10'000u);
  EXPECT_EQ(kept, emphases);
}

/// A text whose translation would begin another block keeps its bytes, and those beside it are translated.
TEST(Markdown, ATextThatBreaksItsBlockIsKeptAlone) {
  const std::string pair = "one two\n\nthree <div>four</div>\n\n",
                    wanted = "TWO ONE\n\nthree <div>four</div>\n\n";
  const auto times = [](const std::string& text, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += text;
    return all;
  };
  EXPECT_EQ(translate_markdown(times(pair, 20), reversed()), times(wanted, 20));
  const std::string most = translate_markdown(times(pair, 100), reversed());  // too many to be found one by one
  EXPECT_TRUE(most.starts_with(times(wanted, 30))) << most;
  EXPECT_TRUE(most.ends_with(pair)) << most;
}

TEST(Markdown, RefusesWhatIsNone) {
  expect_holds(error_message([] { translate_markdown("a\xFF", identity(), "a.md"); }),
               "a.md, line 1, column 2");
}

}  // namespace
}  // namespace sixfold
