#include <gtest/gtest.h>

#include <algorithm>

#include "tasks/translation/markup/document_generator.h"
#include "tasks/translation/markup/invariants.h"

namespace sixfold {
namespace {

TextTranslator with_placeholder(TextTranslator translate) {
  translate.placeholder = [] { return std::string("Q7"); };
  return translate;
}

std::string reversed_html(const std::string& html) {
  return translate_html(html, with_placeholder(reversed()));
}

TEST(Placeholder, CodeStandsWhereItsWordCameOut) {
  EXPECT_EQ(reversed_html("<p>He asks <code>x &lt; 1</code> now</p>"),
            "<p>NOW <code>x &lt; 1</code> ASKS HE</p>");
  EXPECT_EQ(reversed_html("asks (<kbd>x</kbd>) and <span translate=no>y <b>z</b></span>."),
            "<span translate=no>y <b>z</b></span>. AND (<kbd>x</kbd>) ASKS");
  EXPECT_EQ(reversed_html("<code>a</code> or <b>the <code>b</code></b>"),
            "<b><code>b</code> THE</b> OR <code>a</code>")
      << "the alignment tells which is which";
  EXPECT_EQ(reversed_html("a <math><mi>x</mi></math> b"), "B <math><mi>x</mi></math> A");
}

/// A text whose translation lacks a placeholder, or has it too often, is translated as without placeholders.
TEST(Placeholder, NothingIsLostOrRepeated) {
  const TextTranslator twice = fake_translator([](const std::vector<std::string>& words) {
    FakeWords result;
    for (const int round : {0, 1})
      for (size_t i = 0; i < words.size(); ++i) result.emplace_back(upper(words[i]) + (round ? "" : ","), i);
    return result;
  });
  for (const std::string html : {"<p><code>x</code> asks the dog</p>", "<p>it asks the <code>x</code> now",
                                 "<b><code>x</code> is it</b>"})
    for (const TextTranslator& translate : {dropping(), twice, without_spaces()})
      EXPECT_EQ(translate_html(html, with_placeholder(translate)), translate_html(html, translate)) << html;
}

/// Code that separates texts does not touch their words if it does not in the source, whatever punctuation the
/// translations lack.
TEST(Placeholder, WordsStayApartFromCode) {
  const TextTranslator only_words = fake_translator([](const std::vector<std::string>& words) {
    FakeWords result;
    for (size_t i = 0; i < words.size(); ++i) {
      std::string letters;
      for (const char c : words[i])
        if (c >= 'a' && c <= 'z') letters += c;
      if (!letters.empty()) result.emplace_back(letters, i);
    }
    if (!result.empty()) result.back().first += '.';
    return result;
  });
  EXPECT_EQ(translate_html("<p>See <code>x</code>: the (<code>y</code>, <code>z</code>) and</p>", only_words),
            "<p>ee. <code>x</code> the. <code>y</code>, <code>z</code> and.</p>");
  EXPECT_EQ(translate_html("un<code>x</code>s it.<code>y</code>", only_words),
            "un.<code>x</code>s it.<code>y</code>");
  EXPECT_EQ(translate_markdown("the (`x`) is", only_words), "the. `x` is.");
  EXPECT_EQ(translate_html("<code>x</code>- <i>two</i> run <b>un</b>(<code>y</code>", only_words),
            "<code>x</code> <i>two</i> run <b>un</b>. <code>y</code>");
  EXPECT_EQ(translate_html("<code>x</code><i>s</i> <b>un</b><code>y</code>", only_words),
            "<code>x</code><i>s</i> <b>un</b>.<code>y</code>");
}

TEST(Placeholder, IsAWordOfItsOwn) {
  for (const std::string html : {"un<code>x</code> it", "ask <b>un</b><code>x</code>", "<code>x</code>s it",
                                 "Q7 asks <code>x</code>", "<code>x</code>, <code>y</code>"})
    EXPECT_EQ(reversed_html(html), translate_html(html, reversed())) << html;
  EXPECT_EQ(reversed_html("a <code>x</code><code>y</code> b"), "<code>x</code> A<code>y</code> B");
}

TEST(Placeholder, OfXmlAndMessages) {
  EXPECT_EQ(translate_xml("<p>ask <x>a<i>b</i></x> or <x/> now</p>", with_placeholder(reversed()),
                          {.ignore_tags = {"x"}}),
            "<p>NOW <x/> OR <x>a<i>b</i></x> ASK</p>");
  const auto translated = [](const std::string& text, TextTranslator translate = reversed()) {
    const std::string po =
        translate_po("msgid \"" + text + "\"\nmsgstr \"\"\n", with_placeholder(std::move(translate)));
    return po.substr(po.find("msgstr "));
  };
  EXPECT_EQ(translated("ask {name} for \\\"%1$s\\\" %(n)d: now"),
            "msgstr \"NOW %(n)d: \\\"%1$s\\\" FOR {name} ASK\"\n");
  EXPECT_EQ(translated("%d files of %s"), "msgstr \"%d OF FILES %s\"\n")
      << "a program reads its arguments in this order";
  EXPECT_EQ(translated("say %dMB of %s here"), "msgstr \"HERE %d OF %sMB SAY\"\n");
  EXPECT_EQ(translated("100%% of %s", identity()), "msgstr \"100%% of %s\"\n");
}

size_t occurrences(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// The element of a document that a translation lacks or repeats, of those that stand for words.
std::string changed(const std::string& before, const Pieces& pieces, const std::string& after) {
  for (const Piece& piece : pieces) {
    const std::string bytes = before.substr(piece.begin, piece.end - piece.begin);
    if (piece.stands_for_words && occurrences(before, bytes) != occurrences(after, bytes)) return bytes;
  }
  return "";
}

TEST(Placeholder, EveryElementRemainsOnceWhateverTheTranslation) {
  const XmlOptions options{
      .outline_detection = false, .splitting_tags = {"p", "item"}, .ignore_tags = {"keep"}};
  size_t moved = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const std::string html = DocumentGenerator(seed).html(), xml = DocumentGenerator(seed).xml();
    for (const TextTranslator& translate :
         {reversed(), upper_case(), dropping(), adding(), without_spaces(), arbitrary()}) {
      const std::string html2 = translate_html(html, with_placeholder(translate)),
                        xml2 = translate_xml(xml, with_placeholder(translate), options);
      ASSERT_EQ(changed(html, html_pieces({html, "html"}), html2), "") << "seed " << seed << "\n" << html;
      ASSERT_EQ(changed(xml, xml_pieces({xml, "xml"}, options), xml2), "") << "seed " << seed << "\n" << xml;
      moved += html2 != translate_html(html, translate);
    }
    ASSERT_EQ(translate_html(html, with_placeholder(identity())), html) << "seed " << seed;
    ASSERT_EQ(translate_xml(xml, with_placeholder(identity()), options), xml) << "seed " << seed;
  }
  EXPECT_GT(moved, 100u);
}

}  // namespace
}  // namespace sixfold
