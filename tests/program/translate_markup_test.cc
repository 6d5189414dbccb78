#include <gtest/gtest.h>

#include "base/file.h"
#include "program/shell.h"
#include "program/small_model.h"
#include "tasks/translation/text_translator.h"
#include "tasks/translation/translator.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

class TranslateMarkup : public testing::Test {
 protected:
  TranslateMarkup() { write_small_model(model_, 1); }

  std::string file(const std::string& name, const std::string& text) {
    write_file_atomically(folder_ / name, text);
    return folder_ / name;
  }
  Outcome translate(const std::string& options) { return sixfold("translate " + model_ + " " + options); }

  TemporaryFolder folder_;
  const std::string model_ = folder_ / "model";
  const std::string html_ = "<!doctype html>\n<p class=x>a <b>b c</b></p>\r\n<pre>a  b</pre><p>h";
};

TEST_F(TranslateMarkup, SaysWhatTheLibrarySays) {
  const Translator translator(model_, {.threads = 1});
  const TextTranslator translate_texts = text_translator(translator, {});
  const std::string expected = translate_html(html_, translate_texts), out = folder_ / "out.html";
  ASSERT_NE(expected, html_);
  EXPECT_EQ(translate("--markup html --input " + file("in.html", html_) + " --output " + out).status, 0);
  EXPECT_EQ(read_file(out), expected);
  const std::string xml = "<r><x>a</x><p>b <i>c</i></p></r>";
  EXPECT_EQ(translate("--markup xml --ignore-tags x,y --input " + file("in.xml", xml)).text,
            translate_xml(xml, translate_texts, {.ignore_tags = {"x", "y"}}));
}

TEST_F(TranslateMarkup, WarnsOfADocumentThatIsTranslatedAsLines) {
  const std::string warning = "in.htm: is translated line by line, with its tags as words; '--markup html' ";
  const std::string input = "--input " + file("in.htm", html_);
  EXPECT_NE(translate(input).text.find(warning), std::string::npos);
  EXPECT_EQ(translate("--markup none " + input).text.find(warning), std::string::npos);
  EXPECT_EQ(translate("--input " + file("in.en", html_)).text.find("--markup"), std::string::npos);
  for (const char* name : {"IN.HTML", "in.xhtml.gz"})
    EXPECT_NE(translate("--input " + file(name, html_)).text.find("'--markup html'"), std::string::npos)
        << name;
  EXPECT_NE(translate("--input " + file("in.pot", html_)).text.find("'--markup po'"), std::string::npos);
}

TEST_F(TranslateMarkup, TellsWhatATranslationLacks) {
  const std::string out = translate("--markup html --glossary " + file("terms", "h\t\u6771\u4eac\n") +
                                    " --input " + file("in.html", html_))
                              .text;
  EXPECT_NE(out.find("warning: the text 'h': the translation lacks \u6771\u4eac"), std::string::npos) << out;
  EXPECT_EQ(out.find("the text 'a b c'"), std::string::npos) << out;
}

TEST_F(TranslateMarkup, TranslatesSubtitlesAndMessages) {
  const Translator translator(model_, {.threads = 1});
  const TextTranslator translate_texts = text_translator(translator, {});
  const std::string srt = "1\n00:00:01,000 --> 00:00:02,000\n<i>a b</i> c\nd\n\n";
  EXPECT_EQ(translate("--markup srt --input " + file("in.srt", srt)).text, translate_srt(srt, translate_texts));
  const std::string vtt = "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Bob>a <i>b</i>\nc\n";
  EXPECT_EQ(translate("--markup vtt --input " + file("in.vtt", vtt)).text,
            translate_webvtt(vtt, translate_texts));
  expect_error(translate("--markup vtt --input " + file("bad.vtt", srt)), "bad.vtt, line 1");
  const std::string xliff =
      "<xliff version='1.2'><file><trans-unit><source>a <g id='1'>b</g></source></trans-unit></file></xliff>";
  EXPECT_EQ(translate("--markup xliff --input " + file("in.xlf", xliff)).text,
            translate_xliff(xliff, translate_texts));
  expect_error(translate("--markup xliff --input " + file("bad.xlf", "<a/>")), "bad.xlf, line 1");
  const std::string markdown = "# a *b*\n\n- c `d`\n";
  EXPECT_EQ(translate("--markup markdown --input " + file("in.md", markdown)).text,
            translate_markdown(markdown, translate_texts));
  expect_error(translate("--markup markdown --input " + file("bad.md", "a\n\xFF")), "bad.md, line 2");
  const std::string po = "msgid \"a b %d\"\nmsgstr \"\"\n";
  EXPECT_EQ(translate("--markup po --input " + file("in.po", po)).text, translate_po(po, translate_texts));
  expect_error(translate("--markup srt --input " + file("bad.srt", "a\n")), "bad.srt, line 1");
  expect_error(translate("--markup po --input " + file("bad.po", "a\n")), "bad.po, line 1");
}

TEST_F(TranslateMarkup, ADocumentWithoutTextKeepsItsBytes) {
  const std::string html = "\xEF\xBB\xBF<br>\r\n<!-- a --> 12 <code>b</code>";
  EXPECT_EQ(translate("--markup html --input " + file("in.html", html)).text, html);
  EXPECT_EQ(translate("--markup html --input " + file("empty.html", "")).text, "");
}

TEST_F(TranslateMarkup, RefusesOptionsWithoutEffect) {
  const std::string input = " --input " + file("in.html", html_);
  expect_error(translate("--markup html --format json" + input), "a document has one translation");
  expect_error(translate("--markup html --alignments" + input), "a document has one translation");
  expect_error(translate("--markup html --ignore-tags x" + input), "without --markup xml");
  expect_error(translate("--markup html --invalid-utf8 skip" + input), "no lines to skip");
}

TEST_F(TranslateMarkup, ABrokenDocumentLeavesTheOutputAsItWas) {
  const std::string out = file("out.xml", "mine"), in = file("in.xml", "<a>\n<b>a</a>");
  expect_error(translate("--markup xml --input " + in + " --output " + out), "line 2, column 7");
  EXPECT_EQ(read_file(out), "mine");
}

TEST_F(TranslateMarkup, TheInputIsNotWritten) {
  const std::string in = file("in.html", html_);
  EXPECT_NE(translate("--markup html --input " + in + " --output " + in).status, 0);
  EXPECT_EQ(read_file(in), html_);
}

}  // namespace
}  // namespace sixfold
