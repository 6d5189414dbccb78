#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/random.h"
#include "error_message.h"
#include "families/vocabulary.h"
#include "model_folder/binding.h"
#include "model_folder/model_folder.h"
#include "runtime/search.h"
#include "tasks/import_model.h"
#include "tasks/translation/translator.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<int32_t>;
using nlohmann::json;

const std::string models = SIXFOLD_TEST_GOLDENS "/hugging_face/";

/// tests/goldens/make_hugging_face_goldens.py made these models and what `generate` puts out.
class HuggingFaceGolden : public testing::TestWithParam<const char*> {
 protected:
  /// Symbols as `generate` gives them: after the start symbol, up to the end symbol or what fills the row.
  Ids output_of(const json& row) const {
    Ids ids;
    for (size_t i = 1; i < row.size(); ++i) {
      const int id = row[i].get<int>();
      if (id == model_->config().eos || id == model_->config().decoder_start_token) break;
      ids.push_back(id);
    }
    return ids;
  }

  std::vector<Hypothesis> search_for(const Ids& source, int beam_size, int n_best) const {
    SearchOptions options{.rules = model_->config().generation, .n_best = n_best};
    options.rules.beam_size = beam_size;
    std::vector<Hypothesis> result;
    search(DecodeWorkspace(*model_), {source}, options, [&](size_t, auto best) { result = std::move(best); });
    return result;
  }

  const TemporaryFolder folder_;
  const json cases_ = json::parse(read_file(models + GetParam() + "/golden.json"));
  const std::unique_ptr<Transformer> model_ = [this] {
    import_hugging_face(models + GetParam(), folder_ / "model");
    return load_model(folder_ / "model", make_backend());
  }();
};

TEST_P(HuggingFaceGolden, TextBecomesTheSameIds) {
  const Tokenizers tokenizers = load_bound_tokenizers(folder_ / "model", model_->config());
  for (const json& golden : cases_) {
    Ids ids = tokenizers.source->encode(golden["text"].get<std::string>());
    ids.push_back(tokenizers.source->eos());
    EXPECT_EQ(ids, golden["source"].get<Ids>()) << golden["text"];
  }
}

TEST_P(HuggingFaceGolden, LogitsAreTheSame) {
  for (const json& golden : cases_) {
    Batch batch;
    batch.source.add(golden["source"].get<Ids>());
    batch.target.add(golden["target"].get<Ids>());
    Context context(model_->backend(), std::make_shared<Arena>(model_->backend()));
    const auto logits =
        ops::logits(context, model_->states(batch, context), model_->output()).to_floats(*model_->backend());
    size_t place = 0;
    for (const json& row : golden["logits"])
      for (const json& wanted : row) ASSERT_NEAR(logits[place++], wanted.get<double>(), 1e-4);
    EXPECT_EQ(place, logits.size());
  }
}

TEST_P(HuggingFaceGolden, GreedySearchPutsOutTheSame) {
  for (const json& golden : cases_)
    EXPECT_EQ(search_for(golden["source"].get<Ids>(), 1, 1)[0].ids, output_of(golden["greedy"]))
        << golden["text"];
}

TEST_P(HuggingFaceGolden, BeamSearchPutsOutTheSameAndScoresIt) {
  EXPECT_EQ(model_->config().generation.beam_size, 4);
  for (const json& golden : cases_) {
    const auto best = search_for(golden["source"].get<Ids>(), 4, 4);
    ASSERT_EQ(best.size(), golden["beam"].size());
    for (size_t i = 0; i < best.size(); ++i) {
      EXPECT_EQ(best[i].ids, output_of(golden["beam"][i])) << golden["text"] << " " << i;
      EXPECT_NEAR(best[i].score, golden["scores"][i].get<double>(), 1e-4) << golden["text"] << " " << i;
    }
  }
}

/// Pieces of the other side's SentencePiece model and special tokens are among the ids.
TEST_P(HuggingFaceGolden, IdsBecomeTheSameText) {
  const Tokenizers tokenizers = load_bound_tokenizers(folder_ / "model", model_->config());
  for (const json& decoded : cases_[0]["decoded"])
    EXPECT_EQ(tokenizers.target->decode(decoded["ids"].get<Ids>()), decoded["text"].get<std::string>());
}

INSTANTIATE_TEST_SUITE_P(, HuggingFaceGolden,
                         testing::Values("tied", "separate", "legacy", "sharded", "bfloat16", "renormalized",
                                         "lengths", "defaults"),
                         [](const auto& test) { return std::string(test.param); });

TEST(HuggingFace, LanguagesOfTheTargetAreKnown) {
  const TemporaryFolder folder;
  import_hugging_face(models + "tied", folder / "model");
  const Translator translator(folder / "model", {.threads = 1});
  EXPECT_EQ(translator.translate(std::vector<std::string>{"the old dog"}, {.target_language = "deu"}),
            translator.translate(std::vector<std::string>{">>deu<< the old dog"}));
  EXPECT_NE(error_message([&] {
              translator.translate(std::vector<std::string>{"the"}, {.target_language = "nld"});
            }).find("unknown to the model, which has >>deu<< >>fra<<"),
            std::string::npos);
}

TEST(HuggingFace, OlderFoldersKeepTheRulesInTheirConfig) {
  const TemporaryFolder folder;
  const fs::path copy = folder / "copy";
  fs::copy(models + "tied", copy);
  fs::remove(copy / "generation_config.json");
  json config = json::parse(read_file(copy / "config.json"));
  const auto rules = [&] {
    fs::remove(copy / "config.json");
    std::ofstream(copy / "config.json") << config;
    import_hugging_face(copy, folder / "model");
    return load_model_config(folder / "model").generation;
  };
  config["num_beams"] = 6;
  config["max_length"] = 100;
  config["bad_words_ids"] = {{54}};
  config.erase("forced_eos_token_id");
  EXPECT_EQ(rules().beam_size, 6);
  EXPECT_EQ(rules().length_offset, 99);
  EXPECT_EQ(rules().suppress_tokens, std::vector<int>{54});
  EXPECT_TRUE(rules().allow_unk) << "only settings suppress it there";
  EXPECT_EQ(rules().beam_size, 6);
  EXPECT_EQ(load_model_config(folder / "model").decoder_start_token, 54);
  EXPECT_EQ(rules().at_longest, AtLongest::cut);  // transformers 5 takes no defaults of MarianConfig here
  config["forced_eos_token_id"] = nullptr;
  EXPECT_EQ(rules().at_longest, AtLongest::cut);
  config["forced_eos_token_id"] = 0;
  EXPECT_EQ(rules().at_longest, AtLongest::certain_end);
}

/// The rules of search of a copy of "tied" whose generation_config.json is `settings`, and what is said
/// meanwhile.
struct ImportedRules {
  GenerationConfig rules;
  int decoder_start_token;
  std::string said;
};
ImportedRules import_with(const json& settings) {
  const TemporaryFolder folder;
  fs::copy(models + "tied", folder / "copy");
  fs::remove(folder / "copy/generation_config.json");
  std::ofstream(folder / "copy/generation_config.json") << settings;
  testing::internal::CaptureStderr();
  std::string said;
  {
    const auto end =
        std::shared_ptr<void>(nullptr, [&](void*) { said = testing::internal::GetCapturedStderr(); });
    import_hugging_face(folder / "copy", folder / "model");
  }
  const ModelConfig config = load_model_config(folder / "model");
  return {config.generation, config.decoder_start_token, said};
}

TEST(HuggingFace, SettingsOfGenerateAreObeyed) {
  const ImportedRules all = import_with({{"max_length", 100},
                                         {"max_new_tokens", 9},
                                         {"min_length", 4},
                                         {"bad_words_ids", {{0}, {54}, {7, 8}}},
                                         {"suppress_tokens", {7, 99, -1}},
                                         {"renormalize_logits", true},
                                         {"early_stopping", "never"},
                                         {"no_repeat_ngram_size", 3},
                                         {"forced_bos_token_id", 9},
                                         {"begin_suppress_tokens", {8, -1}},
                                         {"eos_token_id", {0}},
                                         {"temperature", 0.5},
                                         {"_from_model_config", true},
                                         {"transformers_version", "5.23.0"}});
  EXPECT_EQ(all.said, "");
  EXPECT_EQ(all.rules.length_offset, 9);
  EXPECT_EQ(all.rules.min_new_tokens, 3);
  EXPECT_EQ(all.rules.suppress_tokens, (std::vector<int>{54, 7}));
  EXPECT_EQ(all.rules.suppress_phrases, (std::vector<std::vector<int>>{{7, 8}}));
  EXPECT_EQ(all.rules.begin_suppress_tokens, (std::vector<int>{8}));
  EXPECT_EQ(all.rules.no_repeat_ngram, 3);
  EXPECT_EQ(all.rules.forced_first_token, 9);
  EXPECT_TRUE(all.rules.renormalize_logits);
  EXPECT_EQ(all.rules.stopping_criterion, StoppingCriterion::best_cannot_improve);
  EXPECT_EQ(import_with({{"min_length", 4}, {"min_new_tokens", 2}}).rules.min_new_tokens, 2);
  const ImportedRules none = import_with(json::object());
  EXPECT_EQ(none.rules.length_offset, 20);
  EXPECT_EQ(none.rules.beam_size, 1);
  EXPECT_EQ(none.decoder_start_token, 54);
  EXPECT_NE(none.said.find("at most 20 tokens"), std::string::npos) << none.said;
}

TEST(HuggingFace, SettingsThatAreNotKnownAreNamedInOneLine) {
  const std::string said = import_with({{"max_length", 100},
                                        {"do_sample", false},
                                        {"encoder_no_repeat_ngram_size", 0},
                                        {"another", 2},
                                        {"a_later_invention", 1}})
                               .said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_TRUE(said.ends_with("`generate`: a_later_invention 1, another 2\n")) << said;
}

TEST(HuggingFace, SettingsThatAreNotSupportedAreRefused) {
  const std::string message = error_message([] {
    import_with({{"max_length", 100}, {"exponential_decay_length_penalty", {5, 1.1}}, {"do_sample", true}});
  });
  EXPECT_NE(message.find("not supported: do_sample true, exponential_decay_length_penalty [5,1.1]; "),
            message.npos)
      << message;
}

/// tests/goldens/make_generation_goldens.py made these outputs of `generate`.
TEST(HuggingFace, SearchesAsRandomSettingsSay) {
  int greedy = 0;
  for (const json& golden : json::parse(read_file(models + "tied/settings.json"))) {
    SCOPED_TRACE(golden["settings"].dump());
    const TemporaryFolder folder;
    fs::copy(models + "tied", folder / "copy");
    write_file_atomically(folder / "copy/generation_config.json", golden["settings"].dump());
    import_hugging_face(folder / "copy", folder / "model");
    const auto model = load_model(folder / "model", make_backend());
    const int eos = model->config().eos, start = model->config().decoder_start_token;
    SearchOptions options{.rules = model->config().generation};
    options.n_best = options.rules.beam_size;
    greedy += options.n_best == 1;
    for (const json& row : golden["rows"]) {
      std::vector<Hypothesis> best;
      search(DecodeWorkspace(*model), {row["source"].get<Ids>()}, options,
             [&](size_t, auto found) { best = std::move(found); });
      ASSERT_EQ(best.size(), row["outputs"].size());
      for (size_t i = 0; i < best.size(); ++i) {
        Ids ids;
        for (size_t place = 1; place < row["outputs"][i].size(); ++place) {
          const int id = row["outputs"][i][place];
          if (id == eos || id == start) break;
          ids.push_back(id);
        }
        EXPECT_EQ(best[i].ids, ids);
        const double score = row["scores"].empty() ? best[i].score : row["scores"][i].get<double>();
        EXPECT_NEAR(best[i].score, score, 1e-4);
      }
    }
  }
  EXPECT_TRUE(greedy > 2 && greedy < 15) << greedy;
}

TEST(HuggingFace, SettingsThatCannotBeAreRefused) {
  const auto refusal = [](const char* key, const json& value) {
    json settings{{"max_length", 100}};
    settings[key] = value;
    return error_message([&] { import_with(settings); });
  };
  EXPECT_NE(refusal("max_length", "long").find("max_length is \"long\""), std::string::npos);
  EXPECT_NE(refusal("max_new_tokens", -1).find("max_new_tokens is -1"), std::string::npos);
  EXPECT_NE(refusal("bad_words_ids", {{55}}).find("bad_words_ids has [55]"), std::string::npos);
  EXPECT_NE(refusal("bad_words_ids", 5).find("bad_words_ids is 5"), std::string::npos);
  EXPECT_NE(refusal("suppress_tokens", {"a"}).find("suppress_tokens is"), std::string::npos);
  EXPECT_NE(refusal("early_stopping", "soon").find("early_stopping is \"soon\""), std::string::npos);
  EXPECT_NE(refusal("eos_token_id", 3).find("eos_token_id is 3, but </s> of the vocabulary has the id 0"),
            std::string::npos);
  EXPECT_NE(refusal("forced_bos_token_id", 55).find("forced_bos_token_id is 55"), std::string::npos);
  EXPECT_NE(refusal("repetition_penalty", 0).find("repetition_penalty is 0"), std::string::npos);
  EXPECT_NE(refusal("no_repeat_ngram_size", "x").find("no_repeat_ngram_size"), std::string::npos);
  EXPECT_NE(refusal("length_penalty", -1).find("length_penalty is -1"), std::string::npos);
  EXPECT_NE(refusal("num_beams", 0)
                .find("config.json: the model that it describes can't be built; in the names of "
                      "a config of Sixfold: generation.beam_size"),
            std::string::npos)
      << refusal("num_beams", 0);
}

/// What a copy of the folder is refused with, once `change` has been made to it.
std::string refusal(const std::string& model, const std::function<void(const fs::path&)>& change) {
  const TemporaryFolder folder;
  const fs::path copy = folder / "copy";
  fs::copy(models + model, copy);
  for (const auto& entry : fs::directory_iterator(copy))
    fs::permissions(entry.path(), fs::perms::owner_write, fs::perm_options::add);
  change(copy);
  return error_message([&] { import_hugging_face(copy, folder / "model"); });
}

std::string refusal_with_key(const char* key, const json& value) {
  return refusal("tied", [&](const fs::path& folder) {
    json config = json::parse(read_file(folder / "config.json"));
    config[key] = value;
    std::ofstream(folder / "config.json") << config;
  });
}

TEST(HuggingFace, RefusesWhatHasNoCounterpart) {
  EXPECT_NE(refusal_with_key("model_type", "albert").find("model_type is 'albert'"), std::string::npos);
  EXPECT_NE(refusal_with_key("normalize_before", true).find("normalize_before is true"), std::string::npos);
  EXPECT_NE(refusal_with_key("decoder_attention_heads", 5).find("not divisible by 5 heads"), std::string::npos);
  EXPECT_NE(refusal_with_key("activation_function", "tanh").find("activation_function is tanh"),
            std::string::npos);
  EXPECT_NE(refusal_with_key("d_model", "wide").find("d_model"), std::string::npos);
  EXPECT_NE(refusal_with_key("encoder_layers", 3).find("no tensor 'model.encoder.layers.2."),
            std::string::npos);
  EXPECT_NE(refusal_with_key("encoder_layers", 1).find("does not belong to any supported part of the model"),
            std::string::npos);
}

TEST(HuggingFace, NamesWhatIsMissingOrDamaged) {
  const auto removed = [](const char* model, const char* file) {
    return refusal(model, [&](const fs::path& folder) { fs::remove(folder / file); });
  };
  EXPECT_NE(removed("tied", "config.json").find("no config.json"), std::string::npos);
  EXPECT_NE(removed("tied", "model.safetensors").find("has no weights"), std::string::npos);
  EXPECT_NE(removed("tied", "source.spm").find("source.spm"), std::string::npos);
  EXPECT_NE(removed("tied", "vocab.json").find("vocab.json"), std::string::npos);
  EXPECT_NE(removed("sharded", "model-00002-of-00002.safetensors").find("model-00002"), std::string::npos);
  for (const char* model : {"separate", "legacy"})
    EXPECT_NE(refusal(model,
                      [](const fs::path& folder) {
                        fs::resize_file(folder / "pytorch_model.bin",
                                        fs::file_size(folder / "pytorch_model.bin") - 999);
                      })
                  .find("pytorch_model.bin"),
              std::string::npos);
}

/// Half a million pieces: work that grows with their square would not come to an end here.
TEST(Vocabulary, IsWrittenAndReadInLinearTime) {
  std::vector<std::string> pieces;
  for (int i = 0; i < 500'000; ++i) pieces.push_back(fmt::format("\u2581\"piece\\{}", i));
  const TemporaryFolder folder;
  std::ofstream(folder / "vocab.json") << vocabulary_json(pieces);
  EXPECT_TRUE(read_vocabulary(folder / "vocab.json") == pieces);
}

}  // namespace
}  // namespace sixfold
