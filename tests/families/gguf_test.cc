// Language models in GGUF.
#include <gtest/gtest.h>

#include "base/file.h"
#include "error_message.h"
#include "families/families.h"
#include "families/gguf_tokenizer.h"
#include "formats/gguf_bytes.h"
#include "formats/marian_bin_bytes.h"
#include "formats/safetensors.h"
#include "model_folder/binding.h"
#include "model_folder/model_folder.h"
#include "tasks/import_model.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

/// Models that transformers reads too (tests/goldens/make_gguf_goldens.py).
class GgufModel : public testing::TestWithParam<const char*> {
 protected:
  static std::string name() { return GetParam(); }
  std::string file() const { return fmt::format("{}/gguf/{}.gguf", SIXFOLD_TEST_GOLDENS, GetParam()); }
  std::string import(const std::string& path) const {
    import_model({.program = "gguf", .path = path}, folder_ / "model");
    return folder_ / "model";
  }
  /// What the import says of the file once `from` in it has become `to`, of the same length.
  std::string refusal(const std::string& from, const std::string& to) const {
    std::string bytes = read_file(file());
    for (size_t at = 0; (at = bytes.find(from, at)) != bytes.npos; at += to.size())
      bytes.replace(at, from.size(), to);
    write_file_atomically(folder_ / "other.gguf", bytes);
    return error_message([&] { import(folder_ / "other.gguf"); });
  }

  const TemporaryFolder folder_;
};

TEST_P(GgufModel, HasTheLogitsOfTransformers) {
  const SafetensorsFile golden = SafetensorsFile::open(SIXFOLD_TEST_GOLDENS "/gguf/logits.safetensors");
  const std::vector<float> expected = to_floats(golden.at(std::string(GetParam()) + ".logits"));
  std::vector<int32_t> ids(golden.at("ids").shape[0]);
  std::memcpy(ids.data(), golden.at("ids").bytes.data(), golden.at("ids").bytes.size());
  const auto model = load_model(import(file()), make_backend());
  std::vector<int32_t> labels(ids.begin() + 1, ids.end());
  labels.push_back(0);
  const Batch batch = BatchBuilder().teacher_forced_prefix(labels, ids[0]).take();
  Context context(model->backend(), std::make_shared<Arena>(model->backend()));
  const std::vector<float> found =
      ops::logits(context, model->states(batch, context), model->output()).to_floats(*model->backend());
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-4) << i;
}

TEST_P(GgufModel, HasItsTokens) {
  const std::string folder = import(file());
  const ModelConfig config = load_model_config(folder);
  const Tokenizers tokenizers = load_bound_tokenizers(folder, config);
  const Tokenizer& tokenizer = *tokenizers.target;
  EXPECT_EQ(tokenizer.vocab_size(), 261);
  EXPECT_EQ(config.eos, 260);
  EXPECT_EQ(config.decoder_start_token, 259);
  EXPECT_FALSE(config.generation.start_before_text);
  EXPECT_EQ(config.context_tokens, name() == "phi3" ? 64 : 128);
  std::vector<std::string> texts;
  for (const int32_t id : tokenizer.encode("the other the")) texts.push_back(tokenizer.token_text(id));
  EXPECT_EQ(texts, (std::vector<std::string>{"the", "Ġ", "o", "the", "r", "Ġthe"}));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("ä 12 the\u00a0x")), "ä 12 the\u00a0x");
}

TEST_P(GgufModel, RefusesWhatIsNotSupported) {
  const std::string name = this->name();
  expect_holds(refusal(name, std::string(name.size(), 'x')),
               fmt::format("general.architecture is '{}'; only llama, qwen2, qwen3 and phi3",
                           std::string(name.size(), 'x')));
  expect_holds(refusal("gpt-2", "gpt-X"), "tokenizer.ggml.pre is 'gpt-X'; only gpt-2");
  expect_holds(refusal("ggml.model", "ggml.xodel"), "has no key tokenizer.ggml.model");
  expect_holds(refusal("embedding_length", "embedding_lengtx"), "has no key " + name + ".embedding_length");
  expect_holds(refusal("blk.1.ffn_up", "blk.7.ffn_up"), "no tensor 'blk.1.ffn_up.weight'");
  expect_holds(refusal("blk.1.attn_norm", "blk.1.attn_nxrm"), "no tensor 'blk.1.attn_norm.weight'");
}

INSTANTIATE_TEST_SUITE_P(, GgufModel, testing::Values("llama", "qwen2", "qwen3", "phi3"),
                         [](const auto& test) { return std::string(test.param); });

constexpr int rows = 265;

/// SentencePiece's BPE: what is merged first has the best score.
GgufBytes sentence_piece(const std::string& kind = "llama") {
  std::vector<std::string> tokens{"<unk>", "<s>", "</s>"};
  std::vector<int32_t> types{2, 3, 3};
  for (int byte = 0; byte < 256; ++byte) tokens.push_back(fmt::format("<0x{:02X}>", byte)), types.push_back(6);
  std::vector<float> scores(tokens.size());
  for (const char* piece : {"ab", "\u2581ab", "abab", "a", "b", "\u2581"}) {
    tokens.emplace_back(piece), types.push_back(1);
    scores.push_back(static_cast<float>(scores.size()) * -1.0f);
  }
  GgufBytes bytes;
  bytes.add("tokenizer.ggml.model", kind).add("tokenizer.ggml.tokens", tokens);
  bytes.add("tokenizer.ggml.scores", 9,
            protobuf::little_endian(uint32_t{6}) + protobuf::little_endian(uint64_t{scores.size()}) +
                bytes_of(scores));
  bytes.add(
      "tokenizer.ggml.token_type", 9,
      protobuf::little_endian(uint32_t{5}) + protobuf::little_endian(uint64_t{types.size()}) + bytes_of(types));
  bytes.add("tokenizer.ggml.bos_token_id", 1u).add("tokenizer.ggml.eos_token_id", 2u);
  return bytes;
}

/// Metadata of tokenizers alone.
class GgufTokens : public testing::Test {
 protected:
  GgufTokenizer read(const GgufBytes& bytes, int rows) const {
    write_file_atomically(folder_ / "a.gguf", bytes.bytes());
    return read_gguf_tokenizer(GgufFile::open(folder_ / "a.gguf"), rows);
  }

  const TemporaryFolder folder_;
};

TEST_F(GgufTokens, OfSentencePieceMergeAndFallBackToBytes) {
  const GgufTokenizer read_back = read(sentence_piece(), rows);
  EXPECT_EQ(read_back.bos, 1);
  EXPECT_EQ(read_back.eos, 2);
  EXPECT_TRUE(read_back.starts_texts);  // as llama.cpp takes it
  const Tokenizer& tokenizer = *read_back.tokenizer;
  EXPECT_EQ(tokenizer.eos(), 2);
  std::vector<std::string> texts;
  for (const int32_t id : tokenizer.encode("abab ab\xC3\xA4")) texts.push_back(tokenizer.token_text(id));
  EXPECT_EQ(texts, (std::vector<std::string>{"\u2581ab", "ab", "\u2581ab", "<0xC3>", "<0xA4>"}));
  EXPECT_EQ(tokenizer.decode_text(tokenizer.encode_text("ab\nab  \xC3\xA4")), "ab\nab  \xC3\xA4");
  GgufBytes bytes = sentence_piece();
  bytes.add("tokenizer.ggml.add_bos_token", 7, std::string(1, '\0'));
  bytes.add("tokenizer.ggml.add_space_prefix", 7, std::string(1, '\0'));
  const GgufTokenizer other = read(bytes, rows);
  EXPECT_FALSE(other.starts_texts);
  EXPECT_EQ(other.tokenizer->token_text(other.tokenizer->encode("abab").front()), "abab");
}

TEST_F(GgufTokens, AreRefusedByTheKey) {
  const auto refusal = [&](const GgufBytes& bytes, int count = rows) {
    return error_message([&] { read(bytes, count); });
  };
  expect_holds(refusal(sentence_piece("bert")), "tokenizer.ggml.model is 'bert'; only gpt2, llama and t5");
  expect_holds(refusal(sentence_piece(), 9), "tokenizer.ggml.tokens has 265 tokens, but the model has 9");
  expect_holds(refusal(sentence_piece().add("tokenizer.ggml.add_eos_token", 7, "\1")), "add_eos_token is true");
  GgufBytes bytes;
  bytes.add("tokenizer.ggml.model", "gpt2").add("tokenizer.ggml.tokens", std::vector<std::string>{"a", "a"});
  bytes.add("tokenizer.ggml.eos_token_id", 1u);
  expect_holds(refusal(bytes, 2), "has no tokenizer.ggml.pre, without which it is not known how text is split");
  bytes.add("tokenizer.ggml.pre", "gpt-2").add("tokenizer.ggml.merges", std::vector<std::string>{});
  expect_holds(refusal(bytes, 2), "tokenizer.ggml.tokens has 'a' twice");
}

/// Keys and tensors that scale rotary positions.
class GgufRope : public testing::Test {
 protected:
  /// The config of a model of one layer whose heads have 4 features, with the keys that `add` gives it.
  ModelConfig import(const std::function<void(GgufBytes&)>& add) const {
    GgufBytes bytes = sentence_piece().add("general.architecture", "llama");
    for (const auto& [key, value] :
         {std::pair("context_length", 64u), std::pair("embedding_length", 8u), std::pair("block_count", 1u),
          std::pair("feed_forward_length", 8u), std::pair("attention.head_count", 2u)})
      bytes.add(fmt::format("llama.{}", key), value);
    const auto weights = [&](const std::string& name, const std::vector<uint64_t>& sizes) {
      uint64_t count = 1;
      for (const uint64_t size : sizes) count *= size;
      bytes.tensor(name + ".weight", sizes, 0, std::string(4 * count, '\0'));
    };
    weights("token_embd", {8, rows});
    weights("output_norm", {8});
    for (const char* norm : {"attn_norm", "ffn_norm"}) weights(fmt::format("blk.0.{}", norm), {8});
    for (const char* part : {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_gate", "ffn_down"})
      weights(fmt::format("blk.0.{}", part), {8, 8});
    add(bytes);
    write_file_atomically(folder_ / "a.gguf", bytes.bytes());
    import_model({.program = "gguf", .path = folder_ / "a.gguf"}, folder_ / "model");
    return load_model_config(folder_ / "model");
  }
  static void add_float(GgufBytes& bytes, const char* key, float value) {
    bytes.add(fmt::format("llama.rope.{}", key), 6, bytes_of(std::vector{value}));
  }
  static void add_factors(GgufBytes& bytes, const char* name, const std::vector<float>& factors) {
    bytes.tensor(name, {factors.size()}, 0, bytes_of(factors));
  }

  const TemporaryFolder folder_;
};

TEST_F(GgufRope, OfAllKindsIsRead) {
  EXPECT_EQ(import([](GgufBytes&) {}).rotary_scaling, RotaryScaling());
  const auto linear = import([](GgufBytes& bytes) {
                        bytes.add("llama.rope.scaling.type", "linear");
                        add_float(bytes, "scaling.factor", 4);
                      }).rotary_scaling;
  EXPECT_EQ(linear.kind, RotaryScalingKind::linear);
  EXPECT_EQ(linear.factor, 4);
  EXPECT_EQ(import([](GgufBytes& bytes) { add_float(bytes, "scaling.factor", 4); }).rotary_scaling, linear);
  EXPECT_EQ(import([](GgufBytes& bytes) {
              bytes.add("llama.rope.scaling.type", "none");
              add_float(bytes, "scaling.factor", 4);
            }).rotary_scaling,
            RotaryScaling());
  const auto yarn = import([](GgufBytes& bytes) {
                      bytes.add("llama.rope.scaling.type", "yarn");
                      bytes.add("llama.rope.scaling.original_context_length", 16u);
                      add_float(bytes, "scaling.factor", 4);
                    }).rotary_scaling;
  EXPECT_EQ(yarn.kind, RotaryScalingKind::yarn);
  EXPECT_EQ(yarn.original_context, 16);
  EXPECT_EQ(yarn.low, 1);
  EXPECT_EQ(yarn.high, 32);
  EXPECT_NEAR(yarn.magnitude, 1.1386294f, 1e-6f);  // 0.1 ln 4 + 1
  const auto scaled = import([](GgufBytes& bytes) {
                        bytes.add("llama.rope.scaling.type", "yarn");
                        add_float(bytes, "scaling.factor", 4);
                        add_float(bytes, "scaling.attn_factor", 2);
                      }).rotary_scaling;
  EXPECT_NEAR(scaled.magnitude, 2.2772588f, 1e-6f);
}

/// Llama 3 has factors for texts of all lengths, longrope other ones for longer texts.
TEST_F(GgufRope, OfTensorsIsRead) {
  const ModelConfig all = import([](GgufBytes& bytes) { add_factors(bytes, "rope_freqs.weight", {1, 2.5f}); });
  EXPECT_EQ(all.rotary_scaling.kind, RotaryScalingKind::factors);
  EXPECT_EQ(all.rotary_scaling.factors, (std::vector<float>{1, 2.5f}));
  EXPECT_EQ(all.context_tokens, 64);
  const ModelConfig longrope = import([](GgufBytes& bytes) {
    bytes.add("llama.rope.scaling.original_context_length", 16u);
    add_float(bytes, "scaling.attn_factor", 1.25f);
    add_factors(bytes, "rope_factors_long.weight", {3, 4});
    add_factors(bytes, "rope_factors_short.weight", {1, 2});
  });
  EXPECT_EQ(longrope.rotary_scaling.factors, (std::vector<float>{1, 2}));
  EXPECT_EQ(longrope.rotary_scaling.magnitude, 1.25f);
  EXPECT_EQ(longrope.context_tokens, 16);
}

TEST_F(GgufRope, ThatIsNotSupportedIsRefused) {
  const auto refusal = [&](const std::function<void(GgufBytes&)>& add) {
    return error_message([&] { import(add); });
  };
  expect_holds(refusal([](GgufBytes& b) { b.add("llama.rope.scaling.type", "longrope"); }),
               "llama.rope.scaling.type is 'longrope'; only linear, yarn and longrope with its factors");
  expect_holds(refusal([](GgufBytes& b) {
                 b.add("llama.rope.scaling.type", "linear");
                 add_factors(b, "rope_freqs.weight", {1, 1});
               }),
               "a tensor scales rotary positions too");
  expect_holds(refusal([](GgufBytes& b) {
                 add_factors(b, "rope_freqs.weight", {1, 1, 1});
               }),
               "rotary_scaling.factors: has 3 factors; 'factors' needs one for each of 2 pairs");
  expect_holds(refusal([](GgufBytes& b) {
                 add_factors(b, "rope_freqs.weight", {1, 0});
               }),
               "rotary_scaling.factors");
  expect_holds(refusal([](GgufBytes& b) {
                 b.add("llama.rope.scaling.type", "linear");
                 add_float(b, "scaling.factor", std::numeric_limits<float>::quiet_NaN());
               }),
               "llama.rope.scaling.factor is not a finite number");
  expect_holds(refusal([](GgufBytes& b) {
                 add_float(b, "scaling.factor", 4);
                 add_factors(b, "rope_freqs.weight", {1, 1});
               }),
               "with the factor 4, and a tensor scales rotary positions too");
  expect_holds(refusal([](GgufBytes& b) {
                 add_factors(b, "rope_factors_long.weight", {1, 1});
               }),
               "has 'rope_factors_long.weight' for long texts, but no 'rope_factors_short.weight'");
  expect_holds(refusal([](GgufBytes& b) {
                 add_factors(b, "rope_factors_short.weight", {1, 1});
                 add_factors(b, "rope_freqs.weight", {1, 1});
               }),
               "has 'rope_factors_short.weight' and 'rope_freqs.weight'; give one of them");
  expect_holds(refusal([](GgufBytes& b) { add_float(b, "scaling.attn_factor", 2); }), "scaling.attn_factor");
  expect_holds(refusal([](GgufBytes& b) { b.tensor("rope_freqs.weight", {2}, 26, std::string(8, '\1')); }),
               "tensor 'rope_freqs.weight' is of type");
  expect_holds(refusal([](GgufBytes& b) {
                 add_factors(b, "rope_other.weight", {1, 1});
               }),
               "'rope_other.weight'");
  expect_holds(refusal([](GgufBytes& b) { b.add("llama.rope.dimension_count", 3u); }), "rotary_features: 3");
  expect_holds(refusal([](GgufBytes& b) { b.add("llama.attention.sliding_window", 4u); }),
               "only full attention is supported");
}

}  // namespace
}  // namespace sixfold
