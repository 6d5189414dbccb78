#include "model_folder/shortlist.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "error_message.h"
#include "formats/safetensors.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

using Ids = std::vector<int32_t>;

class ShortlistTest : public testing::Test {
 protected:
  ShortlistTest() {
    config_.source_vocab = 4, config_.target_vocab = 9;
    config_.source_tokenizer_hash = "00aa", config_.target_tokenizer_hash = "00bb";
    save_shortlist(path_, shortlist_, config_);
  }
  /// What opening says of a file with these tensors.
  std::string message(const Ids& common, const Ids& counts, const Ids& targets) {
    const auto list = [](const char* name, const Ids& ids) {
      return NamedTensor{name, DType::i32, {std::ssize(ids)}, ids.data()};
    };
    const NamedTensor tensors[] = {list("common", common), list("counts", counts), list("targets", targets)};
    write_safetensors(path_, tensors, {{"source_tokenizer_hash", "00aa"}, {"target_tokenizer_hash", "00bb"}});
    return error_message([&] { load_shortlist(path_, config_); });
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_ / "shortlist";
  ModelConfig config_;
  const Shortlist shortlist_{{1, 2}, {{}, {7, 3}, {}, {3, 8, 1}}};
};

TEST_F(ShortlistTest, GivesWhatASourceMayBecome) {
  EXPECT_EQ(shortlist_.targets(Ids{1, 3, 1}), (Ids{1, 2, 3, 7, 8}));
  EXPECT_EQ(shortlist_.targets(Ids{0, 2}), (Ids{1, 2}));
  EXPECT_EQ(shortlist_.targets(Ids{}), (Ids{1, 2}));
  EXPECT_EQ(shortlist_.targets(Ids{-1, 99}), (Ids{1, 2}));
}

TEST_F(ShortlistTest, WhateverHasTheNameIsTheOneOfAFolder) {
  const std::string list = folder_ / Shortlist::file_name;
  EXPECT_EQ(shortlist_of_folder(folder_ / "."), "");
  std::filesystem::create_directory(list);
  EXPECT_EQ(shortlist_of_folder(folder_.path()), list);
  expect_holds(error_message([&] { load_shortlist(list, config_); }), list);
}

TEST_F(ShortlistTest, ComesBack) {
  const Shortlist again = load_shortlist(path_, config_);
  EXPECT_EQ(again.common(), shortlist_.common());
  EXPECT_EQ(again.by_source(), shortlist_.by_source());
}

/// As Marian's, whose number of tokens is divisible.
TEST_F(ShortlistTest, IsFilledUp) {
  const Shortlist shortlist({0, 1, 2}, {{}, {7, 4}, {3}, {5, 6, 8}}, {3, 4, 9});
  save_shortlist(path_, shortlist, config_);
  const Shortlist again = load_shortlist(path_, config_);
  for (const Shortlist* one : {&shortlist, &again}) {
    EXPECT_EQ(one->targets(Ids{1}), (Ids{0, 1, 2, 3, 4, 5, 6, 7}));  // 3, 5 and 6 are added
    EXPECT_EQ(one->targets(Ids{2}), (Ids{0, 1, 2, 3}));
    EXPECT_EQ(one->targets(Ids{0, 1, 2, 3}), (Ids{0, 1, 2, 3, 4, 5, 6, 7, 8}));  // there are no more
  }
}

/// A token that became another one would change translations and no limit would notice it.
TEST_F(ShortlistTest, RefusesDamagedTokens) {
  std::string bytes = read_file(path_);
  bytes[bytes.size() - sizeof(int32_t)] ^= 1;
  write_file_atomically(path_, bytes);
  EXPECT_NE(error_message([&] { load_shortlist(path_, config_); }).find("is damaged"), std::string::npos);
}

TEST_F(ShortlistTest, RefusesThoseOfOtherModels) {
  ModelConfig other = config_;
  other.target_tokenizer_hash = "00cc";
  EXPECT_NE(error_message([&] {
              load_shortlist(path_, other);
            }).find("not a shortlist for the vocabularies of this model"),
            std::string::npos);
  write_safetensors(path_, {});
  EXPECT_NE(error_message([&] {
              load_shortlist(path_, config_);
            }).find("not a shortlist for the vocabularies of this model"),
            std::string::npos);
  write_file_atomically(path_, "text");
  EXPECT_NE(error_message([&] { load_shortlist(path_, config_); }), "");
  EXPECT_NE(error_message([&] { load_shortlist(folder_ / "none", config_); }), "");
}

TEST_F(ShortlistTest, RefusesNumbersThatDoNotFit) {
  EXPECT_NE(message({9}, {0, 0, 0, 0}, {}).find("'common' contains 9"), std::string::npos);
  EXPECT_NE(message({}, {0, 0, 0, 1}, {-1}).find("'targets' contains -1"), std::string::npos);
  EXPECT_NE(message({}, {0, 0, 0, 2}, {1}).find("don't belong together"), std::string::npos);
  EXPECT_NE(message({}, {0, 0, 1}, {1}).find("don't belong together"), std::string::npos);
  EXPECT_NE(message({}, {-1, 1, 1, 0}, {1}).find("'counts' contains -1"), std::string::npos);
}

}  // namespace
}  // namespace sixfold
