#include "families/json/sentence_piece_json.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/protobuf.h"
#include "error_message.h"
#include "families/families.h"
#include "model_folder/binding.h"
#include "model_folder/model_folder.h"
#include "tasks/import_model.h"
#include "temporary_folder.h"
#include "text/sentence_piece.h"

namespace sixfold {
namespace {

using nlohmann::json;
using protobuf::bytes_field;

std::string number_field(uint64_t number, uint64_t value) {
  std::string field;
  for (uint64_t rest : {number << 3, value}) {
    for (; rest > 127; rest >>= 7) field += static_cast<char>(rest | 128);
    field += static_cast<char>(rest);
  }
  return field;
}

std::string piece(const std::string& text, float score, uint64_t type) {
  std::string bytes(reinterpret_cast<const char*>(&score), sizeof score);
  return bytes_field(1, bytes_field(1, text) + std::string("\x15", 1) + bytes + number_field(3, type));
}

/// A model with the pieces <unk>, <s>, </s>, <0x0A>, "a", "b", "ab" and "aba".
std::string model(uint64_t kind, const std::string& trainer = "", const std::string& normalizer = "") {
  return piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3) + piece("<0x0A>", 0, 6) +
         piece("a", -3, 1) + piece("b", -4, 1) + piece("ab", -2, 1) + piece("aba", -1, 1) +
         bytes_field(2, number_field(3, kind) + number_field(35, 1) + trainer) + bytes_field(3, normalizer);
}

TEST(SentencePieceJson, HasThePiecesAndScoresOfUnigram) {
  const json all = tokenizer_json_of_sentence_piece(model(1), /*by_lines=*/false, "test");
  const json& split = all.at("model");
  EXPECT_EQ(split.at("type"), "Unigram");
  EXPECT_EQ(split.at("unk_id"), 0);
  EXPECT_EQ(split.at("byte_fallback"), true);
  ASSERT_EQ(split.at("vocab").size(), 8u);
  EXPECT_EQ(split.at("vocab")[3], json::array({"<0x0A>", 0.0}));
  EXPECT_EQ(split.at("vocab")[6], json::array({"ab", -2.0}));
  EXPECT_EQ(all.at("added_tokens").size(), 3u);
  EXPECT_EQ(all.at("added_tokens")[1].at("content"), "<s>");
  EXPECT_EQ(all.at("added_tokens")[1].at("special"), true);
  EXPECT_FALSE(splits_by_lines(all));
}

/// The best piece merges first, and whichever of its parts are there.
TEST(SentencePieceJson, HasTheMergesOfBpe) {
  const json split = tokenizer_json_of_sentence_piece(model(2), false, "test").at("model");
  EXPECT_EQ(split.at("type"), "BPE");
  EXPECT_EQ(split.at("vocab").at("aba"), 7);
  EXPECT_EQ(split.at("merges"), json::parse(R"([["ab", "a"], ["a", "b"]])"));
}

TEST(SentencePieceJson, LinesStandApart) {
  const json all =
      tokenizer_json_of_sentence_piece(model(1, "", number_field(4, 0)), /*by_lines=*/true, "test");
  EXPECT_TRUE(splits_by_lines(all));
  EXPECT_EQ(all.at("model").at("vocab")[3][0], "\n");
  const json& line_end = all.at("added_tokens").back();
  EXPECT_EQ(line_end.at("id"), 3);
  EXPECT_EQ(line_end.at("content"), "\n");
  EXPECT_EQ(line_end.at("special"), false);
}

TEST(SentencePieceJson, SaysHowTextIsNormalized) {
  const auto steps = [](const std::string& normalizer) {
    return tokenizer_json_of_sentence_piece(model(1, "", normalizer), false, "test")
        .at("normalizer")
        .at("normalizers");
  };
  const json spaces = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}};
  const json mark = {{"type", "Prepend"}, {"prepend", "\u2581"}};
  const json once = {{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", " "}};
  const json inner = {{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}};
  EXPECT_EQ(steps(""), json::array({once, inner, mark, spaces}));
  EXPECT_EQ(steps(number_field(4, 0)), json::array({mark, spaces}));
  EXPECT_EQ(steps(number_field(3, 0) + number_field(4, 0)), json::array({spaces}));
  for (const auto& [bytes, text] :
       {std::pair("abcd", "YWJjZA=="), {"abcde", "YWJjZGU="}, {"abc\xFF\xFE\xFD", "YWJj//79"}})
    EXPECT_EQ(steps(bytes_field(2, bytes))[0], (json{{"type", "Precompiled"}, {"precompiled_charsmap", text}}));
}

TEST(SentencePieceJson, RefusesWhatHasNoForm) {
  const auto refusal = [](const std::string& bytes) {
    return error_message([&] { tokenizer_json_of_sentence_piece(bytes, false, "test"); });
  };
  EXPECT_NE(refusal(model(3)).find("test: its SentencePiece model has no form in transformers: it is neither"),
            std::string::npos);
  EXPECT_NE(error_message([&] {
              tokenizer_json_of_sentence_piece(model(1), true, "test");
            }).find("it removes spaces of each line"),
            std::string::npos);
  EXPECT_NE(refusal(model(1, number_field(24, 1))).find("it marks spaces otherwise"), std::string::npos);
  EXPECT_NE(refusal(model(1, "", number_field(5, 0))).find("it marks spaces otherwise"), std::string::npos);
  EXPECT_NE(refusal(piece("<x>", 0, 4) + model(1)).find("user-defined symbols"), std::string::npos);
}

/// A model that was trained here reads each line on its own, before its export and after an import of it.
TEST(SentencePieceJson, AnExportedModelReadsTextsAsBefore) {
  const TemporaryFolder folder;
  TokenizerOptions options;
  options.vocab_size = 300, options.byte_fallback = true;
  const std::vector<std::string> text{"the old dog sees a cat", "the cat sees the old dog", "two women eat"};
  for (const PieceModel kind : {PieceModel::unigram, PieceModel::bpe}) {
    options.model = kind;
    const Tokenizers tokenizers = make_tokenizer(options, text_reader(text), TextSide::exact);
    ModelConfig config;
    config.task = "language_model", config.generation.suppress_tokens = {2};
    config.d_model = 16, config.d_ff = 8, config.heads = 2, config.encoder_layers = 0,
    config.decoder_layers = 1;
    config.positions = Positions::rotary, config.norm = Norm::rms;
    config.feed_forward_gate = true, config.feed_forward_bias = false, config.embedding_scale = false;
    config.preprocess = config.postprocess_top = {ProcessStep::norm};
    config.postprocess = {ProcessStep::dropout, ProcessStep::add};
    config.tied_embeddings = TiedEmbeddings::decoder;
    config.activation = Activation::swish;
    bind_tokenizers(config, tokenizers);
    config.decoder_start_token = config.bos;
    const std::string name(name_of_enum(kind)), before = folder / name, out = before + "-out",
                                                after = before + "2";
    write_model_folder(before, Transformer(config, make_backend({.device = "reference"}), DType::f32, 1),
                       tokenizers);
    export_hugging_face(before, out);
    const json settings = json::parse(read_file(out + "/generation_config.json"));
    EXPECT_EQ(settings.at("suppress_tokens"), (std::vector<int>{0, 1, 2}))
        << "it was trained on texts without an end";
    EXPECT_EQ(json::parse(read_file(out + "/tokenizer.json"))
                  .at("post_processor")
                  .at("special_tokens")
                  .at("<s>")
                  .at("ids"),
              json::array({1}));
    import_hugging_face(out, after);
    EXPECT_TRUE(load_model_config(after).generation.start_before_text);
    const std::string several = "the old  dog\n\n  sees\na cat\n";
    const auto ids = load_text_tokenizers(before).target->encode_text(several);
    EXPECT_EQ(load_text_tokenizers(after).target->encode_text(several), ids);
    EXPECT_EQ(load_text_tokenizers(after).target->decode_text(ids), several);
  }
}

}  // namespace
}  // namespace sixfold
