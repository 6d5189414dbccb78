#include "text/tokenizer_options.h"

#include <gtest/gtest.h>

#include "error_message.h"

namespace sixfold {
namespace {

TokenizerOptions read(const std::string& yaml) {
  TokenizerOptions options;
  read_options(parse_yaml_options(yaml, "train.yaml"), options);
  return options;
}

TEST(TokenizerOptions, ReadFromYaml) {
  const TokenizerOptions options = read(
      "kind: whitespace\njoint: false\nmodel: bpe\nnormalization: nmt_nfkc_cf\nuser_defined_symbols: ['<de>', "
      "'<en>']\n");
  EXPECT_EQ(options.kind, TokenizerKind::whitespace);
  EXPECT_FALSE(options.joint);
  EXPECT_EQ(options.model, PieceModel::bpe);
  EXPECT_EQ(options.normalization, Normalization::nmt_nfkc_cf);
  EXPECT_EQ(options.target_normalization, Normalization::identity);
  EXPECT_EQ(options.user_defined_symbols, (std::vector<std::string>{"<de>", "<en>"}));
}

TEST(TokenizerOptions, WhatIsNotKnownIsAnError) {
  for (const char* yaml : {"model: wordpiece", "vocab_sise: 100", "vocab_size: -1", "character_coverage: 0.5"})
    EXPECT_EQ(error_message([&] { read(yaml); }).find("train.yaml:1"), 0u) << yaml;
}

}  // namespace
}  // namespace sixfold
