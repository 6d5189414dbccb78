// GPT-2 and Llama models as transformers saves them (tests/goldens/make_causal_goldens.py).
#include "interop/causal.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "close.h"
#include "error_message.h"
#include "infer/generator.h"
#include "interop/hugging_face.h"
#include "model/model_dir.h"
#include "temporary_folder.h"
#include "text/byte_pairs.h"
#include "text/tokenizers.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Ids = std::vector<int32_t>;

class Causal : public testing::TestWithParam<const char*> {
 protected:
  Causal() : golden_(json::parse(read_file(given_ + "/golden.json"))) {}
  std::string import() const {
    import_hugging_face(given_, folder_ / "model");
    return folder_ / "model";
  }
  bool is_llama() const { return std::string(GetParam()).starts_with("llama"); }
  /// The logits after each of the ids, which a model reads as they are.
  HostMatrix logits(const std::string& folder, const Ids& ids) const {
    const auto model = load_model(folder, make_backend({.device = "reference"}));
    Ids labels(ids.begin() + 1, ids.end());
    labels.push_back(0);
    const Batch batch = BatchBuilder().teacher_forced_prefix(labels, ids[0]).take();
    Context context(model->backend(), std::make_shared<Arena>(model->backend()));
    const Tensor all = ops::logits(context, model->states(batch, context), model->output());
    return {all.rows(), all.cols(), all.to_doubles(*model->backend())};
  }

  const std::string given_ = std::string(SIXFOLD_TEST_GOLDENS "/causal/") + GetParam();
  const json golden_;
  TemporaryFolder folder_;
};

TEST_P(Causal, TokenizesAsTheTokenizersLibrary) {
  const Tokenizers tokenizers = load_tokenizers(import());
  const Tokenizer& tokenizer = *tokenizers.source;
  for (size_t i = 0; i < golden_["texts"].size(); ++i) {
    const std::string text = golden_["texts"][i];
    const Ids ids = tokenizer.encode_text(text);
    EXPECT_EQ(tokenizer.decode_text(ids), text);
    if (golden_["ids"][i].is_null()) {  // text never becomes a special token here
      EXPECT_GT(ids.size(), 1u) << text;
      continue;
    }
    EXPECT_EQ(ids, golden_["ids"][i].get<Ids>()) << text;
    EXPECT_EQ(tokenizer.decode_text(ids), golden_["decoded"][i].get<std::string>());
  }
}

TEST_P(Causal, HasTheLogitsOfTransformers) {
  HostMatrix expected;
  for (const json& row : golden_["logits"]) {
    expected.cols = std::ssize(row), ++expected.rows;
    for (const json& value : row) expected.values.push_back(value);
  }
  const HostMatrix found = logits(import(), golden_["given"].get<Ids>());
  ASSERT_EQ(found.values.size(), expected.values.size());
  for (size_t i = 0; i < found.values.size(); ++i)
    ASSERT_NEAR(found.values[i], expected.values[i], 1e-4 * std::max(1.0, std::abs(expected.values[i]))) << i;
}

TEST_P(Causal, GeneratesGreedilyAsTransformers) {
  const std::string model = import();
  const std::vector<std::string> prompts{golden_["prompt"]};
  Ids expected = golden_["greedy"].get<Ids>();
  const int eos = load_model_config(model).eos;
  expected.erase(std::ranges::find(expected, eos), expected.end());
  for (const int threads : {1, 2}) {
    const auto result = Generator(model, threads)
                            .generate(prompts, {.max_tokens = static_cast<int>(golden_["greedy"].size()),
                                                .draw = {.temperature = 0}});
    ASSERT_FALSE(result[0].error) << result[0].error.value_or("");
    EXPECT_EQ(result[0].texts[0].tokens, expected.size());
    EXPECT_EQ(result[0].texts[0].text,
              replace_invalid_utf8(load_tokenizers(model).source->decode_text(expected)));
  }
}

/// Without a prompt the model begins after its start token.
TEST_P(Causal, GeneratesWithoutAPrompt) {
  const auto result = Generator(import(), 1).generate(std::vector<std::string>{""}, {.max_tokens = 5});
  EXPECT_FALSE(result[0].error) << result[0].error.value_or("");
}

/// What is exported is what was imported.
TEST_P(Causal, IsExportedAsItWas) {
  const std::string model = import(), exported = folder_ / "exported", again = folder_ / "again";
  export_hugging_face(model, exported);
  EXPECT_EQ(read_file(exported + "/tokenizer.json"), read_file(given_ + "/tokenizer.json"));
  const json theirs = json::parse(read_file(given_ + "/config.json")),
             ours = json::parse(read_file(exported + "/config.json"));
  for (const auto& [key, value] : ours.items()) {
    if (!theirs.contains(key) || theirs[key].is_null()) continue;
    EXPECT_EQ(value, theirs[key]) << key;
  }
  import_hugging_face(exported, again);
  EXPECT_TRUE(read_file(again + "/model.safetensors") == read_file(model + "/model.safetensors"));
}

INSTANTIATE_TEST_SUITE_P(Models, Causal, testing::Values("gpt2", "gpt2_untied", "llama", "llama_tied"),
                         [](const auto& name) { return std::string(name.param); });

class CausalErrors : public testing::Test {
 protected:
  CausalErrors() { fs::copy(SIXFOLD_TEST_GOLDENS "/causal/gpt2", folder_ / "hf"); }
  void change(const std::string& file, const std::function<void(json&)>& edit) {
    json content = json::parse(read_file(folder_ / "hf/" + file));
    edit(content);
    write_file_atomically(folder_ / "hf/" + file, content.dump());
  }
  void refuse(const std::string& part) {
    const std::string error = error_message([&] { import_hugging_face(folder_ / "hf", folder_ / "model"); });
    EXPECT_NE(error.find(part), std::string::npos) << error;
    EXPECT_FALSE(fs::exists(folder_ / "model"));
  }
  TemporaryFolder folder_;
};

TEST_F(CausalErrors, NameTheKeyOfTheConfig) {
  change("config.json", [](json& c) { c["scale_attn_by_inverse_layer_idx"] = true; });
  refuse("scale_attn_by_inverse_layer_idx is true");
  change("config.json",
         [](json& c) { c["scale_attn_by_inverse_layer_idx"] = false, c["activation_function"] = "mish"; });
  refuse("activation_function is mish");
  change("config.json", [](json& c) { c["activation_function"] = "gelu", c["n_head"] = 5; });
  refuse("heads");
  change("config.json", [](json& c) { c["n_head"] = 3, c["n_positions"] = 100; });
  refuse("tensor 'transformer.wpe.weight'");
  change("config.json", [](json& c) { c["n_positions"] = 512, c["eos_token_id"] = 100000; });
  refuse("are not in its vocabulary");
  change("config.json", [](json& c) { c["eos_token_id"] = "x"; });
  refuse("expected an id");
}

TEST_F(CausalErrors, NameThePartOfTheTokenizer) {
  const auto refuse_with = [&](const std::function<void(json&)>& edit, const std::string& part) {
    const std::string before = read_file(folder_ / "hf/tokenizer.json");
    change("tokenizer.json", edit);
    refuse(part);
    write_file_atomically(folder_ / "hf/tokenizer.json", before);
  };
  refuse_with([](json& t) { t["model"]["type"] = "WordPiece"; }, "model.type is 'WordPiece'");
  refuse_with([](json& t) { t["normalizer"] = {{"type", "NFC"}}; }, "it has a normalizer (NFC)");
  refuse_with([](json& t) { t["model"]["byte_fallback"] = true; }, "model.byte_fallback is true");
  refuse_with(
      [](json& t) {
        t["pre_tokenizer"] = {{"type", "Whitespace"}};
      },
      "its pre_tokenizer is 'Whitespace'");
  refuse_with([](json& t) { t["pre_tokenizer"]["add_prefix_space"] = true; }, "add_prefix_space is true");
  refuse_with([](json& t) { t["decoder"] = {{"type", "WordPiece"}}; }, "its decoder is 'WordPiece'");
  refuse_with([](json& t) { t["added_tokens"][0]["special"] = false; }, "is not special");
  refuse_with([](json& t) { t["model"]["merges"].push_back("a"); }, "expected two tokens");
  refuse_with(
      [](json& t) {
        t["model"]["merges"].push_back({"a", "\u0120\u0120\u0120"});
      },
      "is not in the vocabulary");
  refuse_with([](json& t) { t["model"]["vocab"].erase("!"); }, "no token for the byte 33");
  refuse_with([](json& t) { t["model"]["vocab"]["!"] = -1; }, "is not a whole number");
  refuse_with([](json& t) { t["model"].erase("vocab"); }, "has no key 'vocab'");
  write_file_atomically(folder_ / "hf/tokenizer.json", "{");
  refuse("tokenizer.json");
  fs::remove(folder_ / "hf/tokenizer.json");
  refuse("has no tokenizer");
}

TEST_F(CausalErrors, ScaledRotaryPositionsAreRefused) {
  fs::remove_all(folder_ / "hf");
  fs::copy(SIXFOLD_TEST_GOLDENS "/causal/llama", folder_ / "hf");
  change("config.json", [](json& c) { c["rope_parameters"]["rope_type"] = "llama3"; });
  refuse("only unscaled rotary positions are supported");
}

/// A word of many equal letters takes no quadratic time.
TEST(BytePairs, MergeLongWords) {
  const std::string file = read_file(SIXFOLD_TEST_GOLDENS "/causal/gpt2/tokenizer.json");
  const auto tokenizer = load_byte_pairs(add_settings(file, {.bos = 0, .eos = 1, .size = 340}, "test"), "test");
  const std::string text(300'000, 'e');
  const Ids ids = tokenizer->encode(text);
  EXPECT_EQ(tokenizer->decode_text(ids), text);
  EXPECT_EQ(tokenizer->decode_text(tokenizer->encode("\xFF")), "\uFFFD");
}

}  // namespace
}  // namespace sixfold
