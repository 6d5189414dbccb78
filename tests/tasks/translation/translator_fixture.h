#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model_folder/model_folder.h"
#include "tasks/translation/translator.h"
#include "temporary_folder.h"
#include "text/sample_text.h"
#include "text/tokenizers.h"

namespace sixfold {

/// A folder with a model that has learnt nothing and the tokenizers of a small text.
class TranslatorTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder();
    TokenizerOptions options;
    options.vocab_size = 60;
    options.model = PieceModel::bpe;
    options.joint = false;
    const Tokenizers tokenizers = make_tokenizers(options, sample::english(), sample::german());
    save_tokenizers(tokenizers, folder_->path());
    ModelConfig config;
    config.task = "translation";
    config.d_model = 16;
    config.heads = 2;
    config.d_ff = 24;
    config.encoder_layers = 1;
    config.decoder_layers = 2;
    config.tied_embeddings = TiedEmbeddings::decoder;
    config.source_vocab = tokenizers.source->vocab_size();
    config.target_vocab = tokenizers.target->vocab_size();
    config.source_tokenizer_hash = tokenizers.source->hash();
    config.target_tokenizer_hash = tokenizers.target->hash();
    config.generation.length_offset = 5;
    save_model(Transformer(config, make_backend(), DType::f32, 7), folder_->path());
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }

  static std::string path() { return folder_->path(); }
  static std::vector<std::string> lines() {
    auto lines = sample::english();
    lines.insert(lines.begin() + 3, "");
    lines.insert(lines.begin() + 9, " \t\u3000 ");
    lines.push_back("");
    return lines;
  }

  inline static TemporaryFolder* folder_ = nullptr;
};

}  // namespace sixfold
