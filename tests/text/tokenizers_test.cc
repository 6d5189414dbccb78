#include "text/tokenizers.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "temporary_folder.h"
#include "text/sample_text.h"

namespace sixfold {
namespace {

class TokenizersTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }
  bool there(const std::string& name) const { return std::filesystem::exists(path(name)); }

  static TokenizerOptions options(bool joint) {
    TokenizerOptions o;
    o.joint = joint;
    o.vocab_size = 48;
    o.model = PieceModel::bpe;
    return o;
  }
  Tokenizers make(const TokenizerOptions& o) const { return make_tokenizers(o, english_, german_); }

  static std::string round_trip(const Tokenizer& tokenizer, const std::string& text) {
    return tokenizer.decode(tokenizer.encode(text));
  }

  void expect_same(const Tokenizers& a, const Tokenizers& b) const {
    EXPECT_EQ(a.joint, b.joint);
    EXPECT_EQ(a.source->hash(), b.source->hash());
    EXPECT_EQ(a.target->hash(), b.target->hash());
    for (const std::string& text : english_) EXPECT_EQ(a.source->encode(text), b.source->encode(text));
    for (const std::string& text : german_)
      EXPECT_EQ(a.target->encode("  " + text), b.target->encode("  " + text));
  }

  TemporaryFolder folder_;
  std::vector<std::string> english_ = sample::english(), german_ = sample::german();
};

TEST_F(TokenizersTest, Joint) {
  const Tokenizers made = make(options(true));
  EXPECT_EQ(made.source->hash(), made.target->hash());
  save_tokenizers(made, path(""));
  EXPECT_TRUE(there("tokenizer.spm") && !there("source.spm"));
  const Tokenizers loaded = load_tokenizers(path(""));
  EXPECT_TRUE(loaded.joint);
  expect_same(made, loaded);
  EXPECT_EQ(round_trip(*loaded.source, german_[7]), german_[7]);
  EXPECT_EQ(round_trip(*loaded.target, english_[7]), english_[7]);
}

TEST_F(TokenizersTest, Separate) {
  const Tokenizers made = make(options(false));
  EXPECT_NE(made.source->hash(), made.target->hash());
  save_tokenizers(made, path(""));
  EXPECT_TRUE(there("source.spm") && there("target.spm") && !there("tokenizer.spm"));
  const Tokenizers loaded = load_tokenizers(path(""));
  EXPECT_FALSE(loaded.joint);
  expect_same(made, loaded);
}

TEST_F(TokenizersTest, Whitespace) {
  for (const bool joint : {true, false}) {
    TokenizerOptions o = options(joint);
    o.kind = TokenizerKind::whitespace;
    const Tokenizers made = make(o);
    const std::string folder = path(joint ? "joint" : "separate");
    std::filesystem::create_directory(folder);
    save_tokenizers(made, folder);
    expect_same(made, load_tokenizers(folder));
    EXPECT_EQ(std::filesystem::exists(folder + "/tokenizer.vocab"), joint);
    EXPECT_EQ(round_trip(*made.target, german_[3]), german_[3]);
  }
}

TEST_F(TokenizersTest, TargetsAreNotRewritten) {
  for (const bool joint : {true, false}) {
    const Tokenizers made = make(options(joint));
    EXPECT_EQ(round_trip(*made.target, " Mein  kleiner Bruder. "), "Mein kleiner Bruder.");
    TokenizerOptions o = options(joint);
    o.normalization = Normalization::nmt_nfkc_cf;
    EXPECT_EQ(round_trip(*make(o).target, "Mein Bruder"), "Mein Bruder");
    EXPECT_EQ(round_trip(*make(o).source, "The OLD house"), "the old house");
    o.target_normalization = o.normalization;
    EXPECT_EQ(round_trip(*make(o).target, "Mein Bruder"), "mein bruder");
    o.target_normalization = Normalization::nfkc;
    if (!joint) continue;
    EXPECT_THROW(make(o), Error);  // one vocabulary has one normalization, or none
  }
}

TEST_F(TokenizersTest, GivenFilesAreUsedInsteadOfTraining) {
  save_tokenizers(make(options(false)), path(""));
  TokenizerOptions o = options(false);
  o.source = path("source.spm");
  EXPECT_THROW(make(o), Error);  // the target is missing
  o.target = path("target.spm");
  expect_same(make_tokenizers(o, TextReader(), TextReader()), load_tokenizers(path("")));
  o.joint = true;
  EXPECT_THROW(make(o), Error);  // two files
  o.target.clear();
  const Tokenizers joint = make_tokenizers(o, TextReader(), TextReader());
  EXPECT_EQ(joint.target->hash(), load_tokenizers(path("")).source->hash());
  o.source = path("nowhere.spm");
  EXPECT_THROW(make(o), Error);
}

TEST_F(TokenizersTest, FoldersThatAreNotOnePairAreRefused) {
  EXPECT_THROW(load_tokenizers(path("")), Error);
  EXPECT_THROW(load_tokenizers(path("nowhere")), Error);
  save_tokenizers(make(options(false)), path(""));
  std::filesystem::rename(path("target.spm"), path("kept"));
  EXPECT_THROW(load_tokenizers(path("")), Error);
  write_file_atomically(path("target.spm"), "junk");
  EXPECT_THROW(load_tokenizers(path("")), Error);
  std::filesystem::rename(path("kept"), path("target.spm"));
  EXPECT_NO_THROW(load_tokenizers(path("")));
  write_file_atomically(path("target.vocab"), "<unk>\n<s>\n</s>\n");
  EXPECT_THROW(load_tokenizers(path("")), Error);
  std::filesystem::remove(path("target.vocab"));
  std::filesystem::copy(path("source.spm"), path("tokenizer.spm"));
  EXPECT_THROW(load_tokenizers(path("")), Error);
}

TEST_F(TokenizersTest, UserDefinedSymbolsAreChecked) {
  for (const char* symbol : {"", "a b", "<s>", "</s>", "<unk>", "\xFF", "\n", "▁a"}) {
    TokenizerOptions o = options(true);
    o.user_defined_symbols = {"<x>", symbol};
    EXPECT_THROW(make(o), Error) << symbol;
  }
  TokenizerOptions o = options(true);
  o.user_defined_symbols = {"<x>", "<x>"};
  EXPECT_THROW(make(o), Error);
}

TEST_F(TokenizersTest, ThreadsShareATokenizer) {
  const Tokenizers made = make(options(true));
  std::vector<std::thread> threads;
  std::vector<int> failures(4);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (const std::string& text : german_) failures[t] += round_trip(*made.target, text) != text;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, std::vector<int>(4));
}

}  // namespace
}  // namespace sixfold
