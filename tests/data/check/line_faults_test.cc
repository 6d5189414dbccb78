#include "data/check/line_faults.h"

#include <gtest/gtest.h>
#include <unicode/uscript.h>

namespace sixfold {
namespace {

TEST(LineFaults, TextThatWasDecodedInTheWrongWay) {
  for (const char* line :
       {"fÃ¼r MÃ¤dchen", "itâ€™s", "Ã\u0084pfel", "èª° ã\u0081\u008C ä¸€", "a \uFFFD b",
        "Ð¿Ñ\u0080Ð¸Ð²ÐµÑ\u0082", "groÃŸ", "1 â‚¬", "Ã–sterreich", "GRÃ–SSE", "ðŸ˜€", "ï»¿Anfang", "âœ…"})
    EXPECT_TRUE(has_mojibake(line)) << line;
  for (const char* line :
       {"für Mädchen", "it’s", "São Paulo", "Ángel", "MAÇÃO", "誰 が", "Ça va à Âme", "£20, 5 °C", "ÄÖÜß",
        "„Das macht Spaß“, sagte er.", "« pour la liberté\u00A0».", "LE «CARRÉ», Café…“", "así…”",
        "ATÉ AMANHÃ…", "“A MAÇÃ”", "«ATÉ AMANHÃ»", "JA ĐÃ – SIM", ""})
    EXPECT_FALSE(has_mojibake(line)) << line;
}

TEST(LineFaults, LinesInCapitalsAreNotMended) {
  EXPECT_EQ(mended("DISSE QUE VOLTA AMANHÃ…"), "DISSE QUE VOLTA AMANHÃ…");
  EXPECT_EQ(mended("Ã–sterreich"), "Österreich");
}

TEST(LineFaults, CharactersThatAreNotComposed) {
  EXPECT_TRUE(is_decomposed("Ma\u0308dchen"));
  EXPECT_FALSE(is_decomposed("Mädchen"));
  EXPECT_FALSE(is_decomposed("ﬁ ＡＢ ½"));  // of NFKC, which is another form
}

TEST(LineFaults, WhiteSpaceThatIsNoPartOfTheText) {
  for (const char* line : {" a",
                           "a ",
                           "a  b",
                           "a\tb",
                           "a\u200Bb",
                           "a\uFEFFb",
                           "ab\u00A0cd",
                           "a\u00A0 b",
                           "a\u200Fb",
                           "can't\u00A0go",
                           "1a\u00A0go",
                           "कित\u00A0पानी",
                           "a\x01"
                           "b",
                           "co\u00ADop",
                           "Auf\u200Clage",
                           "Auf\u200Dlage",
                           "a\u00A0",
                           "a.\u00A0",
                           "\u3000a",
                           "a\u3000",
                           "\u2003a",
                           "\u2003"})
    EXPECT_TRUE(has_odd_space(line)) << line;
  for (const char* line : {"a b",
                           "",
                           "Bonjour\u00A0!",
                           "10\u00A0km",
                           "«\u00A0oui\u00A0»",
                           "私　は",
                           "می\u200Cخواهم",
                           "5\u202F000",
                           "w\u00A0domu",
                           "K\u00A0obědu",
                           "ខ្ញុំ\u200Bចូល\u200Bរៀន",
                           "ไป\u200Bไหน",
                           "Facebook\u200Bជា",
                           "ទៅ។\u200Bគាត់",
                           "(w\u00A0domu)",
                           "\"W\u00A0domu\"",
                           "قل\u06DD",
                           "ᠪᠠᠢᠨ\u180Eᠠ",
                           "བོད\u200Bཡིག",
                           "שלום!\u200F",
                           "\u202Bשלום\u202C",
                           "\U0001F3F4\U000E0067\U000E0062\U000E007F"})
    EXPECT_FALSE(has_odd_space(line)) << line;
}

TEST(LineFaults, Scripts) {
  ScriptCounts japanese;
  japanese.add("カタカナ と ひらがな と 漢字 12 !");
  EXPECT_EQ(japanese.commonest(), USCRIPT_HAN);
  EXPECT_EQ(japanese.of(japanese.commonest()), japanese.letters());
  ScriptCounts none;
  none.add("12 - 3!");
  EXPECT_EQ(none.commonest(), -1);
  EXPECT_TRUE(mixes_alphabets("the d\u043Eg"));  // a Cyrillic o
  EXPECT_TRUE(mixes_alphabets("hell\u03BF"));    // a Greek o
  EXPECT_FALSE(mixes_alphabets("the dog и кот with α"));
  EXPECT_FALSE(mixes_alphabets("5 kΩ, 3 μm, Δt and βcarotene"));
}

}  // namespace
}  // namespace sixfold
