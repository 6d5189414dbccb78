#include <fmt/format.h>
#include <gtest/gtest.h>

#include "error_message.h"
#include "tasks/translation/markup/fake_translators.h"
#include "tasks/translation/markup/po_messages.h"
#include "tasks/translation/markup/translate_markup.h"

namespace sixfold {
namespace {

std::string upper_case_po(const std::string& po) { return translate_po(po, upper_case()); }

TEST(Po, FillsWhatIsEmpty) {
  EXPECT_EQ(upper_case_po("# c\n#: a.c:1\nmsgid \"old dog\"\nmsgstr \"\"\n"),
            "# c\n#: a.c:1\nmsgid \"old dog\"\nmsgstr \"OLD DOG\"\n");
  EXPECT_EQ(upper_case_po(
                "msgctxt \"m\"\nmsgid \"\"\n\"one \"\n\"two\"\nmsgstr \"\"\n\"\"\n\nmsgid \"a\"\nmsgstr \"\""),
            "msgctxt \"m\"\nmsgid \"\"\n\"one \"\n\"two\"\nmsgstr \"ONE TWO\"\n\nmsgid \"a\"\nmsgstr \"A\"");
}

TEST(Po, TheRestKeepsItsBytes) {
  for (const std::string po :
       {"msgid \"\"\nmsgstr \"\"\n\"Language: de\\n\"\n", "#, fuzzy\nmsgid \"dog\"\nmsgstr \"Hund\"\n",
        "msgid \"dog\"\nmsgstr \"Hund\"\n", "#~ msgid \"dog\"\n#~ msgstr \"\"\n", "msgid \"\"\nmsgstr \"\"\n",
        "msgid \"%d\"\nmsgid_plural \"dogs\"\nmsgstr[0] \"\"\nmsgstr[1] \"Hunde\"\n", ""})
    EXPECT_EQ(upper_case_po(po), po);
}

TEST(Po, PluralsHaveTheirForms) {
  EXPECT_EQ(upper_case_po(
                "msgid \"one dog\"\nmsgid_plural \"dogs\"\nmsgstr[0] \"\"\nmsgstr[1] \"\"\nmsgstr[2] \"\"\n"),
            "msgid \"one dog\"\nmsgid_plural \"dogs\"\nmsgstr[0] \"ONE DOG\"\nmsgstr[1] \"DOGS\"\nmsgstr[2] "
            "\"DOGS\"\n");
  EXPECT_EQ(upper_case_po("msgid \"one dog\"\nmsgid_plural \"dogs\"\nmsgstr[0] \"\"\n"),
            "msgid \"one dog\"\nmsgid_plural \"dogs\"\nmsgstr[0] \"DOGS\"\n");
}

TEST(Po, KeepsPlaceholdersTagsAndEscapes) {
  const auto translated = [](const std::string& text) {
    const std::string po = upper_case_po("msgid \"" + text + "\"\nmsgstr \"\"\n");
    return po.substr(po.find("msgstr "));
  };
  std::vector<std::string> marks{
      "%d",       "%s",        "%1$s",      "%-5.2f",     "%(name)s",    "%{name}",    "{0}",     "{name!r}",
      "%%",       "%lu",       "{{name}}",  "{{ name }}", "{0:N2}",      "{{",         "}}",      "$name",
      "%<name>s", "%<PRIu64>", "${name}",   "%NAME%",     "%<a>5.1f",    "%1",         "%L12",    "%1%",
      "%|1$s|",   "%m",        "%(value)r", "%I64d",      "{0, number}", "{% if a %}", "{a:>{b}}"};
  for (const char* element : {"<kbd>F1</kbd>", "<code>make it</code>", "<b translate=\\\"no\\\">a dog</b>",
                              "<script>a<b></script>", "<i translate=\\\"no\\\">a <i>b</i> c</i>"})
    marks.emplace_back(element);
  for (const std::string& mark : marks)
    EXPECT_EQ(translated("delete " + mark + " now"), "msgstr \"DELETE " + mark + " NOW\"\n");
  EXPECT_EQ(translated("%d files (%s) in %s?"), "msgstr \"%d FILES (%s) IN %s?\"\n");
  EXPECT_EQ(translated("%s: %d %s"), "msgstr \"%s: %d %s\"\n") << "no letters";
  EXPECT_EQ(translated("100 % sure {not this}"), "msgstr \"100 % SURE {NOT THIS}\"\n");
  EXPECT_EQ(translated("a <a href=\\\"x\\\">b</a><br/>c"), "msgstr \"A <a href=\\\"x\\\">B</a><br/>C\"\n");
  EXPECT_EQ(translated("say \\\"hi\\\"\\t\\x41\\n"), "msgstr \"SAY \\\"HI\\\" A\\n\"\n");
  EXPECT_EQ(translated("one\\ntwo\\n"), "msgstr \"\"\n\"ONE\\n\"\n\"TWO\\n\"\n");
  EXPECT_EQ(translated("%d"), "msgstr \"%d\"\n");
  EXPECT_EQ(translated("use <code>make it"), "msgstr \"USE <code>MAKE IT\"\n") << "it has no end";
  for (const auto& [text, expected] :
       {std::pair("5 %1234 for US$ 7 or $8", "5 %1234 FOR US$ 7 OR $8"),
        {"Ke$ha and A$AP sing", "KE$HA AND A$AP SING"},
        {"50%|60%|70% done", "50%|60%|70% DONE"},
        {"a 50%discount", "A 50%DISCOUNT"},
        {"100%done", "100%DONE"},
        {"use %1%2 now", "USE %1%2 NOW"},
        {"use %1%1 now", "USE %1%1 NOW"},
        {"use %L1%L1 now", "USE %L1%L1 NOW"},
        {"use %NAME%%NAME% now", "USE %NAME%%NAME% NOW"},
        {"use $name$name now", "USE $name$name NOW"},
        {"see <a href=\\\"%1\\\">%2</a> now", "SEE <a href=\\\"%1\\\">%2</a> NOW"},
        {"<b>%1</b> runs in %2<br/>a", "<b>%1</b> RUNS IN %2<br/>A"},
        {"a man %1<b>runs</b>", "A MAN %1<b>RUNS</b>"},
        {"open <code/> the file</code> now", "OPEN <code/> THE FILE</code> NOW"}})
    EXPECT_EQ(translated(text), fmt::format("msgstr \"{}\"\n", expected));
}

TEST(Po, AFlagSaysThatAPercentSignIsText) {
  const std::string message = "msgid \"buy %discount\"\nmsgstr \"", other = "msgid \"a %d b\"\nmsgstr \"";
  for (const std::string flags :
       {"#, no-c-format\n", "#, fuzzy, no-python-format\n", "#,no-c-format\n#, range: 1..2\n"})
    EXPECT_EQ(upper_case_po(flags + message + "\"\n\n" + other + "\"\n"),
              flags + message + "BUY %DISCOUNT\"\n\n" + other + "A %d B\"\n");
  for (const std::string flags :
       {"#, no-python-brace-format\n", "#, c-format\n", "#, no-c-format, python-format\n",
        "#, no-c-format\n#~ msgid \"x\"\n#~ msgstr \"\"\n"})
    EXPECT_EQ(upper_case_po(flags + other + "\"\n"), flags + other + "A %d B\"\n");
}

/// Programs stop at a placeholder that they do not know, and at one that its source does not have.
TEST(Po, AFlagSaysThatPlaceholdersMustBeTheSame) {
  const auto message = [](const char* flag, const char* text, const char* translation) {
    return fmt::format("#, {}\nmsgid \"{}\"\nmsgstr \"{}\"\n", flag, text, translation);
  };
  for (const auto& [flag, text] : {std::pair("python-format", "a %(first name)s b"),
                                   {"javascript-format", "a %j b"},
                                   {"lua-format", "a %q b"},
                                   {"elisp-format", "a %S b"},
                                   {"perl-format", "a %vd %s b"},
                                   {"csharp-format", "a {0:d MMMM yyyy} b {1}"},
                                   {"c-format", "a % d b"}})
    EXPECT_EQ(upper_case_po(message(flag, text, "")), message(flag, text, "")) << "not known";
  const TextTranslator adds_signs = [](const auto& texts) {
    return std::vector<TranslatedText>(texts.size(), {.text = "100%/x {/}"});
  };
  for (const char* flag : {"c-format", "python-brace-format", "fuzzy, csharp-format"})
    EXPECT_EQ(translate_po(message(flag, "a b", ""), adds_signs), message(flag, "a b", ""));
  EXPECT_EQ(translate_po(message("fuzzy", "a b", ""), adds_signs), message("fuzzy", "a b", "100%/x {/}"));
  for (const auto& [flag, text, expected] : {std::tuple("c-format", "a (%s) b %d%%", "A (%s) B %d%%"),
                                             {"python-brace-format", "a {b} 5%", "A {b} 5%"},
                                             {"kde-format", "a 50% b %1: c", "A 50% B %1: C"},
                                             {"java-printf-format", "a %1$tY %s b", "A %1$tY %s B"},
                                             {"object-pascal-format", "a %0:s %.2f b", "A %0:s %.2f B"}})
    EXPECT_EQ(upper_case_po(message(flag, text, "")), message(flag, text, expected));
}

/// A message without one of its forms would be shown empty.
TEST(Po, AllFormsOfAMessageAreWrittenOrNone) {
  const std::string po =
      "#, c-format\nmsgid \"one man\"\nmsgid_plural \"%d men, 100 %y of them\"\nmsgstr[0] \"\"\nmsgstr[1] "
      "\"\"\n";
  EXPECT_EQ(upper_case_po(po), po);
}

TEST(Po, SpaceStaysBetweenAPlaceholderAndATag) {
  const std::string po = "msgid \"see %s <b>now</b>\"\nmsgstr \"";
  EXPECT_EQ(translate_po(po + "\"\n", upper_case()), po + "SEE %s <b>NOW</b>\"\n");
  const std::string end = "msgid \"see <b>now %s</b>\"\nmsgstr \"";
  EXPECT_EQ(translate_po(end + "\"\n", upper_case()), end + "SEE <b>NOW %s</b>\"\n");
}

/// A program of C reads its arguments by the types of these conversions, in their order.
TEST(Po, ConversionsWithoutNumbersKeepTheirOrder) {
  const auto translated = [](const std::string& text) {
    const std::string po = translate_po("msgid \"" + text + "\"\nmsgstr \"\"\n", reversed());
    return po.substr(po.find("msgstr "));
  };
  for (const auto& [first, second] : {std::pair("%s", "%d"), {"(%s)", "%5.2f"}}) {
    const std::string po = translated(fmt::format("one {} two three {} four", first, second));
    EXPECT_LT(po.find(first), po.find(second)) << po;
  }
  const std::string named = translated("one %1$s two three %2$d four");
  EXPECT_GT(named.find("%1$s"), named.find("%2$d")) << named;
  for (const auto& [first, second] :
       {std::pair("%1", "%2"), {"%L1", "%2%"}, {"%<a>s", "%<b>d"}, {"%AB%", "%|2|"}}) {
    const std::string po = translated(fmt::format("one {} two three {} four", first, second));
    EXPECT_GT(po.find(first), po.find(second)) << po;
  }
  for (const std::string holder : {"<code>%s</code>", "{{ %s }}", "{%s}", "<b translate=\\\"no\\\">%s</b>"}) {
    const std::string po = translated("one " + holder + " two three %d four");
    EXPECT_LT(po.find("%s"), po.find("%d")) << po;
  }
  const std::string sizes = translated("one %s two three %<PRIu64> four");
  EXPECT_LT(sizes.find("%s"), sizes.find("%<PRIu64>")) << sizes;
}

TEST(Po, LiteralsAreReadAsTheyWereWritten) {
  for (const std::string& text : {std::string("a\"b\\c"), std::string("a\nb\tc\r\x01\x7F"), std::string("\n"),
                                  std::string("\n\na"), std::string("\u00E4\n"), std::string("x")})
    for (const std::string line_end : {"\n", "\r\n"}) {
      const std::string po = "msgid \"a\"" + line_end + "msgstr " + po_literals(text, line_end) + line_end;
      EXPECT_EQ(read_po({po, "a.po"})[0].translations[0].text, text) << po;
    }
}

TEST(Po, RefusesWhatIsNone) {
  const auto refused = [](const std::string& po, const std::string& part) {
    const std::string message = error_message([&] { translate_po(po, identity(), "a.po"); });
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  refused("hello\n", "a.po, line 1, column 1: is not what a PO file has here");
  refused("msgid \"a\nmsgstr \"\"\n",
          "line 1, column 9: a string ends here, but its line does not, or it has no end");
  refused("msgid \"a\"\nmsgid \"b\"\nmsgstr \"\"\n", "line 2, column 1: the message before has no msgstr");
  refused("msgid \"a\"\n", "the message before has no msgstr");
  refused("msgstr \"a\"\n", "is not what a PO file has here");
  refused("\"a\"\n", "a string belongs to no keyword");
  refused("msgid\n", "a keyword has no string");
  refused("msgid \"\\q\"\n", "is not a valid escape sequence");
  refused("msgid \"\\xFF\"\nmsgstr \"\"\n", "not valid UTF-8");
  refused("msgid \"\"\nmsgstr \"Content-Type: text/plain; charset=ISO-8859-1\\n\"\n", "msgconv -t UTF-8");
}

}  // namespace
}  // namespace sixfold
