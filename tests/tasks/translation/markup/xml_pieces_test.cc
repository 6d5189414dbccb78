#include <gtest/gtest.h>

#include "error_message.h"
#include "tasks/translation/markup/fake_translators.h"
#include "tasks/translation/markup/translate_markup.h"

namespace sixfold {
namespace {

std::string xml_texts(const std::string& xml, const XmlOptions& options = {}) {
  std::string all;
  const TextTranslator note = [&](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) all += (all.empty() ? "" : "|") + text;
    return identity()(texts);
  };
  EXPECT_EQ(translate_xml(xml, note, options), xml);
  return all;
}

std::string upper_case_xml(const std::string& xml, const XmlOptions& options = {}) {
  return translate_xml(xml, upper_case(), options);
}

TEST(Xml, StructureShowsWhatIsInline) {
  EXPECT_EQ(xml_texts("<doc><title>one</title><p>two <b>three</b> four</p></doc>"), "one|two three four");
  EXPECT_EQ(xml_texts("<p>one <b><i>two</i></b></p>"), "one two");
  EXPECT_EQ(xml_texts("<item>one<list><item>two</item><item>three</item></list></item>"), "one|two|three");
  EXPECT_EQ(xml_texts("<p><b>one</b> <i>two</i></p>"), "one|two");
}

TEST(Xml, TagsMayBeNamed) {
  const std::string xml = "<p>one <b>two</b> three <c>four <d>five</d></c></p>";
  EXPECT_EQ(xml_texts(xml, {.splitting_tags = {"c"}}), "one two three|four five");
  EXPECT_EQ(xml_texts("<p><b>one</b><b>two</b></p>", {.non_splitting_tags = {"b"}}), "onetwo");
  EXPECT_EQ(xml_texts("<doc><p>one</p><p>two</p></doc>", {.outline_detection = false}), "onetwo");
  EXPECT_EQ(xml_texts("<doc><p>one</p><p>two</p></doc>", {.outline_detection = false, .splitting_tags = {"p"}}),
            "one|two");
  EXPECT_EQ(xml_texts("<p>b</p>", {.splitting_tags = {"p"}, .non_splitting_tags = {"p"}, .ignore_tags = {"P"}}),
            "b");
  EXPECT_EQ(upper_case_xml("<p>press <x:key id='1'>go <b>on</b></x:key> now</p>", {.ignore_tags = {"x:key"}}),
            "<p>PRESS <x:key id='1'>go <b>on</b></x:key> NOW</p>");
}

TEST(Xml, WhatIsNotTextKeepsItsBytes) {
  const std::string prolog =
      "\uFEFF<?xml version='1.0' encoding=\"ISO-8859-1\" ?>\n<!-- c -->\n<?pi one?><!DOCTYPE a [<!ENTITY foo "
      "\"one\">\n"
      "<!ELEMENT a ANY>]>\n";
  EXPECT_EQ(
      upper_case_xml(
          prolog + "<a t='&foo;' u = \"one &amp; &lt;\">b &foo; c<![CDATA[one <b>]]> d<e/> f</a >\n<!-- x -->"),
      prolog + "<a t='&foo;' u = \"one &amp; &lt;\">B &foo; C<![CDATA[one <b>]]> D<e/> F</a >\n<!-- x -->");
  EXPECT_EQ(upper_case_xml("<a translate='no'>one <b translate='yes'>two</b></a>"),
            "<a translate='no'>one <b translate='yes'>TWO</b></a>");
  EXPECT_EQ(upper_case_xml("<a>one &#233;t&#xE9; R&amp;D &quot;&apos;&lt;&gt;</a>"),
            "<a>ONE \u00e9T\u00e9 R&amp;D \"'&lt;&gt;</a>");
}

TEST(Xml, ADocumentMayHaveSeveralRootsAndTextBesideThem) {
  EXPECT_EQ(upper_case_xml("one <b>two</b> three"), "ONE <b>TWO</b> THREE");
  EXPECT_EQ(upper_case_xml("<a>one</a><a>two</a>"), "<a>ONE</a><a>TWO</a>");
  EXPECT_EQ(upper_case_xml(""), "");
  EXPECT_EQ(upper_case_xml(" <!-- c --> "), " <!-- c --> ");
  EXPECT_EQ(translate_xml("one <b>two three</b>", reversed()), "<b>THREE TWO</b> ONE");
}

TEST(Xml, WhiteSpaceMayBeKept) {
  EXPECT_EQ(xml_texts("<a>one\n two</a>"), "one two");
  EXPECT_EQ(upper_case_xml("<a xml:space=\"preserve\">one\n  two\r\n</a>"),
            "<a xml:space=\"preserve\">ONE\n  TWO\r\n</a>");
  EXPECT_EQ(xml_texts("<a xml:space=\"preserve\">one\n<b xml:space=\"default\">two\nthree</b></a>"),
            "one|two three");
}

TEST(Xml, ErrorsNameThePlace) {
  const auto message = [](const std::string& xml) {
    return error_message([&] { translate_xml(xml, identity(), {}, "a.xml"); });
  };
  EXPECT_EQ(message("<a>\n<b>one</a>"), "a.xml, line 2, column 9: the XML is not well-formed: mismatched tag");
  EXPECT_EQ(message("<a>one\n <b>two</b>"), "a.xml, line 1, column 1: the element <a> is not closed");
  EXPECT_EQ(message("<a>one</a></sixfold>"),
            "a.xml, line 1, column 11: the end tag </sixfold> has no start tag");
  EXPECT_EQ(message("one < two"),
            "a.xml, line 1, column 6: the XML is not well-formed: not well-formed (invalid token)");
  EXPECT_EQ(message("<a>&nbsp;</a>"), "a.xml, line 1, column 4: the XML is not well-formed: undefined entity");
  EXPECT_NE(message("<a>\xFF</a>").find("line 1, column 4: the byte 0xFF"), std::string::npos);
  std::string deep, entities = "<!DOCTYPE a [";
  for (int i = 0; i < 100'000; ++i) deep += "<a>";
  EXPECT_EQ(message(deep), "a.xml, line 1, column 1537: more than 512 elements are nested in each other");
  for (int i = 0; i <= 1000; ++i) entities += "<!ENTITY e" + std::to_string(i) + " 'x'>";
  EXPECT_NE(message(entities + "]><a/>").find("more than 1000 entities"), std::string::npos);
}

TEST(Xml, EntitiesAreNotMultiplied) {
  std::string xml = "<!DOCTYPE a [<!ENTITY e0 'one'>";
  for (int i = 1; i < 30; ++i) {
    const std::string before = "&e" + std::to_string(i - 1) + ";";
    xml += "<!ENTITY e" + std::to_string(i) + " '" + before + before + "'>";
  }
  EXPECT_EQ(upper_case_xml(xml + "]><a>one &e29;</a>"), xml + "]><a>ONE &e29;</a>");
  EXPECT_NE(error_message([&] { translate_xml(xml + "]><a b='&e29;'/>", identity()); }).find("amplification"),
            std::string::npos);
}

}  // namespace
}  // namespace sixfold
