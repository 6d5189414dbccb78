#include <gtest/gtest.h>

#include "base/random.h"
#include "error_message.h"
#include "tasks/translation/markup/fake_translators.h"
#include "tasks/translation/markup/translate_markup.h"
#include "tasks/translation/markup/xliff_units.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

TextTranslator from_english(TextTranslator translate) {
  translate.source_language = "en";
  translate.target_language = "de";
  return translate;
}

std::string first_version(const std::string& body) {
  return "<xliff version=\"1.2\"><file source-language=\"en-US\" target-language=\"de\"><body>" + body +
         "</body></file></xliff>";
}
std::string second_version(const std::string& body) {
  return "<xliff version=\"2.0\" srcLang=\"en\" trgLang=\"de\"><file id=\"f\">" + body + "</file></xliff>";
}
const std::string new_target = "<target state=\"needs-review-translation\" state-qualifier=\"leveraged-mt\">";

std::string translated(const std::string& xliff, const TextTranslator& translate = upper_case()) {
  return translate_xliff(xliff, from_english(translate));
}
/// The translation of a unit of version 1.2 that has this source.
std::string target_of(const std::string& source, const TextTranslator& translate = upper_case()) {
  const std::string begin = "<trans-unit id=\"1\"><source>" + source + "</source>",
                    end = "</target></trans-unit>";
  const std::string all = translated(first_version(begin + "</trans-unit>"), translate);
  const std::string before = first_version(begin + new_target + "|" + end);
  const size_t bar = before.find('|');
  EXPECT_EQ(all.substr(0, bar), before.substr(0, bar));
  EXPECT_TRUE(all.ends_with(before.substr(bar + 1))) << all;
  return all.substr(bar, all.size() - (before.size() - 1));
}

TEST(Xliff, TargetsFollowTheirSources) {
  EXPECT_EQ(translated(
                "\uFEFF<?xml version=\"1.0\"?>\r\n" +
                first_version("\r\n <trans-unit id=\"1\">\r\n  <source>one two</source>\r\n  <note>three</note>"
                              "\r\n </trans-unit>\r\n")),
            "\uFEFF<?xml version=\"1.0\"?>\r\n" +
                first_version("\r\n <trans-unit id=\"1\">\r\n  <source>one two</source>\r\n  " + new_target +
                              "ONE TWO</target>\r\n  <note>three</note>\r\n </trans-unit>\r\n"));
  EXPECT_EQ(
      translated(second_version(
          "<unit id=\"1\"><segment><source>one</source></segment><ignorable><source> "
          "</source></ignorable><segment id=\"s\" state='initial' subState = 'subState:y'><source>two</source>"
          "<target/></segment></unit>")),
      second_version("<unit id=\"1\"><segment state=\"translated\"><source>one</source><target>ONE</target>"
                     "</segment><ignorable><source> </source></ignorable><segment id=\"s\" state='translated'>"
                     "<source>two</source><target>TWO</target></segment></unit>"));
  EXPECT_EQ(
      translated("<x:xliff xmlns:x='y' version='1.2'><x:file><x:trans-unit><x:source>one</x:source>"
                 "</x:trans-unit><source>other</source></x:file></x:xliff>"),
      "<x:xliff xmlns:x='y' version='1.2'><x:file target-language=\"de\"><x:trans-unit><x:source>one</x:source>"
      "<x:target state=\"needs-review-translation\" state-qualifier=\"leveraged-mt\">ONE</x:target>"
      "</x:trans-unit><source>other</source></x:file></x:xliff>");
}

TEST(Xliff, WhatIsTranslatedStays) {
  for (const std::string kept :
       {"<trans-unit><source>one</source><target>eins</target></trans-unit>",
        "<trans-unit><source>one</source><target state=\"translated\"><x id=\"1\"/></target></trans-unit>",
        "<trans-unit translate=\"no\"><source>one</source></trans-unit>",
        "<group translate=\"no\"><trans-unit><source>one</source></trans-unit></group>",
        "<trans-unit approved=\"yes\"><source>one</source><target state=\"new\">one</target></trans-unit>",
        "<trans-unit><source> </source></trans-unit>", "<trans-unit><source/></trans-unit>", "<trans-unit/>",
        "<trans-unit><source><![CDATA[<b>one</b>]]></source></trans-unit>", "<note>one</note>"})
    EXPECT_EQ(translated(first_version(kept)), first_version(kept));
  for (const std::string kept : {"<unit><segment><source>one</source><target>eins</target></segment></unit>",
                                 "<unit translate=\"no\"><segment><source>one</source></segment></unit>"})
    EXPECT_EQ(translated(second_version(kept)), second_version(kept));
  for (const std::string old :
       {"<target/>", "<target></target>", "<target> </target>", "<target state=\"new\">one</target>",
        "<target state='needs-translation' state-qualifier='x'>one</target>"}) {
    const std::string unit = "<trans-unit><source>one</source>" + old +
                             "<alt-trans><source>two</source>"
                             "<target>zwei</target></alt-trans></trans-unit>";
    const std::string result = translated(first_version(unit));
    EXPECT_NE(result.find(">ONE</target><alt-trans><source>two</source><target>zwei"), std::string::npos)
        << result;
    EXPECT_NE(result.find("needs-review-translation"), std::string::npos) << result;
    EXPECT_EQ(translated(result, reversed()), result) << "once";
  }
}

TEST(Xliff, UnitsWithinTextsAreNone) {
  const std::string unit = "<trans-unit><source>one</source></trans-unit>";
  for (const std::string& nested :
       {"<trans-unit><source>" + unit + " two</source></trans-unit>",
        "<trans-unit><target>" + unit + "</target><source>two</source></trans-unit>",
        "<trans-unit><target state=\"new\">" + unit + "</target><source>two</source></trans-unit>"}) {
    const std::string result = translated(first_version(nested));
    EXPECT_EQ(translated(result, reversed()), result) << result;
  }
}

TEST(Xliff, CodesFollowTheirWords) {
  EXPECT_EQ(target_of("one <g id=\"1\">two</g> three", reversed()), "THREE <g id=\"1\">TWO</g> ONE");
  EXPECT_EQ(target_of("one <bpt id=\"1\">[b]</bpt>two<ept id=\"1\">[/b]</ept> three", reversed()),
            "THREE <bpt id=\"1\">[b]</bpt>TWO<ept id=\"1\">[/b]</ept> ONE")
      << "the end does not come first";
  EXPECT_EQ(target_of("one <bx id=\"1\" rid=\"r\"/>two<ex id=\"2\" rid=\"r\"/> &lt;three&gt;", reversed()),
            "&lt;THREE&gt; <bx id=\"1\" rid=\"r\"/>TWO<ex id=\"2\" rid=\"r\"/> ONE");
  EXPECT_EQ(target_of("<bpt id=\"1\"/>one <g id=\"2\">two<ept id=\"1\"/> three</g>", reversed()),
            "<bpt id=\"1\"/><g id=\"2\">TWO ONE<ept id=\"1\"/> THREE</g>")
      << "codes that cross end texts";
  EXPECT_EQ(target_of("<g id=\"1\">one <x id=\"2\"/></g> two"), "<g id=\"1\">ONE <x id=\"2\"/></g> TWO");
  EXPECT_EQ(target_of("Delete <x id=\"1\"/> files"), "DELETE <x id=\"1\"/> FILES");
  EXPECT_EQ(target_of("a <ph id=\"1\">&lt;br title=\"<sub>one</sub>\"/&gt;</ph>two"),
            "A <ph id=\"1\">&lt;br title=\"<sub>one</sub>\"/&gt;</ph>TWO");
  EXPECT_EQ(target_of("see <mrk mtype=\"protected\">Sixfold</mrk> <mrk mtype=\"term\">now</mrk>"),
            "SEE <mrk mtype=\"protected\">Sixfold</mrk> <mrk mtype=\"term\">NOW</mrk>");
  EXPECT_EQ(
      translated(
          second_version("<unit><segment><source>one <pc id=\"1\">two</pc> <sc id=\"2\"/>three<ec "
                         "startRef=\"2\"/> <mrk id=\"m\" translate=\"no\">X</mrk></source></segment></unit>"),
          reversed()),
      second_version(
          "<unit><segment state=\"translated\"><source>one <pc id=\"1\">two</pc> <sc id=\"2\"/>three<ec "
          "startRef=\"2\"/> <mrk id=\"m\" translate=\"no\">X</mrk></source><target><sc id=\"2\"/>THREE<ec "
          "startRef=\"2\"/> <pc id=\"1\">TWO</pc> ONE <mrk id=\"m\" translate=\"no\">X</mrk></target>"
          "</segment></unit>"));
}

TEST(Xliff, SegmentsAreTranslatedEach) {
  EXPECT_EQ(
      translated(first_version("<trans-unit><source>A b. C d.</source><seg-source><mrk mtype=\"seg\" "
                               "mid=\"0\">A b.</mrk> <mrk mtype=\"seg\" mid=\"1\">C d.</mrk></seg-source>"
                               "</trans-unit>"),
                 reversed()),
      first_version("<trans-unit><source>A b. C d.</source><seg-source><mrk mtype=\"seg\" mid=\"0\">A b.</mrk> "
                    "<mrk mtype=\"seg\" mid=\"1\">C d.</mrk></seg-source>" +
                    new_target +
                    "<mrk mtype=\"seg\" mid=\"0\">B. A</mrk> <mrk mtype=\"seg\" mid=\"1\">D. C</mrk>"
                    "</target></trans-unit>"));
}

/// Programs that divide a unit into segments write targets whose marks are there, and whose text is not.
TEST(Xliff, TargetsOfEmptySegmentsAreEmpty) {
  const auto unit = [](const std::string& target) {
    return first_version(
        "<trans-unit><source>A b. C d.</source><seg-source><mrk mtype=\"seg\" mid=\"0\">A b.</mrk> "
        "<mrk mtype=\"seg\" mid=\"1\">C d.</mrk></seg-source><target>" +
        target + "</target></trans-unit>");
  };
  const std::string filled = translated(unit(""), reversed());
  EXPECT_NE(filled.find("D. C"), std::string::npos);
  EXPECT_EQ(translated(unit("<mrk mtype=\"seg\" mid=\"0\"/> <mrk mtype=\"seg\" mid=\"1\"></mrk>"), reversed()),
            filled);
  const std::string half = unit("<mrk mtype=\"seg\" mid=\"0\">X</mrk> <mrk mtype=\"seg\" mid=\"1\"/>");
  EXPECT_EQ(translated(half, reversed()), half) << "somebody has begun it";
  for (const std::string kept :
       {"<mrk mtype=\"protected\"/>", "<mrk mtype=\"seg\" mid=\"0\"><x id=\"1\"/></mrk>",
        "<mrk mtype=\"seg\" mid=\"0\"/><!-- empty -->", "<g id=\"1\"/>",
        "<mrk mtype=\"seg\" mid=\"0\"/><x id=\"1\"/>"})
    EXPECT_EQ(translated(unit(kept), reversed()), unit(kept)) << "a code or a comment is no empty target";
  // Tags around the segments are those of the source.
  const std::string in_tag = first_version(
      "<trans-unit><source><g id=\"3\">A b.</g></source><seg-source><g id=\"3\"><mrk mtype=\"seg\" "
      "mid=\"0\">A b.</mrk></g></seg-source><target><g id=\"3\"><mrk mtype=\"seg\" "
      "mid=\"0\"/></g></target></trans-unit>");
  EXPECT_NE(
      translated(in_tag, reversed()).find("<g id=\"3\"><mrk mtype=\"seg\" mid=\"0\">B. A</mrk></g></target>"),
      std::string::npos);
}

/// A unit with an empty target would be translated again.
TEST(Xliff, AnEmptyTranslationIsNone) {
  const TextTranslator silent_for_a = [](const auto& texts) {
    std::vector<TranslatedText> all;
    for (const std::string& text : texts) all.push_back({.text = text == "A" ? " " : "x"});
    return all;
  };
  const auto units = [](const std::string& b) {
    return first_version("<trans-unit><source>A</source></trans-unit><trans-unit><source>B</source>" + b +
                         "</trans-unit><trans-unit><source>A</source><target/></trans-unit>");
  };
  EXPECT_EQ(translated(units(""), silent_for_a),
            units("<target state=\"needs-review-translation\" state-qualifier=\"leveraged-mt\">x</target>"));
}

TEST(Xliff, PlaceholdersStandForWords) {
  std::vector<std::string> read;
  TextTranslator translate = [&](const std::vector<std::string>& texts) {
    read = texts;
    return identity()(texts);
  };
  translate.placeholder = [] { return "XX"; };
  target_of("Delete <x id=\"1\"/> files<x id=\"2\" ctype=\"lb\"/> now", translate);
  EXPECT_EQ(read.front(), "Delete XX files now");
}

TEST(Xliff, LanguagesMustBeThoseOfTheModel) {
  const auto message = [](const std::string& xliff, const std::string& source, const std::string& target) {
    TextTranslator translate = identity();
    translate.source_language = source, translate.target_language = target;
    return error_message([&] { translate_xliff(xliff, translate, "a.xlf"); });
  };
  const std::string unit = "<unit><segment><source>one</source></segment></unit>";
  const std::string two = second_version(unit), one = first_version("");
  expect_holds(message(one, "fr", "de"),
               "a.xlf, line 1, column 22: is to be translated from en-US, but the model translates from fr");
  expect_holds(message(two, "en", "fr"), "into de, but the model translates into fr");
  for (const auto& [source, target] : {std::pair{"eng_Latn", "deu"}, {"", ""}, {"en_XX", "de-AT"}}) {
    TextTranslator translate = identity();
    translate.source_language = source, translate.target_language = target;
    EXPECT_NO_THROW(translate_xliff(two, translate)) << source;
  }
  const std::string without = "<xliff version=\"2.1\" srcLang=\"en\"><file>" + unit + "</file></xliff>";
  expect_holds(message(without, "en", ""), "has no trgLang");
  TextTranslator translate = identity();
  translate.target_language = "pt_BR";
  expect_holds(translate_xliff(without, translate), "srcLang=\"en\" trgLang=\"pt-BR\">");
}

TEST(Xliff, RefusesWhatIsNone) {
  const auto message = [](const std::string& xliff) {
    return error_message([&] { translate_xliff(xliff, identity(), "a.xlf"); });
  };
  for (const char* other : {"", "text", "<tmx/>", "<x:file/>"}) expect_holds(message(other), "a.xlf, line 1");
  expect_holds(message("<xliff version='3.0'/>"), "version '3.0'");
  expect_holds(message("<xliff/>"), "version ''");
  expect_holds(message("<xliff version='1.2'>"), "is not closed");
  expect_holds(message(first_version("\xFF")), "UTF-8");
  std::string deep;
  for (int i = 0; i < 600; ++i) deep += "<g id=\"1\">";
  expect_holds(message(first_version(deep)), "nested");
  const std::string bomb =
      "<!DOCTYPE xliff [<!ENTITY a \"one\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;\">]>";
  EXPECT_EQ(translated(bomb + first_version("<trans-unit><source>one &b; two</source></trans-unit>")),
            bomb + first_version("<trans-unit><source>one &b; two</source>" + new_target +
                                 "ONE &b; TWO</target></trans-unit>"))
      << "entities are not replaced";
  std::string codes;
  for (int i = 0; i < 50'000; ++i) codes += "<bx id=\"" + std::to_string(i) + "\"/>";
  for (int i = 0; i < 50'000; ++i) codes += "<ex id=\"" + std::to_string(i) + "\"/>a";
  EXPECT_FALSE(target_of(codes).empty()) << "in linear time";
}

/// A document whose units are known.
class XliffGenerator {
 public:
  struct Code {
    std::string open, close;  ///< `close` is empty for a code without a partner
  };
  struct Unit {
    std::string source, text;  ///< `text` is without codes
    std::vector<Code> codes;
  };

  explicit XliffGenerator(uint64_t seed) : random_(seed, 5) {}

  /// What stands around the targets of the units, one more than them.
  std::vector<std::string> around;
  std::vector<Unit> units;
  std::string source;

  void make() {
    second_ = below(2) == 0;
    const std::string body = second_ ? "<unit id=\"u\">" : "<body>";
    std::string fixed;  // of the translated document
    const auto both = [&](const std::string& bytes) { source += bytes, fixed += bytes; };
    const std::string line = below(2) == 0 ? "\n" : "\r\n";
    both(second_ ? "<xliff version=\"2.0\" srcLang=\"en\" trgLang=\"de\"><file id=\"f\">" + body
                 : "<?xml version=\"1.0\"?>" + line +
                       "<xliff version=\"1.2\"><file source-language=\"en\" target-language=\"de\">" + body);
    for (uint32_t i = below(5); i > 0; --i) {
      both(line + (below(3) == 0 ? "<!-- a -->" : "") + " ");
      if (below(4) == 0) {
        both(second_ ? "<segment state=\"final\"><source>a</source><target>b</target></segment>"
                     : "<trans-unit id=\"k\"><source>a</source><target>b</target><note>n</note></trans-unit>");
        continue;
      }
      Unit unit;
      content(unit, 0);
      if (unit.source.find_first_not_of(' ') == std::string::npos) unit.source += "one", unit.text += "one";
      source += second_ ? "<segment>" : "<trans-unit id=\"u\">";
      fixed += second_ ? "<segment state=\"translated\">" : "<trans-unit id=\"u\">";
      both("<source>" + unit.source + "</source>");
      if (below(2) == 0) source += second_ ? "<target/>" : "<target state=\"new\">x</target>";
      fixed += second_ ? "<target>" : new_target;
      around.push_back(std::exchange(fixed, ""));
      both(second_ ? "</segment>" : "<note>n</note></trans-unit>");
      fixed = "</target>" + fixed;
      units.push_back(std::move(unit));
    }
    both(second_ ? "</unit></file></xliff>" : "</body></file></xliff>");
    around.push_back(fixed);
  }

 private:
  uint32_t below(uint32_t n) { return random_.below(n); }
  std::string next_id() { return "\"" + std::to_string(++id_) + "\""; }
  void content(Unit& unit, int depth) {
    std::vector<std::string> pending;  // ends of codes that may cross others
    for (uint32_t i = 1 + below(5); i > 0; --i) {
      static const std::vector<std::string> words{"one", "two", "&amp;", "&lt;three", "f\u00FCnf", "6"};
      const std::string id = next_id();
      const uint32_t what = below(9);
      if (what == 0 && depth < 3) {
        const std::string name = second_ ? (below(2) == 0 ? "pc" : "mrk") : (below(2) == 0 ? "g" : "mrk");
        const Code code{"<" + name + " id=" + id + ">", "</" + name + ">"};
        unit.source += code.open;
        content(unit, depth + 1);
        unit.source += code.close;
        unit.codes.push_back({code.open, ""});
      } else if (what == 1) {
        const bool code = below(2) == 0;
        const Code pair = second_ ? Code{"<sc id=" + id + "/>", "<ec startRef=" + id + "/>"}
                          : code  ? Code{"<bpt id=" + id + ">{}</bpt>", "<ept id=" + id + ">{/}</ept>"}
                                  : Code{"<bx id=" + id + "/>", "<ex id=" + id + "/>"};
        unit.source += pair.open;
        unit.codes.push_back(pair);
        pending.push_back(pair.close);
      } else if (what == 2) {
        const std::string mark = second_         ? "<ph id=" + id + "/>"
                                 : below(2) == 0 ? "<x id=" + id + "/>"
                                                 : "<it id=" + id + " pos=\"open\">[</it>";
        unit.source += mark;
        unit.codes.push_back({mark, ""});
      } else {
        const std::string& word = words[below(6)];
        unit.source += word, unit.text += word;
      }
      if (!pending.empty() && below(2) == 0) {
        const size_t at = below(static_cast<uint32_t>(pending.size()));
        unit.source += pending[at];
        pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(at));
      }
      if (below(3) != 0) unit.source += ' ', unit.text += ' ';
    }
    for (const std::string& end : pending) unit.source += end;
  }

  RandomStream random_;
  bool second_ = false;
  int id_ = 0;
};

/// The targets of a document, of which all else is known; no value if that has changed.
std::vector<std::string> targets_between(const std::string& document, const std::vector<std::string>& around) {
  std::vector<std::string> targets;
  if (!document.starts_with(around[0])) return {"changed before the first target"};
  size_t at = around[0].size();
  for (size_t i = 1; i < around.size(); ++i) {
    const size_t end = document.find("</target>", at);
    if (document.compare(end, around[i].size(), around[i]) != 0)
      return {"changed behind target", std::to_string(i)};
    targets.push_back(document.substr(at, end - at));
    at = end + around[i].size();
  }
  return at == document.size() ? targets : std::vector<std::string>{"changed at the end"};
}

TEST(Xliff, GeneratedDocumentsKeepTheirStructure) {
  const TextTranslator translators[] = {identity(), upper_case(),     reversed(), dropping(),
                                        adding(),   without_spaces(), arbitrary()};
  for (uint64_t seed = 0; seed < 10'000; ++seed) {
    XliffGenerator document(seed);
    document.make();
    const TextTranslator never_empty = [&](const auto& texts) {
      std::vector<TranslatedText> all = translators[seed % 7](texts);
      for (TranslatedText& one : all)
        if (!has_visible_character(replace_invalid_utf8(one.text))) one.text = "x";
      return all;
    };
    const std::string result = translated(document.source, never_empty);
    ASSERT_NO_THROW(read_xliff({result, "the result"})) << "seed " << seed << "\n" << result;
    const std::vector<std::string> targets = targets_between(result, document.around);
    ASSERT_EQ(targets.size(), document.units.size()) << "seed " << seed << "\n"
                                                     << document.source << "\n"
                                                     << result;
    for (size_t i = 0; i < targets.size(); ++i) {
      const XliffGenerator::Unit& unit = document.units[i];
      if (seed % 7 == 0) {
        ASSERT_EQ(targets[i], unit.source) << "seed " << seed;
      }
      std::string text = targets[i];
      const auto take = [&](const std::string& code) {
        const size_t at = text.find(code), end = at + code.size();
        if (at == text.npos || text.find(code, end) != text.npos) return text.npos;
        text.replace(at, code.size(), std::string(code.size(), '\x01'));
        return at;
      };
      for (const XliffGenerator::Code& code : unit.codes) {
        const size_t open = take(code.open);
        ASSERT_NE(open, text.npos) << "seed " << seed << " " << code.open << "\n"
                                   << unit.source << "\n"
                                   << targets[i];
        if (code.close.empty()) continue;
        const size_t close = take(code.close);
        ASSERT_TRUE(close != text.npos && open < close) << "seed " << seed << " " << code.open << "\n"
                                                        << unit.source << "\n"
                                                        << targets[i];
      }
      if (seed % 7 != 1) continue;
      for (const char* end : {"</g>", "</pc>", "</mrk>"})
        for (size_t at; (at = text.find(end)) != text.npos;) text.erase(at, std::string_view(end).size());
      std::string expected = upper(unit.text);
      for (size_t at; (at = expected.find("&AMP;")) != expected.npos;) expected.replace(at, 5, "&amp;");
      for (size_t at; (at = expected.find("&LT;")) != expected.npos;) expected.replace(at, 4, "&lt;");
      std::erase(text, '\x01'), std::erase(text, ' '), std::erase(expected, ' ');
      ASSERT_EQ(text, expected) << "seed " << seed << "\n" << unit.source << "\n" << targets[i];
    }
  }
}

}  // namespace
}  // namespace sixfold
