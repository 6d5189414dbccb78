#include "text/glossary.h"

#include <gtest/gtest.h>

#include "error_message.h"

namespace sixfold {
namespace {

using Texts = std::vector<std::string>;

TEST(Glossary, FindsWholeWordsInOrder) {
  const Glossary glossary({{"cat", "Katze"}, {"old dog", "alter Hund"}, {"dog", "Hund"}});
  EXPECT_EQ(glossary.targets_in("The old  dog sees a cat, not a dog."), (Texts{"alter Hund", "Katze", "Hund"}));
  EXPECT_EQ(glossary.targets_in("cats concat dog's cat-dog cat"), (Texts{"Hund", "Katze", "Hund", "Katze"}));
  EXPECT_EQ(glossary.targets_in("old, dog"), Texts{"Hund"});
  EXPECT_EQ(glossary.targets_in(""), Texts{});
  EXPECT_EQ(glossary.targets_in("cat\xFF cat"), (Texts{"Katze", "Katze"}));
}

TEST(Glossary, WithoutCapitalsAPhraseIsFoundInAnyCase) {
  const Glossary glossary({{"straße", "street"}, {"US", "USA"}, {"us", "uns"}, {"Apple Pie", "Apfelkuchen"}});
  EXPECT_EQ(glossary.targets_in("STRASSE Straße straße"), (Texts{"street", "street", "street"}));
  EXPECT_EQ(glossary.targets_in("US us Us"), (Texts{"USA", "uns", "uns"}));
  EXPECT_EQ(glossary.targets_in("an apple pie, an Apple Pie"), Texts{"Apfelkuchen"});
}

TEST(Glossary, InATextInCapitalsAPhraseIsFoundInAnyCase) {
  const Glossary glossary({{"New York", "Großstadt"}, {"US", "USA"}, {"us", "uns"}, {"Bob", "Robert"}});
  EXPECT_EQ(glossary.targets_in("BOB SEES NEW YORK."), (Texts{"Robert", "Großstadt"}));
  EXPECT_EQ(glossary.targets_in("BOB sees NEW YORK."), Texts{});
  EXPECT_EQ(glossary.targets_in("THE US"), Texts{"USA"});  // the exact one
}

/// A letter and its accent may be one character or two, also in capitals that have no such character.
TEST(Glossary, AccentsAreFoundHoweverTheyAreEncoded) {
  const Glossary glossary(
      {{"caf\u00e9", "Lokal"}, {"nai\u0308f", "naiv"}, {"\u0390", "i"}, {"Ange\u0301e", "A"}});
  EXPECT_EQ(glossary.targets_in("cafe\u0301 CAFE\u0301 caf\u00c9 cafe"), (Texts{"Lokal", "Lokal", "Lokal"}));
  EXPECT_EQ(glossary.targets_in("na\u00eff NAI\u0308F"), (Texts{"naiv", "naiv"}));
  EXPECT_EQ(glossary.targets_in("\u0390 \u03b9\u0308\u0301"), (Texts{"i", "i"}));
  EXPECT_EQ(glossary.targets_in("Ang\u00e9e ang\u00e9e"), Texts{"A"});
}

/// As in ordinary Persian.
TEST(Glossary, WordsMayHaveJoiners) {
  const auto glossary = Glossary::from_tsv("می\u200Cخواهم\tI\u200Dwant\n", "g.tsv");
  EXPECT_EQ(glossary.targets_in("من می\u200Cخواهم."), std::vector<std::string>{"I\u200Dwant"});
  EXPECT_TRUE(glossary.targets_in("می\u200Cخواهم\u200Cش").empty()) << "a part of a word";
}

TEST(Glossary, ScriptsWithoutSpacesHaveNoWords) {
  const Glossary glossary({{"東京", "Tokyo"}, {"カメラ", "camera"}, {"кот", "cat"}});
  EXPECT_EQ(glossary.targets_in("私は東京でカメラを買った。"), (Texts{"Tokyo", "camera"}));
  EXPECT_EQ(glossary.targets_in("который кот"), Texts{"cat"});
}

TEST(Glossary, ReadsAndWritesLines) {
  const Glossary glossary = Glossary::from_tsv("cat\tKatze\r\n\n old dog \t alter Hund\n", "g.tsv");
  EXPECT_EQ(glossary.entries(), (std::vector<GlossaryEntry>{{"cat", "Katze"}, {"old dog", "alter Hund"}}));
  EXPECT_EQ(Glossary::from_tsv(glossary.to_tsv(), "").entries(), glossary.entries());
  EXPECT_EQ(Glossary::from_tsv("\uFEFFcat\tKatze\n", "").entries()[0].source, "cat");
  const auto refused = [](const std::string& text, const std::string& part) {
    const std::string message = error_message([&] { Glossary::from_tsv(text, "g.tsv"); });
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  refused("a\tb\nc\n", "g.tsv:2: a line has a source phrase, a tab and a target phrase");
  refused("a\tb\tc\n", "g.tsv:1");
  refused("a\t\xFF\n", "g.tsv:1: is not valid UTF-8");
  refused("a\tb\nA b\tb\na\tc\n", "g.tsv: entry 3 of the glossary: 'a' is the source phrase of entry 1 too");
  refused("a\t \n", "entry 1 of the glossary: the target phrase is empty");
  refused("a\tb" + std::string(1, '\x01') + "\n", "has a control character");
  refused(fmt::format("{:a>1025}\tb\n", ""), "has 1025 bytes; it may have 1024");
  refused("\n", "has no entries");
}

}  // namespace
}  // namespace sixfold
