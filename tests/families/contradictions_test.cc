// Folders of Hugging Face in which one file says something else than another, or than its class can do.
#include "families/causal_folder.h"
#include "families/changed_model.h"
#include "families/hugging_face.h"
#include "formats/safetensors.h"
#include "model_folder/binding.h"

namespace sixfold {
namespace {

using nlohmann::json;

class Contradictions : public CausalFolder {
 protected:
  /// Gives tensors other names, or leaves those out whose name becomes empty.
  void rename_tensors(const std::function<std::string(const std::string&)>& name_of) const {
    const std::string path = given_ + "/model.safetensors";
    const TensorMap given = read_tensors(given_);
    std::vector<TensorEntry> entries;
    std::vector<std::vector<float>> values;
    for (const std::string& name : given.names())
      if (const std::string now = name_of(name); !now.empty()) {
        entries.push_back({now, DType::f32, given.at(name).shape});
        values.push_back(to_floats(given.at(name)));
      }
    SafetensorsWriter file(path, entries, {{"format", "pt"}});
    for (const auto& all : values) file.add(all.data());
    file.commit();
    std::filesystem::remove(given_ + "/pytorch_model.bin");
  }
  /// The weights of the imported model.
  std::string weights() const {
    import();
    return read_file(model_ + "/model.safetensors");
  }
  /// What an export of the imported model says, with another config and other weights.
  std::string export_error(const std::function<void(ModelConfig&)>& change) const {
    ModelConfig config = import();
    const Tokenizers tokenizers = load_bound_tokenizers(model_, config);
    change(config);
    write_model_folder(folder_ / "own", changed_model(config), tokenizers);
    std::string error = error_message([&] { export_hugging_face(folder_ / "own", folder_ / "exported"); });
    std::filesystem::remove_all(folder_ / "own");
    std::filesystem::remove_all(folder_ / "exported");
    return error;
  }
};

/// The classes of most families ignore a share of rotated features.
TEST_F(Contradictions, AllFeaturesOfMostFamiliesAreRotated) {
  for (const char* family : {"llama", "mistral", "qwen2", "qwen3"}) {
    use_family(family);
    refuse_with(
        "config.json", [](json& c) { c["partial_rotary_factor"] = 0.5; },
        "partial_rotary_factor is 0.5, but models of this class rotate all features");
    change("config.json", [](json& c) { c["partial_rotary_factor"] = 1.0; });
    EXPECT_EQ(import().rotary_features, 0);
  }
}

/// What a class has no key for is not left out silently.
TEST_F(Contradictions, AnExportHasWhatItsClassHas) {
  const auto expect = [&](const char* family, const char* part,
                          const std::function<void(ModelConfig&)>& change) {
    use_family(family);
    const std::string error = export_error(change);
    EXPECT_NE(error.find(part), std::string::npos) << error;
  };
  for (const char* family : {"qwen2", "qwen3", "mistral"})
    expect(family, "its feed-forward layers have biases", [](ModelConfig& c) {
      c.decoder_mixer = MixerKind::restricted_attention;
      c.attention_window = 5;
      c.feed_forward_bias = true;
    });
  expect("qwen3", "only a part of the features of its heads", [](ModelConfig& c) { c.rotary_features = 2; });
  expect("phi3", "its rotary_scaling is 'linear'", [](ModelConfig& c) {
    c.rotary_features = 2;
    c.rotary_scaling = {.kind = RotaryScalingKind::linear, .factor = 2};
  });
}

TEST_F(Contradictions, OfT5AreRefused) {
  use_family("t5");  // with gated-gelu
  refuse_with(
      "config.json", [](json& c) { c["dense_act_fn"] = "relu"; }, "dense_act_fn is relu");
  refuse_with(
      "config.json", [](json& c) { c["is_gated_act"] = false; }, "is_gated_act is false");
  change("config.json", [](json& c) { c["dense_act_fn"] = "gelu_new", c["is_gated_act"] = true; });
  const std::string before = weights();
  rename_tensors([](const std::string& name) {
    return name == "shared.weight" ? "encoder.embed_tokens.weight" : name == "lm_head.weight" ? "" : name;
  });
  EXPECT_TRUE(weights() == before) << "a tensor that repeats the embedding";
  std::filesystem::remove(given_ + "/tokenizer.json");
  change("tokenizer_config.json", [](json& c) { c["extra_ids"] = 1'000'000'000; });
  refuse("extra_ids is 1000000000, but the model has");
}

TEST_F(Contradictions, ALanguageBehindTheSourceIsRefused) {
  use_family("nllb");
  EXPECT_NO_THROW(import());
  refuse_with(
      "tokenizer_config.json", [](json& c) { c["legacy_behaviour"] = true; }, "legacy_behaviour is true");
}

TEST_F(Contradictions, OldNamesOfNormsAreKnown) {
  use_family("bert_masked");
  const std::string before = weights();
  rename_tensors([](std::string name) {
    for (const auto& [now, old] :
         {std::pair("LayerNorm.weight", "LayerNorm.gamma"), {"LayerNorm.bias", "LayerNorm.beta"}})
      if (name.ends_with(now)) name.replace(name.size() - std::string(now).size(), std::string::npos, old);
    return name;
  });
  EXPECT_TRUE(weights() == before);
  use_family("bert_masked");
  rename_tensors([](const std::string& name) {
    return name == "bert.embeddings.word_embeddings.weight" ? "cls.predictions.decoder.weight"
           : name == "cls.predictions.decoder.weight"       ? ""
                                                            : name;
  });
  EXPECT_TRUE(weights() == before) << "the embedding under the name of the output";
}

/// transformers saves a model without its head under names without a prefix, and reads it with any head.
TEST_F(Contradictions, AModelWithoutHeadHasNamesWithoutPrefix) {
  const auto without = [&](const std::string& prefix) {
    rename_tensors(
        [&](const std::string& name) { return name.starts_with(prefix) ? name.substr(prefix.size()) : name; });
  };
  for (const auto& [family, prefix] : {std::pair("gpt_neox", "gpt_neox."),
                                       {"llama", "model."},
                                       {"qwen3", "model."},
                                       {"m2m100", "model."},
                                       {"bert_masked", "bert."}}) {
    use_family(family);
    const std::string before = weights();
    without(prefix);
    EXPECT_TRUE(weights() == before) << family;
  }
  use("gpt2");
  const std::string before = weights();
  without("transformer.");
  EXPECT_TRUE(weights() == before);
}

/// transformers takes zeros for the bias of the output that a folder lacks.
TEST_F(Contradictions, TheOutputMayHaveNoBias) {
  for (const std::string folder : {"/hugging_face_families/bart", "/hugging_face/tied"}) {
    std::filesystem::remove_all(given_);
    std::filesystem::copy(SIXFOLD_TEST_GOLDENS + folder, given_);
    import();
    const auto before = read_tensors(model_);
    rename_tensors([](const std::string& name) {
      return name.starts_with("model.") ? name.substr(6) : name == "final_logits_bias" ? "" : name;
    });
    EXPECT_FALSE(import().output_bias) << folder;
    const auto after = read_tensors(model_);
    EXPECT_EQ(after.names().size() + 1, before.names().size());
    for (const std::string& name : after.names())
      EXPECT_EQ(to_floats(after.at(name)), to_floats(before.at(name))) << name;
    export_hugging_face(model_, folder_ / "exported");
    const TensorMap exported = read_tensors(folder_ / "exported");
    for (const float x : to_floats(exported.at("final_logits_bias"))) EXPECT_LE(x, 0);
    std::filesystem::remove_all(folder_ / "exported");
  }
}

TEST_F(Contradictions, SettingsOfSentenceTransformersHaveOlderNames) {
  use_family("sentence_transformers");
  change("sentence_bert_config.json", [](json& c) { c["max_seq_length"] = 9; });
  const int tokens = import().context_tokens;
  std::filesystem::rename(given_ + "/sentence_bert_config.json", given_ + "/sentence_distilbert_config.json");
  EXPECT_EQ(import().context_tokens, tokens);
  change("sentence_distilbert_config.json", [](json& c) { c["max_seq_length"] = nullptr; });
  change("tokenizer_config.json", [](json& c) { c["model_max_length"] = 8; });
  EXPECT_EQ(import().context_tokens, tokens - 1);
  change("tokenizer_config.json", [](json& c) { c["model_max_length"] = 1e30; });
  EXPECT_GT(import().context_tokens, tokens);
}

/// transformers reads tokenizer.json.
TEST_F(Contradictions, TokenizerJsonCounts) {
  use("llama_sentencepiece");
  import();
  std::filesystem::remove_all(given_);
  export_hugging_face(model_, given_);  // which writes both
  EXPECT_EQ(warnings().find("tokenizes in another way"), std::string::npos);
  const auto before = load_bound_tokenizers(model_, load_model_config(model_)).target->encode("the dog");
  change("tokenizer.json", [](json& j) {  // no mark before the first word
    j["normalizer"] = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}};
  });
  EXPECT_NE(warnings().find("tokenizer.json: tokenizes in another way"), std::string::npos);
  EXPECT_NE(load_bound_tokenizers(model_, load_model_config(model_)).target->encode("the dog"), before);
}

/// A target vocabulary counts where tokenizer_config.json says that there is one.
TEST_F(Contradictions, AVocabularyThatIsNotUsedIsNamed) {
  std::filesystem::remove_all(given_);
  std::filesystem::copy(SIXFOLD_TEST_GOLDENS "/hugging_face/tied", given_);
  change("tokenizer_config.json", [](json& c) { c["separate_vocabs"] = false; });
  import();
  const std::string before = load_bound_tokenizers(model_, load_model_config(model_)).target->hash();
  json pieces = json::parse(read_file(given_ + "/vocab.json"));
  std::swap(*pieces.begin(), *std::next(pieces.begin()));
  write_file_atomically(given_ + "/target_vocab.json", pieces.dump());
  EXPECT_NE(warnings().find("target_vocab.json: has no effect"), std::string::npos);
  EXPECT_EQ(load_bound_tokenizers(model_, load_model_config(model_)).target->hash(), before);
  std::filesystem::remove(given_ + "/target_vocab.json");
  change("vocab.json", [](json& c) { c["one more"] = c.size(); });
  refuse("vocab.json: has ");
}

}  // namespace
}  // namespace sixfold
