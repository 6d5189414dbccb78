#include "tasks/translation/n_best.h"

#include <gtest/gtest.h>

#include "error_message.h"

namespace sixfold {
namespace {

TEST(NBestLine, HasTheFieldsOfMoses) {
  const std::string text = "3 ||| Ein Hund . ||| LM0= -1.5 TM= -2 ||| -3.500000 ||| 0-0 1-1 ||| more";
  const NBestLine line = parse_n_best_line(text, "list:1");
  EXPECT_EQ(line.index, 3u);
  EXPECT_EQ(line.text, "Ein Hund .");
  EXPECT_EQ(line.features, "LM0= -1.5 TM= -2");
  EXPECT_EQ(line.score, -3.5);
  EXPECT_EQ(line.extra_fields, "0-0 1-1 ||| more");
  EXPECT_EQ(to_text(line), text);
}

TEST(NBestLine, BarsOfTheTextDoNotSeparate) {
  const std::string written =
      to_text({.index = 0, .text = "a ||| b", .features = "f= 1", .score = 2, .extra_fields = {}});
  EXPECT_EQ(written, "0 ||| a &#124;&#124;&#124; b ||| f= 1 ||| 2.000000");
  EXPECT_EQ(parse_n_best_line(written, "list:1").text, "a ||| b");
}

TEST(NBestLine, TextsAndFeaturesMayBeEmpty) {
  const NBestLine line = parse_n_best_line("0|||||||||-1", "list:1");
  EXPECT_EQ(line.text + line.features, "");
  EXPECT_FALSE(line.extra_fields);
  EXPECT_EQ(line.score, -1);
}

TEST(NBestLine, FaultsAreNamedWithTheirPlace) {
  const auto fault = [](const std::string& line) {
    return error_message([&] { parse_n_best_line(line, "list:7"); });
  };
  for (const char* line : {"", "Ein Hund.", "0 ||| a", "0 ||| a ||| -1"})
    EXPECT_TRUE(fault(line).starts_with("list:7: expected 'number ||| text ||| features ||| score'")) << line;
  for (const char* line : {"-1 ||| a ||| f ||| 1", "x ||| a ||| f ||| 1", "1.5 ||| a ||| f ||| 1",
                           "18446744073709551616 ||| a ||| f ||| 1"})
    EXPECT_NE(fault(line).find("list:7: expected the number of a line"), std::string::npos) << line;
  for (const char* line :
       {"0 ||| a ||| f ||| ", "0 ||| a ||| f ||| x", "0 ||| a ||| f ||| nan", "0 ||| a ||| f ||| 1e999"})
    EXPECT_NE(fault(line).find("list:7: expected a number as the score"), std::string::npos) << line;
}

}  // namespace
}  // namespace sixfold
