#include <gtest/gtest.h>

#include <ctime>
#include <limits>
#include <thread>

#include "error_message.h"
#include "tasks/translation/markup/fake_translators.h"
#include "tasks/translation/markup/markup_error.h"
#include "tasks/translation/markup/translate_markup.h"

namespace sixfold {
namespace {

/// The texts that a document has to translate, joined by '|'.
std::string html_texts(const std::string& html) {
  std::string all;
  translate_html(html, [&](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) all += (all.empty() ? "" : "|") + text;
    return identity()(texts);
  });
  return all;
}

std::string upper_case_html(const std::string& html) { return translate_html(html, upper_case()); }
std::string in_reverse(const std::string& html) { return translate_html(html, reversed()); }

TEST(Html, TextIsFoundBetweenBlockElements) {
  EXPECT_EQ(html_texts("<h1>One</h1><p>two <b>three</b></p><ul><li>four<li>five</ul>six<br>seven<hr>eight"),
            "One|two three|four|five|six|seven|eight");
  EXPECT_EQ(html_texts(
                "<table><tr><td>a<td>b<tr><th>c</table><dl><dt>d<dd>e</dl><select><option>f<option>g</select>"),
            "a|b|c|d|e|f|g");
  EXPECT_EQ(html_texts("<title>A &lt;b> title</title><p>no <end>here"), "A <b> title|no here");
  EXPECT_EQ(html_texts("just text, no element"), "just text, no element");
  EXPECT_EQ(html_texts("a <button>b</button> <label>c</label> <my-element>d</my-element> <img src=x> e"),
            "a b c d e");
}

TEST(Html, WhiteSpaceIsFoldedAndReferencesAreDecoded) {
  EXPECT_EQ(html_texts("<p>\n  one\t<b> two</b>\n\n three <i>\n</i> four\r\n</p>"), "one two three four");
  EXPECT_EQ(html_texts("&eacute;t&#233; &#x4E2D; R&amp;D &notit; &bogus; &copy 10&nbsp;km&nbsp;"),
            "\u00e9t\u00e9 \u4e2d R&D \u00acit; &bogus; \u00a9 10 km");
  EXPECT_EQ(html_texts("un<b>believ</b>able Donau<wbr>dampf"), "unbelievable Donaudampf");
  EXPECT_EQ(html_texts("a < b <3 x</ 1>y<"), "a < b <3 xy<");
}

TEST(Html, WhatIsNotTextKeepsItsBytes) {
  const std::string kept[] = {
      "<!DOCTYPE html>\n<html lang='en'>\n",
      "<script>if (a<b) x=\"</p>\"; // text</script>",
      "<script><!-- <script> text </script> text --></script>",
      "<style>p > a { content: \"text\" }</style>",
      "<pre>text\n <b>text</b></pre>",
      "<textarea>text <b>&amp;</textarea>",
      "<code class=x>text &lt; text</code>",
      "<kbd>text</kbd>",
      "<samp>text</samp>",
      "<svg viewBox='0 0 1 1'><title>text</title><style><b></style><![CDATA[</svg>]]></svg>",
      "<math><mi>text</mi></math>",
      "<!-- text <p> -->",
      "<!-->",
      "<!--->",
      "<?php text ?>",
      "<![CDATA[text]]>",
      "<iframe><p>text</iframe>",
      "<xmp><p>text</xmp>",
      "<div translate=no>text <p>text</p></div>",
      "<p class='a notranslate b'>text</p>",
      "<p TRANSLATE=\"No\">text</p>",
      "<img alt=\"text\" title='text'>",
      "<input placeholder=text aria-label=\"text > text\">",
      "<p> 10 &mdash; 20 % </p>",
      "</>",
      "</ text>",
      "<!text>",
  };
  for (const std::string& html : kept) {
    EXPECT_EQ(html_texts(html), "") << html;
    EXPECT_EQ(upper_case_html("<p>one</p>" + html + "<p>two</p>"), "<p>ONE</p>" + html + "<p>TWO</p>");
  }
  EXPECT_EQ(upper_case_html("<p>one</p><plaintext><p>two</p>"), "<p>ONE</p><plaintext><p>two</p>");
  EXPECT_EQ(upper_case_html("<p>one</p><div text"), "<p>ONE</p><div text");
}

TEST(Html, TranslationIsAllowedWithinWhatIsNotTranslated) {
  EXPECT_EQ(upper_case_html("<div translate=no>one <p translate=yes>two <b>three</b></p> four</div>five"),
            "<div translate=no>one <p translate=yes>TWO <b>THREE</b></p> four</div>FIVE");
  EXPECT_EQ(upper_case_html("a <code>b <i translate=\"yes\">c</i> d</code> <code translate>e</code>"),
            "A <code>b <i translate=\"yes\">C</i> d</code> <code translate>E</code>");
  EXPECT_EQ(upper_case_html("<p class=notranslate translate=yes>a</p>"),
            "<p class=notranslate translate=yes>A</p>");
  EXPECT_EQ(upper_case_html("<pre translate=yes>one\n  two</pre>"), "<pre translate=yes>ONE\n  TWO</pre>");
}

TEST(Html, EndTagsMayBeLeftOut) {
  EXPECT_EQ(upper_case_html("<ul><li translate=no>a<li>b<ul><li>c</ul><li translate=no>d</ul>e"),
            "<ul><li translate=no>a<li>B<ul><li>C</ul><li translate=no>d</ul>E");
  EXPECT_EQ(upper_case_html("<p translate=no>a<div>b</div>"), "<p translate=no>a<div>B</div>");
  EXPECT_EQ(upper_case_html("<table><tr><td translate=no>a<td>b<tr translate=no><td>c<tr><td>d</table>"),
            "<table><tr><td translate=no>a<td>B<tr translate=no><td>c<tr><td>D</table>");
  EXPECT_EQ(upper_case_html("<p translate=no>a<button><p>b</button>c"),
            "<p translate=no>a<button><p>b</button>c");
  EXPECT_EQ(upper_case_html("<select><option translate=no>a<option>b</select>"),
            "<select><option translate=no>a<option>B</select>");
}

TEST(Html, InlineElementsFollowTheirWords) {
  EXPECT_EQ(in_reverse("<p>the <b>old dog</b> sees <a href=\"x\">a cat</a></p>"),
            "<p><a href=\"x\">CAT A</a> SEES <b>DOG OLD</b> THE</p>");
  EXPECT_EQ(in_reverse("<p><b>all of <i>this text</i></b></p>"), "<p><b><i>TEXT THIS</i> OF ALL</b></p>");
  EXPECT_EQ(in_reverse("<p> <b> all of it </b> </p>"), "<p> <b> IT OF ALL </b> </p>");
  EXPECT_EQ(in_reverse("<p>  <b> one</b> two  </p>"), "<p>   TWO <b>ONE</b>  </p>");
  EXPECT_EQ(in_reverse("a<b>b</b>c d"), "D <b>ABC</b>");
  EXPECT_EQ(in_reverse("one <b></b>two <img src=x> three<!-- c --> four"),
            "FOUR <img src=x> THREE<!-- c --> <b></b>TWO ONE");
  EXPECT_EQ(upper_case_html("one <img> <img> two"), "ONE <img> <img> TWO");
  EXPECT_EQ(upper_case_html("one <a href=x><img></a> two"), "ONE <a href=x><img></a> TWO");
}

TEST(Html, ElementsThatCrossBoundariesStayOpenThere) {
  EXPECT_EQ(in_reverse("a <i>b<br>c</i> d"), "<i>B A<br>D C</i>");
  EXPECT_EQ(in_reverse("a b <i>c<br>d</i> e f"), "C B A<i><br></i>F E D");  // would cover more words of others
  EXPECT_EQ(upper_case_html("a b <i>c<br>d</i> e f"), "A B <i>C<br>D</i> E F");
  EXPECT_EQ(upper_case_html("see <a href=x>the <code>x</code> tool</a> now"),
            "SEE <a href=x>THE <code>x</code> TOOL</a> NOW");
  EXPECT_EQ(upper_case_html("<a><h2>one</h2>two</a> three"), "<a><h2>ONE</h2>TWO</a> THREE");
  EXPECT_EQ(upper_case_html("<p>one <b>two<p>three</b> four"), "<p>ONE <b>TWO<p>THREE</b> FOUR");
}

TEST(Html, TagsThatCrossKeepTheirOrder) {
  EXPECT_EQ(upper_case_html("one <b>two <i>three</b> four</i> five"), "ONE <b>TWO <i>THREE</b> FOUR</i> FIVE");
  EXPECT_EQ(upper_case_html("<b><p>one</b> two</p>"), "<b><p>ONE</b> TWO</p>");
  EXPECT_EQ(upper_case_html("one </b> two </i>"), "ONE </b>TWO </i>");
  EXPECT_EQ(upper_case_html("<ruby>one<rt>two</ruby> three <ruby>four<rt>five</rt></ruby>"),
            "<ruby>ONE<rt>two</ruby> THREE <ruby>FOUR<rt>five</rt></ruby>");
  EXPECT_EQ(in_reverse("<svg><g>x<b>one</b> two"), "<svg><g>x<b>ONE</b> TWO");
}

TEST(Html, NothingIsTakenForMarkup) {
  const auto hostile = fake_translator([](const std::vector<std::string>& words) {
    return FakeWords{{"<script>&amp;</p>", 0}, {std::string("\x01\0\xFF", 3), static_cast<int>(words.size())}};
  });
  EXPECT_EQ(translate_html("<p>one</p>", hostile),
            "<p>&lt;script&gt;&amp;amp;&lt;/p&gt; \uFFFD\uFFFD\uFFFD</p>");
  EXPECT_EQ(translate_html("<title>one</title>", hostile),
            "<title>&lt;script&gt;&amp;amp;&lt;/p&gt; \uFFFD\uFFFD\uFFFD</title>");
}

TEST(Html, ErrorsNameThePlace) {
  const auto message = [](const std::string& html) {
    return error_message([&] { translate_html(html, identity(), "page.html"); });
  };
  EXPECT_EQ(message("<p>\n\u00e9\u00e9\xFF</p>"),
            "page.html, line 2, column 3: the byte 0xFF is not valid UTF-8; convert the document");
  EXPECT_NE(message(std::string("a\0b", 3)).find("page.html, line 1, column 2: NUL"), std::string::npos);
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<div>";
  EXPECT_EQ(
      message(deep),
      "page.html, line 1, column 2561: more than 512 elements are nested in each other; close those that are "
      "open");
  EXPECT_NE(message(std::string(max_markup_bytes + 1, 'a')).find("67108865 bytes"), std::string::npos);
  const TextTranslator none = [](const std::vector<std::string>&) { return std::vector<TranslatedText>(); };
  EXPECT_NE(error_message([&] { translate_html("a", none); }).find("1 texts"), std::string::npos);
}

/// HTML 13.2.6.4.7: the start tag of a link ends one that is open.
TEST(Html, ALinkEndsTheLinkBeforeIt) {
  std::string links, upper;
  for (int i = 0; i < 600; ++i) links += "<a href=x>one ", upper += "<a href=x>ONE ";
  EXPECT_EQ(translate_html(links, identity()), links);
  EXPECT_EQ(upper_case_html(links).size(), upper.size());
  EXPECT_EQ(upper_case_html("<p><a>one<p>two <a>three</a></p>"), "<p><a>ONE<p>TWO <a>THREE</a></p>");
  EXPECT_EQ(upper_case_html("<a>one <b>two <a>three</a> four</b>"), "<a>ONE <b>TWO <a>THREE</a> FOUR</b>");
}

TEST(Html, ManyNestedInlineElementsAreAllKept) {
  std::string open, close;
  for (int i = 0; i < 100; ++i) open += "<b>x ", close += "</b> y";
  EXPECT_EQ(upper_case_html(open + close).size(), (open + close).size());
  EXPECT_EQ(translate_html(open + close, identity()), open + close);
}

TEST(Html, ManyThreadsTranslateAtOnce) {
  const std::string html = "<p>the &eacute; <b>old dog</b> sees</p>", expected = in_reverse(html);
  std::vector<std::string> results(4);
  {
    std::vector<std::jthread> threads;
    for (std::string& result : results)
      threads.emplace_back([&] {
        for (int i = 0; i < 100; ++i) result = in_reverse(html);
      });
  }
  for (const std::string& result : results) EXPECT_EQ(result, expected);
}

// CPU time, which other work on the machine does not change much; the least of three runs.
double cpu_time_of(const std::string& html) {
  const TextTranslator translate = reversed();
  std::clock_t least = std::numeric_limits<std::clock_t>::max();
  for (int run = 0; run < 3; ++run) {
    const std::clock_t begin = std::clock();
    EXPECT_FALSE(translate_html(html, translate).empty());
    least = std::min(least, std::clock() - begin);
  }
  return static_cast<double>(std::max<std::clock_t>(least, 1));
}

std::string repeated(std::string_view text, size_t bytes) {
  std::string result;
  while (result.size() < bytes) result += text;
  return result;
}

std::vector<std::string> long_documents(size_t bytes) {
  std::string lists;
  while (lists.size() < bytes) lists += repeated("<ul><li>one <b>two</b>", 2000) + repeated("</li></ul>", 1000);
  const std::string open = repeated("<div>", 1200);
  return {
      lists,
      repeated("<b>one</b> ", bytes),                        // a single text
      repeated("<i>one <b>two</i> three</b> ", bytes),       // tags that cross
      repeated("one &amp; &#233;&unknown; two<br>", bytes),  // references
      repeated("<p>one<table><td>two", 2000) + repeated("</i></table>three", bytes),
      open + repeated("<p>one", bytes),
      open + repeated("</span><b>", 1000) + repeated("</i></b><li>", bytes),
      repeated("<", bytes),
      repeated("<!--", bytes),
      repeated("<a b='", bytes),
      repeated("<script></scrip", bytes),
      repeated("&a", bytes),
      repeated("</", bytes),
  };
}

// A quadratic step would take 256 times as long for a document that is 16 times as long.
TEST(Html, TimeIsLinearInTheDocument) {
  const std::vector<std::string> small = long_documents(20'000), large = long_documents(16 * 20'000);
  for (size_t i = 0; i < small.size(); ++i)
    EXPECT_LT(cpu_time_of(large[i]), 64 * cpu_time_of(small[i])) << small[i].substr(0, 60);
}

}  // namespace
}  // namespace sixfold
