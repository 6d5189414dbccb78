#include "metrics/unicode.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace sixfold {
namespace {

TEST(Unicode, DecodesAndEncodes) {
  const std::string text = "aß€😀\u0301";
  EXPECT_EQ(decode_utf8(text), U"aß€😀\u0301");
  EXPECT_EQ(encode_utf8(decode_utf8(text)), text);
}

TEST(Unicode, RefusesInvalidUtf8) {
  for (const std::string bad : {"\xff", "ab\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80"})
    EXPECT_THROW(decode_utf8(bad), Error) << testing::PrintToString(bad);
  try {
    decode_utf8("ab\xff");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("byte 3"), std::string::npos) << error.what();
  }
}

TEST(Unicode, LowersInContext) {
  EXPECT_EQ(to_lower(U"ΟΔΥΣΣΕΥΣ ÄẞI"), U"οδυσσευς äßi");
  EXPECT_EQ(to_lower(U"İ"), U"i\u0307");
  EXPECT_EQ(to_lower(U"𐐀😀"), U"𐐨😀");
  EXPECT_EQ(to_lower(U""), U"");
}

TEST(Unicode, SplitsAtAllWhiteSpace) {
  EXPECT_EQ(normalize_spaces(U"\u3000a\u00a0\tb\x1f\u2028"), U"a b");
  EXPECT_EQ(normalize_spaces(U"a\u200bb"), U"a\u200bb");  // of no width, and no white space
  EXPECT_TRUE(split_words(U"  ").empty());
}

}  // namespace
}  // namespace sixfold
