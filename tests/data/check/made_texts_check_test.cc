#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "base/file.h"
#include "base/random.h"
#include "data/check/checks.h"
#include "data/check/pair_faults.h"
#include "data/lines.h"
#include "error_message.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

/// What a word stands for can't be learned where none comes twice, or where there are only classes and numbers.
TEST(ParallelCheck, FindsNothingInTasksThatAreNoTranslation) {
  const TemporaryFolder folder;
  RandomStream random(1, 1);
  std::string words, reversed, sums, results, bits, parities;
  for (int i = 0; i < 3000; ++i) {
    std::string word;
    for (int k = 3 + static_cast<int>(random.below(8)); k > 0; --k)
      word += static_cast<char>('a' + random.below(26));
    words += word + "\n";
    reversed += std::string(word.rbegin(), word.rend()) + "\n";
    const uint32_t a = random.below(100), b = random.below(100);
    sums += std::to_string(a) + " + " + std::to_string(b) + "\n";
    results += std::to_string(a + b) + "\n";
    int ones = 0;
    for (int k = 0; k < 12; ++k) {
      const bool bit = random.below(2) == 0;
      bits += bit ? "one " : "zero ";
      ones += bit;
    }
    bits.back() = '\n';
    parities += ones % 2 == 0 ? "even\n" : "odd\n";
  }
  for (const auto& [source, target] : {std::pair(words, reversed), {sums, results}, {bits, parities}}) {
    write_file_atomically(folder / "a.src", source);
    write_file_atomically(folder / "a.tgt", target);
    for (const Finding& finding : check_parallel({.train = {{folder / "a.src", folder / "a.tgt", ""}}}))
      EXPECT_EQ(finding.id, "duplicates") << finding.text;
  }
}

TEST(ParallelCheck, CountsRepeatsOfEachWayOfWriting) {
  const TemporaryFolder folder;
  std::string lines = "The menu\n";
  for (int i = 0; i < 300; ++i) lines += i % 2 == 0 ? "THE MENU\n" : "the menu\n";
  for (int i = 0; i < 300; ++i) lines += "line " + std::to_string(i) + " of many\n";
  write_file_atomically(folder / "a.src", lines);
  write_file_atomically(folder / "a.tgt", lines);
  const std::vector<Finding> findings = check_parallel({.train = {{folder / "a.src", folder / "a.tgt", ""}}});
  const auto found = std::ranges::find(findings, "duplicates", &Finding::id);
  ASSERT_NE(found, findings.end());
  EXPECT_NE(found->text.find("298 of 601"), std::string::npos) << found->text;
}

/// The findings of 1,000 made pairs whose files end in these languages.
std::vector<Finding> findings_of_made(const std::string& source, const std::string& target,
                                      const std::function<LinePair(int i)>& make) {
  const TemporaryFolder folder;
  std::string sources, targets;
  for (int i = 0; i < 1000; ++i) {
    const LinePair pair = make(i);
    sources += pair.first + "\n";
    targets += pair.second + "\n";
  }
  write_file_atomically(folder / ("a." + source), sources);
  write_file_atomically(folder / ("a." + target), targets);
  return check_parallel({.train = {{folder / ("a." + source), folder / ("a." + target), ""}}});
}

bool has(const std::vector<Finding>& findings, const std::string& id) {
  return std::ranges::find(findings, id, &Finding::id) != findings.end();
}

TEST(ParallelCheck, FindsLanguagesOfWhichNoneIsThatOfMostLines) {
  const std::vector<Finding> findings = findings_of_made("en", "pt", [](int i) {
    const std::string n = std::to_string(i);
    return LinePair{"The old man walks through the park with his dog and number " + n,
                    i % 20 < 9    ? "O homem velho caminha pelo parque com o seu cachorro e o número " + n
                    : i % 20 < 15 ? "Yaşlı adam köpeğiyle birlikte parkta yürüyor ve numarası budur " + n
                                  : "Stary człowiek spaceruje po parku ze swoim psem i numerem " + n};
  });
  EXPECT_TRUE(has(findings, "languages-mixed")) << to_text(findings);
}

TEST(ParallelCheck, FindsTextsThatWereCutAtAnyLength) {
  for (const size_t limit : {1100u, 2000u, 9000u}) {
    RandomStream random(1, 1);
    const std::vector<Finding> findings = findings_of_made("xx", "yy", [&](int i) {
      std::string text = std::to_string(i);
      const size_t length = 100 + random.below(static_cast<uint32_t>(3 * limit));
      while (text.size() < length) text += " w" + std::to_string(random.below(5000));
      return LinePair{text, text.substr(0, limit)};
    });
    std::string all = to_text(findings);
    EXPECT_NE(all.find("exactly " + std::to_string(limit) + " characters"), std::string::npos)
        << all.substr(0, 500);
  }
}

TEST(ParallelCheck, KnowsFormerCodesAndLanguagesThatCanNotBeToldApart) {
  for (const auto& [code, line] :
       {std::pair("iw", "האיש הזקן הולך בפארק עם הכלב שלו ועם מספר "),
        std::pair("bs", "Stari čovjek šeta kroz park sa svojim psom i ima broj koji glasi "),
        std::pair("sr", "Stari čovjek šeta kroz park sa svojim psom i ima broj koji glasi ")}) {
    const std::vector<Finding> findings = findings_of_made("en", code, [&, text = line](int i) {
      const std::string n = std::to_string(i);
      return LinePair{"The old man walks through the park with his dog and number " + n, text + n};
    });
    EXPECT_FALSE(has(findings, "languages") || has(findings, "languages-mixed")) << code << to_text(findings);
  }
}

/// Texts may be joined line by line, so that a sample of every second line would see one of them only.
TEST(ParallelCheck, SeesFaultsOfEveryFourthLine) {
  const TemporaryFolder folder;
  for (const int phase : {0, 1, 3}) {
    std::string sources, targets;
    for (int i = 0; i < 50'000; ++i) {
      sources += fmt::format("line {} of many\n", i);
      targets += fmt::format("die Zeile {} {} vielen\n", i, i % 4 == phase ? "fÃ¼r" : "für");
    }
    write_file_atomically(folder / "a.en", sources);
    write_file_atomically(folder / "a.de", targets);
    const std::vector<Finding> findings = check_parallel({.train = {{folder / "a.en", folder / "a.de", ""}}});
    const auto found = std::ranges::find(findings, "mojibake", &Finding::id);
    ASSERT_NE(found, findings.end()) << phase;
    const double percent = std::stod(found->text.substr(found->text.find('(') + 1));
    EXPECT_NEAR(percent, 25, 2) << found->text;
  }
}

TEST(ParallelCheck, NamesThePlacesOfEmptyLines) {
  const std::vector<Finding> findings = findings_of_made("en", "de", [](int i) {
    return LinePair{fmt::format("line {} of many", i), i % 10 == 5 ? "" : fmt::format("die Zeile {}", i)};
  });
  const auto found = std::ranges::find(findings, "empty-lines", &Finding::id);
  ASSERT_NE(found, findings.end());
  ASSERT_EQ(found->examples.size(), 3u);
  EXPECT_NE(found->examples[0].find("a.en:6: line 5 of many | "), std::string::npos) << found->examples[0];
}

/// A high limit leaves out nothing of what is found.
TEST(ParallelCheck, OnlyALowMaximumRatioHidesUnevenPairs) {
  const TemporaryFolder folder;
  std::string sources, targets;
  for (int i = 0; i < 1000; ++i) {
    sources += fmt::format("line {} of many lines with some words that are always the same\n", i);
    targets += i % 5 == 0 ? fmt::format("Nr. {}\n", i)
                          : fmt::format("die Zeile {} von vielen mit Wörtern, die immer gleich sind\n", i);
  }
  write_file_atomically(folder / "a.en", sources);
  write_file_atomically(folder / "a.de", targets);
  ParallelCheck check{.train = {{folder / "a.en", folder / "a.de", ""}}};
  for (const double ratio : {0.0, 1000.0}) {
    check.max_ratio = ratio;
    EXPECT_TRUE(has(check_parallel(check), "length-ratio")) << ratio;
  }
  check.max_ratio = 2;
  EXPECT_FALSE(has(check_parallel(check), "length-ratio"));
}

/// Of several directions, the message names the text and the setting that it has.
TEST(ParallelCheck, NamesTheTextOfADirection) {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 200; ++i)
    lines += fmt::format("The old man walks through the park with his {} dogs\n", i);
  write_file_atomically(folder / "a.x", lines);
  write_file_atomically(folder / "a.y", lines);
  const std::vector<Finding> findings = check_parallel(
      {.train = {{folder / "a.x", folder / "a.y", ""}}, .languages = {"en", "ja"}, .is_direction = true});
  ASSERT_TRUE(has(findings, "languages")) << to_text(findings);
  const std::string& text = std::ranges::find(findings, "languages", &Finding::id)->text;
  EXPECT_NE(text.find("a.x"), std::string::npos) << text;
  EXPECT_NE(text.find("set data.languages"), std::string::npos) << text;
}

/// Names of products and units are letters of another script.
TEST(ParallelCheck, NamesAndUnitsAreNoOtherScript) {
  const std::vector<Finding> findings = findings_of_made("en", "ja", [](int i) {
    const std::string n = std::to_string(i);
    return LinePair{"Windows Server " + n + " needs 5 kΩ and 3 μm", "Windows Server " + n + "は新しい"};
  });
  EXPECT_FALSE(has(findings, "scripts")) << to_text(findings);
}

/// Vowel signs of Hindi are marks, and signs of arithmetic tell pairs apart.
TEST(ParallelCheck, DoesNotTakeNewLinesForOldOnes) {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& name, const std::string& boy, char sign) {
    std::string source, target;
    for (int i = 0; i < 200; ++i) {
      const std::string n = std::to_string(i);
      source += i % 2 ? boy + " " + n + "\n" : n + " " + sign + " 12\n";
      target += i % 2 ? "someone goes to school " + n + "\n" : "compute " + n + " " + sign + " 12 now\n";
    }
    write_file_atomically(folder / (name + ".hi"), source);
    write_file_atomically(folder / (name + ".en"), target);
    return CorpusFiles{folder / (name + ".hi"), folder / (name + ".en"), ""};
  };
  const CorpusFiles train = write("train", "लड़का स्कूल जाता है", '+'),
                    valid = write("valid", "लड़की स्कूल जाती है", '*');
  EXPECT_FALSE(has(check_parallel({.train = {train}, .valid = {valid}}), "overlap"));
  EXPECT_NE(letters_of("लड़का"), letters_of("लड़की"));
}

TEST(ParallelCheck, NeedsLinesThatCanBeUsed) {
  const std::vector<Finding> findings = findings_of_made("en", "de", [](int) { return LinePair{"a b", " "}; });
  ASSERT_TRUE(has(findings, "empty-lines"));
  EXPECT_EQ(findings[0].severity, Severity::error);
}

TEST(ParallelCheck, SaysNothingOfAFewLines) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a.en", "a\na\na\n");
  write_file_atomically(folder / "a.de", "a\na\na\n");
  EXPECT_TRUE(check_parallel({.train = {{folder / "a.en", folder / "a.de", ""}}}).empty());
}

TEST(ParallelCheck, NamesWhatItCanNotRead) {
  EXPECT_NE(error_message([] {
              check_parallel({.train = {{"nowhere.en", "nowhere.de", ""}}});
            }).find("nowhere.en"),
            std::string::npos);
}

TEST(Findings, AreWrittenAsJson) {
  const std::vector<Finding> findings{{"copies", Severity::error, "data.train: \"all\"", {"a.en:1: x | x"}}};
  EXPECT_EQ(to_json_text(findings),
            "[\n  {\n    \"id\": \"copies\",\n    \"severity\": \"error\",\n    \"text\": \"data.train: "
            "\\\"all\\\"\",\n"
            "    \"examples\": [\n      \"a.en:1: x | x\"\n    ]\n  }\n]\n");
  EXPECT_EQ(to_json_text(std::vector<Finding>()), "[]\n");
  const std::vector<Finding> bytes{{"copies", Severity::error, "d\xFF", {"d\xFF/a.en:1: x"}}};
  EXPECT_NE(to_json_text(bytes).find("d\uFFFD/a.en:1: x"), std::string::npos) << "names of files may have any";
  EXPECT_EQ(as_example(std::string(200, 'a')), std::string(120, 'a') + "...");
  EXPECT_EQ(as_example("a\tb\nc\xFF"), "a<U+0009>b c\uFFFD");
  EXPECT_EQ(as_example("a\u00A0\u200Bb\u3000c"), "a<U+00A0><U+200B>b\u3000c");
}

}  // namespace
}  // namespace sixfold
