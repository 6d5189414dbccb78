// GPT-2 and Llama models as transformers saves them (tests/goldens/make_causal_goldens.py).
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "close.h"
#include "error_message.h"
#include "families/causal_folder.h"
#include "families/hugging_face.h"
#include "formats/safetensors.h"
#include "model_folder/config_file.h"
#include "model_folder/model_folder.h"
#include "tasks/language_model/generator.h"
#include "temporary_folder.h"
#include "text/tokenizer_json.h"
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

  /// The shapes of the tensors of a folder of Hugging Face.
  static std::map<std::string, std::vector<int64_t>> shapes(const std::string& folder) {
    std::map<std::string, std::vector<int64_t>> found;
    const TensorMap tensors = read_tensors(folder);
    for (const std::string& name : tensors.names()) found[name] = tensors.at(name).shape;
    return found;
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
    const auto result = Generator(model, {.threads = threads})
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
  const auto result =
      Generator(import(), {.threads = 1}).generate(std::vector<std::string>{""}, {.max_tokens = 5});
  EXPECT_FALSE(result[0].error) << result[0].error.value_or("");
}

/// The tokens that transformers puts before a text.
TEST_P(Causal, BeginsTextsAsTransformers) {
  const ModelConfig config = load_model_config(import());
  const Ids first = golden_["first"].get<Ids>();
  EXPECT_EQ(config.generation.start_before_text, !first.empty());
  if (!first.empty()) {
    EXPECT_EQ(config.decoder_start_token, first[0]);
  }
}

/// What is exported is what was imported.
TEST_P(Causal, IsExportedAsItWas) {
  const std::string model = import(), exported = folder_ / "exported", again = folder_ / "again";
  export_hugging_face(model, exported);
  for (const char* file : {"/tokenizer.json", "/tokenizer.model"})
    if (fs::exists(given_ + file)) {
      EXPECT_EQ(read_file(exported + file), read_file(given_ + file));
    }
  EXPECT_EQ(shapes(exported), shapes(given_));
  const json theirs = json::parse(read_file(given_ + "/config.json")),
             ours = json::parse(read_file(exported + "/config.json"));
  for (const auto& [key, value] : ours.items()) {
    if (!theirs.contains(key) || theirs[key].is_null()) continue;
    EXPECT_EQ(value, theirs[key]) << key;
  }
  import_hugging_face(exported, again);
  for (const auto& file : fs::directory_iterator(model)) {
    const std::string name = file.path().filename();
    if (name == "provenance.json" || name == "config.json") continue;
    EXPECT_TRUE(read_file(again + "/" + name) == read_file(model + "/" + name)) << name;
  }
  ModelConfig before = load_model_config(model), after = load_model_config(again);
  before.generation.suppress_tokens.clear();  // the unknown token is never generated here
  after.generation.suppress_tokens.clear();
  before.dropout = after.dropout = 0;
  EXPECT_EQ(to_json(write_options(after)), to_json(write_options(before)));
}

/// A table of learned positions may be longer than the blocks that a model was trained on; its other rows are
/// as they began.
TEST_P(Causal, IsExportedWithThePositionsThatItHasLearned) {
  const std::string model = import(), exported = folder_ / "exported", again = folder_ / "again";
  ModelConfig config = load_model_config(model);
  if (config.positions != Positions::learned) return;
  config.context_tokens = 24;
  write_file_atomically(model + "/config.json", to_json(config_tree(config)));
  export_hugging_face(model, exported);
  EXPECT_EQ(json::parse(read_file(exported + "/config.json")).at("n_positions"), 24);
  EXPECT_EQ(shapes(exported).at("transformer.wpe.weight"), (std::vector<int64_t>{24, config.d_model}));
  import_hugging_face(exported, again);
  EXPECT_EQ(load_model_config(again).context_tokens, 24);
  const auto text = [&](const std::string& folder) {
    return Generator(folder, {.threads = 1})
        .generate(std::vector<std::string>{golden_["prompt"]},
                  {.max_tokens = 40, .draw = {.temperature = 0}})[0]
        .texts.at(0)
        .text;
  };
  EXPECT_EQ(text(again), text(model));
}

INSTANTIATE_TEST_SUITE_P(Models, Causal,
                         testing::Values("gpt2", "gpt2_untied", "llama", "llama_tied", "llama_sentencepiece"),
                         [](const auto& name) { return std::string(name.param); });

using CausalErrors = CausalFolder;

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
  change("config.json", [](json& c) { c["n_positions"] = 512, c["n_embd"] = (1 << 30) - 1; });
  refuse("n_inner is missing, and its default value, 4294967292, is more than");
  change("config.json", [](json& c) { c["n_embd"] = 24, c["n_inner"] = 0; });
  refuse("n_inner is 0; expected a whole number from 1 to");
  change("config.json", [](json& c) { c["n_inner"] = nullptr, c["vocab_size"] = 300; });
  refuse("vocab_size is 300, but the embedding has 345 rows");
  change("config.json", [](json& c) { c["vocab_size"] = 345, c["model_type"] = {"gpt2"}; });
  refuse("model_type is [\"gpt2\"]; it must be a string");
  change("config.json", [](json& c) { c["model_type"] = "albert"; });
  refuse("model_type is 'albert'; only m2m_100, bart, ");
}

TEST_F(CausalErrors, NameThePartOfTheTokenizer) {
  const auto refuse_with = [&](const std::function<void(json&)>& edit, const std::string& part) {
    CausalFolder::refuse_with("tokenizer.json", edit, part);
  };
  refuse_with([](json& t) { t["model"]["type"] = "WordLevel"; },
              "model: the type 'WordLevel' is not supported");
  refuse_with(
      [](json& t) {
        t["normalizer"] = {{"type", "Shout"}};
      },
      "normalizer: the type 'Shout' is not supported");
  refuse_with(
      [](json& t) {
        t["pre_tokenizer"] = {{"type", "Delimiter"}};
      },
      "pre_tokenizer: the type 'Delimiter'");
  refuse_with([](json& t) { t["decoder"] = {{"type", "CTC"}}; }, "decoder: the type 'CTC'");
  refuse_with([](json& t) { t["model"]["merges"].push_back("a"); }, "an entry that is not two tokens");
  refuse_with([](json& t) { t["model"]["vocab"]["!"] = -1; }, "the id of '!' is -1");
  refuse_with([](json& t) { t["model"].erase("vocab"); }, "has no 'vocab'");
  write_file_atomically(given_ + "/tokenizer.json", "{");
  refuse("tokenizer.json");
  fs::remove(given_ + "/tokenizer.json");
  refuse("has no tokenizer");
  use("llama");
  refuse_with([](json& t) { t["pre_tokenizer"]["pretokenizers"][0]["behavior"] = "Shuffled"; },
              "the behavior 'Shuffled' is not known");
}

/// Weights are named as the file names them, with the shapes that they should have there.
TEST_F(CausalErrors, NameTheTensor) {
  const std::string path = given_ + "/model.safetensors";
  const TensorMap tensors = read_safetensors(path);
  const auto write = [&](const std::string& changed, const std::vector<int64_t>& shape, float first) {
    std::vector<NamedTensor> all;
    std::vector<float> values = to_floats(tensors.at("transformer.wte.weight"));
    values[0] += first;
    for (const std::string& name : tensors.names()) {
      const TensorInfo& tensor = tensors.at(name);
      all.push_back({name, tensor.dtype, name == changed ? shape : tensor.shape, tensor.bytes.data()});
    }
    if (first != 0) all.push_back({"lm_head.weight", DType::f32, {345, 24}, values.data()});
    write_safetensors(path + ".new", all);
    fs::rename(path + ".new", path);
  };
  write("transformer.h.1.mlp.c_fc.weight", {96, 24}, 0);
  refuse("tensor 'transformer.h.1.mlp.c_fc.weight' has the shape [96, 24], but the config needs [24, 96]");
  write("", {}, 1);
  refuse("tensor 'lm_head.weight' differs from 'transformer.wte.weight'");
}

/// The masks of old folders, which are constants, may be of any type.
TEST_F(CausalErrors, MasksMayBeOfAnyType) {
  const std::string path = given_ + "/model.safetensors";
  std::string bytes = read_file(path);
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  json header = json::parse(bytes.substr(8, length));
  const size_t end = bytes.size() - 8 - length;
  header["transformer.h.0.attn.bias"] = {
      {"dtype", "BOOL"}, {"shape", {1, 1, 2, 2}}, {"data_offsets", {end, end + 4}}};
  const std::string text = header.dump();
  length = text.size();
  write_file_atomically(path, std::string(reinterpret_cast<const char*>(&length), 8) + text +
                                  bytes.substr(bytes.size() - end) + std::string(4, '\1'));
  import();
  EXPECT_TRUE(fs::exists(model_));
}

/// Nobody writes to this pipe.
TEST_F(CausalErrors, APipeAmongTheFilesIsRefused) {
  for (const char* name : {"generation_config.json", "tokenizer.json", "model.safetensors"}) {
    use("gpt2");
    const std::string path = given_ + "/" + name;
    fs::remove(path);
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    refuse(fmt::format("{}: is not a regular file", name));
  }
}

/// A conversion takes long: what can be known before it is said before it.
TEST_F(CausalErrors, AMissingFolderForTheOutputIsNoticedFirst) {
  fs::remove(given_ + "/model.safetensors");
  for (const auto& convert : {import_hugging_face, export_hugging_face}) {
    const std::string error = error_message([&] { convert(given_, folder_ / "none/model"); });
    EXPECT_NE(error.find("there is no folder " + folder_.path().string() + "/none"), std::string::npos)
        << error;
  }
}

TEST_F(CausalErrors, WindowsOfMistral) {
  use("llama");
  const auto with = [&](const std::function<void(json&)>& edit) {
    change("config.json", [&](json& c) {
      c["model_type"] = "mistral";
      edit(c);
    });
  };
  const auto window = [&] {
    const ModelConfig config = import();
    return config.decoder_mixer == MixerKind::restricted_attention ? config.attention_window : 0;
  };
  with([](json& c) { c["max_position_embeddings"] = 4096; });
  EXPECT_EQ(window(), 0) << "no window is one of 4096 tokens, which this text fits";
  with([](json& c) { c["max_position_embeddings"] = 4097; });
  EXPECT_EQ(window(), 4095) << "besides the token itself";
  with([](json& c) { c["sliding_window"] = nullptr; });
  EXPECT_EQ(window(), 0);
  with([](json& c) { c["sliding_window"] = 4000; });
  EXPECT_EQ(window(), 3999);
  with([](json& c) { c["sliding_window"] = 1; });
  refuse("sliding_window is 1; a token would attend to itself alone");
  with([](json& c) { c["sliding_window"] = "x"; });
  refuse("sliding_window is \"x\"");
  change("config.json", [](json& c) { c["model_type"] = "llama"; });
  EXPECT_EQ(window(), 0) << "a Llama does not read the key";
}

/// Where a reader is in the middle of what it makes.
TEST_F(CausalErrors, OfTypesAreRefusedWhereverTheyAre) {
  use("llama");
  for (const char* key : {"attention_bias", "mlp_bias", "tie_word_embeddings"})
    refuse_with(
        "config.json", [&](json& c) { c[key] = 3; }, fmt::format("{} is 3; it must be true or false", key));
}

TEST_F(CausalErrors, NameTheKeyOfRotaryPositions) {
  use("llama");
  refuse_with(
      "config.json", [](json& c) { c["rope_parameters"]["rope_type"] = "proportional"; },
      "rope_parameters has the type 'proportional'; only default, linear, dynamic, llama3, yarn and longrope");
  refuse_with(
      "config.json", [](json& c) { c["rope_parameters"]["rope_type"] = "longrope"; },
      "rope_parameters.short_factor is not a list of");
  refuse_with(
      "config.json", [](json& c) { c["rope_parameters"]["rope_type"] = "llama3"; },
      "rope_parameters.factor is missing");
  refuse_with(
      "config.json",
      [](json& c) {
        c["rope_parameters"].update(
            {{"rope_type", "llama3"}, {"factor", 2}, {"low_freq_factor", 4}, {"high_freq_factor", 4}});
      },
      "rotary_scaling.low: 4 is not less than rotary_scaling.high, 4");
  refuse_with(
      "config.json", [](json& c) { c["rope_parameters"]["rope_theta"] = "777"; },
      "rope_parameters.rope_theta is \"777\"; it must be a number");
  refuse_with(
      "config.json", [](json& c) { c["rope_theta"] = "777"; }, "rope_theta is \"777\"; it must be a number");
}

/// A word of many equal letters takes no quadratic time.
TEST(BytePairs, MergeLongWords) {
  const std::string file = read_file(SIXFOLD_TEST_GOLDENS "/causal/gpt2/tokenizer.json");
  const auto tokenizer =
      load_tokenizer_json(add_settings(file, {.bos = 0, .eos = 1, .size = 340}, "test"), "test");
  const std::string text(300'000, 'e');
  const Ids ids = tokenizer->encode(text);
  EXPECT_EQ(tokenizer->decode_text(ids), text);
  EXPECT_EQ(tokenizer->decode_text(tokenizer->encode("\xFF")), "\uFFFD");
}

}  // namespace
}  // namespace sixfold
