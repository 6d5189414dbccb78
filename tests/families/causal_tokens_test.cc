// The special tokens, the settings of generation and the beginnings of texts of imported and exported language
// models.
#include <filesystem>
#include <optional>

#include "families/causal_folder.h"
#include "model_folder/config_file.h"
#include "tasks/language_model/generator.h"
#include "tasks/language_model/settings.h"
#include "tasks/language_model/task.h"
#include "text/tokenizers.h"
#include "train/trainer.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Ids = std::vector<int32_t>;

constexpr int begin_id = 340, end_id = 341;  // of the goldens of byte-level BPE

const json byte_level = {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", false}};
const json text_part = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};

json token_part(const char* name) { return {{"SpecialToken", {{"id", name}, {"type_id", 0}}}}; }

json template_of(const json& single, const json& ids = json::array({begin_id})) {
  return {{"type", "TemplateProcessing"},
          {"single", single},
          {"pair", json::array()},
          {"special_tokens", {{"<b>", {{"id", "<b>"}, {"ids", ids}, {"tokens", json::array({"<b>"})}}}}}};
}

const json with_start = template_of(json::array({token_part("<b>"), text_part}));

class CausalStart : public CausalFolder {
 protected:
  void set_post_processor(const json& step) const {
    change("tokenizer.json", [&](json& t) { t["post_processor"] = step; });
  }
  /// The start token of the imported model, or nothing if it begins no text with one.
  std::optional<int> start() const {
    const ModelConfig config = import();
    if (!config.generation.start_before_text) return std::nullopt;
    return config.decoder_start_token;
  }
  json exported(const std::string& file) const {
    fs::remove_all(folder_ / "out");
    export_hugging_face(model_, folder_ / "out");
    return json::parse(read_file(folder_ / "out" + file));
  }
};

/// Whatever the kind of the model.
TEST_F(CausalStart, FollowsThePostProcessor) {
  for (const char* model : {"gpt2", "llama"}) {
    use(model);
    for (const json& none : {json(), byte_level, template_of(json::array({text_part})),
                             json{{"type", "Sequence"}, {"processors", {byte_level}}}}) {
      set_post_processor(none);
      EXPECT_EQ(start(), std::nullopt) << none;
    }
    for (const json& one : {with_start, json{{"type", "Sequence"}, {"processors", {byte_level, with_start}}},
                            json{{"type", "Sequence"}, {"processors", {with_start, byte_level}}}}) {
      set_post_processor(one);
      EXPECT_EQ(start(), begin_id) << one;
    }
    change("tokenizer.json", [](json& t) { t.erase("post_processor"); });
    EXPECT_EQ(start(), std::nullopt);
    // transformers does not read add_bos_token if there is a tokenizer.json.
    change("tokenizer_config.json", [](json& t) { t["add_bos_token"] = true; });
    EXPECT_EQ(start(), std::nullopt);
  }
}

TEST_F(CausalStart, RefusesWhatPutsMoreAroundATextThanAStartToken) {
  const auto refuse_step = [&](const json& step, const std::string& part) {
    set_post_processor(step);
    refuse(part);
  };
  const json start = token_part("<b>");
  refuse_step(template_of(json::array({text_part, start})), "puts tokens after the text");
  refuse_step(template_of(json::array({start, text_part, start})), "puts tokens after the text");
  refuse_step(template_of(json::array({start, start, text_part})), "puts several tokens before the text");
  refuse_step(template_of(json::array({token_part("<x>"), text_part})), "which does not stand for one token");
  refuse_step(template_of(json::array({start, text_part}), json::array({1, 2})),
              "does not stand for one token");
  refuse_step(template_of(json::array({start, text_part}), json::array({-1})), "expected a whole number");
  refuse_step(template_of(json::array({start, text_part}), json::array({345})), "but the model has 345 tokens");
  refuse_step(template_of("x"), "is not a list of parts");
  refuse_step({{"type", "RobertaProcessing"}}, "post_processor is of the type 'RobertaProcessing'");
  refuse_step({{"type", "Sequence"}, {"processors", {with_start, with_start}}}, "has several steps");
  refuse_step("x", "post_processor is of the type '\"x\"'");
}

TEST_F(CausalStart, OfSentencePieceFollowsItsConfig) {
  use("llama_sentencepiece");
  const auto set = [&](const std::function<void(json&)>& edit) { change("tokenizer_config.json", edit); };
  EXPECT_EQ(start(), 1);
  set([](json& t) { t["add_bos_token"] = false; });
  EXPECT_EQ(start(), std::nullopt);
  set([](json& t) { t["add_bos_token"] = "yes"; });
  refuse("add_bos_token is \"yes\"; it must be true or false");
  set([](json& t) { t["add_bos_token"] = true, t["bos_token"] = {{"content", "</s>"}}; });
  EXPECT_EQ(start(), 2);
  set([](json& t) { t["bos_token"] = "<none>"; });
  refuse("bos_token is '<none>', which is not in the vocabulary");
  set([](json& t) { t["bos_token"] = nullptr; });
  EXPECT_EQ(start(), std::nullopt);
  set([](json& t) { t["add_eos_token"] = true; });
  refuse("add_eos_token is true");
  fs::remove(given_ + "/tokenizer_config.json");
  EXPECT_NE(warnings().find("has no add_bos_token"), std::string::npos);
  EXPECT_EQ(start(), 1);
  // A tokenizer.json is what transformers reads.
  change("tokenizer.json", [](json& t) { t["post_processor"] = nullptr; });
  EXPECT_EQ(start(), std::nullopt);
}

/// Nothing else names a start token, so that texts begin without one, and an empty one after an end token.
TEST_F(CausalStart, WithoutOne) {
  use("llama");
  set_post_processor(nullptr);
  fs::remove(given_ + "/generation_config.json");
  change("config.json", [](json& c) { c["bos_token_id"] = nullptr; });
  EXPECT_EQ(start(), std::nullopt);
  EXPECT_EQ(load_model_config(model_).decoder_start_token, end_id);
  const auto texts =
      Generator(model_, {.threads = 1}).generate(std::vector<std::string>{"", "the"}, {.max_tokens = 3});
  EXPECT_FALSE(texts[0].error || texts[1].error);
}

TEST_F(CausalStart, IsExportedAndImportedAgain) {
  for (const char* model : {"gpt2", "llama", "llama_sentencepiece"})
    for (const bool before_text : {true, false}) {
      use(model);
      ModelConfig config = import();
      config.generation.start_before_text = before_text;
      save_config(model_ + "/config.json", config);
      const json tokenizer = exported("/tokenizer.json");
      EXPECT_EQ(exported("/tokenizer_config.json").at("add_bos_token"), before_text);
      const std::string card = read_file(folder_ / "out/README.md");
      EXPECT_EQ(card.find("Texts begin with the start token") != std::string::npos, before_text) << card;
      fs::remove_all(folder_ / "again");
      import_hugging_face(folder_ / "out", folder_ / "again");
      const ModelConfig again = load_model_config(folder_ / "again");
      EXPECT_EQ(again.generation.start_before_text, before_text) << model;
      EXPECT_EQ(again.decoder_start_token, config.decoder_start_token) << model;
    }
}

class CausalSettings : public CausalFolder {
 protected:
  void set(const std::function<void(json&)>& edit) const { change("generation_config.json", edit); }
  /// Of the model that was imported.
  LanguageModelSettings settings() const {
    return settings_of<LanguageModelSettings>(load_model_config(model_));
  }
};

TEST_F(CausalSettings, OfGenerationConfigComeFirst) {
  set([](json& g) { g["eos_token_id"] = 7, g["bos_token_id"] = 8; });
  EXPECT_EQ(import().eos, 7);
  EXPECT_EQ(import().decoder_start_token, 8);
  set([](json& g) { g["eos_token_id"] = {9, 7, 9}; });
  EXPECT_EQ(warnings(), "");
  EXPECT_EQ(import().eos, 9);
  EXPECT_EQ(settings().more_ends, std::vector{7});
  set([](json& g) { g["bad_words_ids"] = {{7}, {8}, {9}}; });
  EXPECT_EQ(import().generation.suppress_tokens, std::vector{8}) << "no end token is suppressed";
  set([](json& g) { g.erase("bad_words_ids"); });
  set([](json& g) { g["eos_token_id"] = nullptr, g.erase("bos_token_id"); });
  EXPECT_EQ(import().eos, end_id) << "null is none, and config.json has one";
  EXPECT_EQ(import().decoder_start_token, end_id);
}

TEST_F(CausalSettings, WithoutAnEndTokenTheModelIsRefused) {
  change("config.json", [](json& c) { c["eos_token_id"] = nullptr; });
  set([](json& g) { g["eos_token_id"] = nullptr; });
  refuse("eos_token_id is null; a model without an end token can't be imported");
  change("config.json", [](json& c) { c.erase("eos_token_id"); });
  refuse("has no eos_token_id, and the default id, 50256, is not one of the model's 345 tokens");
  change("config.json", [](json& c) { c["eos_token_id"] = 100000; });
  refuse("eos_token_id has the id 100000, but the model has 345 tokens");
  for (const json& value : {json("x"), json(true), json(2.5), json::array({"x"}), json::object()}) {
    change("config.json", [&](json& c) { c["eos_token_id"] = value; });
    refuse("expected an id or a list of ids");
  }
  change("config.json", [](json& c) { c["eos_token_id"] = json::array(); });
  refuse("eos_token_id is empty");
}

TEST_F(CausalSettings, AreStored) {
  EXPECT_EQ(warnings(), "");
  EXPECT_EQ(settings().draw.temperature, 0) << "`generate` is greedy where nothing is said";
  set([](json& g) {
    g["suppress_tokens"] = {5, 6}, g["bad_words_ids"] = {{7}, {8, 9}}, g["min_new_tokens"] = 3;
    g["length_penalty"] = 0.5, g["early_stopping"] = true, g["renormalize_logits"] = true;
    g["temperature"] = 0.7, g["top_k"] = 20, g["max_length"] = 20, g["num_beams"] = 3, g["do_sample"] = false;
    g["begin_suppress_tokens"] = {4, 100000}, g["no_repeat_ngram_size"] = 3, g["typical_p"] = 0.5;
  });
  EXPECT_EQ(warnings(), "");
  const GenerationConfig rules = import().generation;
  EXPECT_EQ(rules.suppress_tokens, (std::vector<int>{7, 5, 6}));
  EXPECT_EQ(rules.suppress_phrases, (std::vector<std::vector<int>>{{8, 9}}));
  EXPECT_EQ(rules.begin_suppress_tokens, std::vector{4});
  EXPECT_EQ(rules.min_new_tokens, 3);
  EXPECT_EQ(rules.no_repeat_ngram, 3);
  EXPECT_EQ(rules.length_penalty, 0.5f);
  EXPECT_EQ(rules.normalization, ScoreNormalization::length);
  EXPECT_EQ(rules.stopping_criterion, StoppingCriterion::beam_finished);
  EXPECT_TRUE(rules.renormalize_logits);
  EXPECT_EQ(settings().draw.temperature, 0) << "without effect if nothing is drawn";
  EXPECT_EQ(settings().max_length, 20);
  EXPECT_EQ(settings().beam_size, 3);
  change("generation_config.json", [](json& g) {
    g = {{"eos_token_id", end_id}, {"do_sample", true},   {"temperature", 0.5}, {"top_p", 0.9},
         {"min_p", 0.1},           {"max_new_tokens", 9}, {"max_length", 20},   {"repetition_penalty", 1.5}};
  });
  EXPECT_EQ(warnings(), "");
  EXPECT_EQ(import().generation.max_new_tokens, 9);
  const LanguageModelSettings drawn = settings();
  EXPECT_EQ(drawn.max_length, 0) << "max_new_tokens comes first";
  EXPECT_EQ(drawn.draw.temperature, 0.5f);
  EXPECT_EQ(drawn.draw.top_k, 50) << "as `generate` where nothing is said";
  EXPECT_EQ(drawn.draw.top_p, 0.9f);
  EXPECT_EQ(drawn.draw.min_p, 0.1f);
  EXPECT_EQ(drawn.draw.repetition_penalty, 1.5f);
  EXPECT_EQ(drawn.beam_size, 0);
  set([](json& g) { g["of_the_future"] = 1; });
  EXPECT_NE(warnings().find("these settings are not known, so texts may differ from those of `generate`: "
                            "of_the_future 1"),
            std::string::npos);
}

TEST_F(CausalSettings, ThatAreNotSupportedAreRefused) {
  const auto refuse_setting = [&](const char* key, const json& value, const std::string& part) {
    refuse_with(
        "generation_config.json", [&](json& g) { g[key] = value, g["do_sample"] = true; }, part);
  };
  refuse_setting("stop_strings", "x", "these settings are not supported: stop_strings \"x\"");
  refuse_setting("typical_p", 0.5, "typical_p 0.5");
  refuse_setting("forced_eos_token_id", 3, "forced_eos_token_id 3");
  refuse_setting("min_length", 3, "min_length 3");
  refuse_setting("guidance_scale", 2.0, "guidance_scale 2.0");
  refuse_setting("num_beams", 2, "do_sample is true and num_beams is 2");
  refuse_setting("temperature", 0.0, "temperature is 0; it must be above 0");
  refuse_setting("temperature", 1e300, "temperature is 1e+300; it must be");
  refuse_setting("top_p", 1.5, "top_p is 1.5; it must be above 0 and at most 1");
  refuse_setting("min_p", 1, "min_p is 1; it must be from 0 to below 1");
  refuse_setting("repetition_penalty", 0, "repetition_penalty is 0; it must be above 0");
  refuse_setting("max_new_tokens", 0, "max_new_tokens");
  refuse_setting("bos_token_id", {1, 2}, "bos_token_id has 2 ids");
}

TEST_F(CausalSettings, OfAWrongTypeAreRefused) {
  for (const char* key : {"temperature", "top_k", "do_sample", "num_beams", "max_new_tokens", "suppress_tokens",
                          "min_new_tokens", "length_penalty", "early_stopping", "renormalize_logits", "min_p",
                          "max_length", "no_repeat_ngram_size", "repetition_penalty", "begin_suppress_tokens"})
    refuse_with(
        "generation_config.json",
        [&](json& g) {
          g["do_sample"] = true;
          g[key] = "x";
        },
        fmt::format("generation_config.json: {} is \"x\"", key));
}

TEST_F(CausalSettings, AreObeyed) {
  const json golden = json::parse(read_file(given_ + "/golden.json"));
  const std::vector<std::string> prompts{golden.at("prompt")};
  const int likeliest = golden.at("greedy").at(0);
  const auto generated = [&] {
    import();
    return Generator(model_, {.threads = 1})
        .generate(prompts, {.max_tokens = 4, .draw = {.temperature = 0}})[0]
        .texts[0];
  };
  const std::string usual = generated().text;
  set([&](json& g) { g["suppress_tokens"] = {likeliest}; });
  EXPECT_NE(generated().text, usual);
  set([&](json& g) { g["suppress_tokens"] = nullptr, g["eos_token_id"] = likeliest; });
  EXPECT_EQ(generated().tokens, 0u);
  set([&](json& g) { g["min_new_tokens"] = 2; });
  EXPECT_GE(generated().tokens, 2u);
  set([&](json& g) { g["min_new_tokens"] = nullptr, g["eos_token_id"] = {end_id, likeliest}; });
  EXPECT_EQ(generated().tokens, 0u) << "any of several end tokens";
  EXPECT_EQ(generated().reason, FinishReason::end_token);
  set([&](json& g) { g["min_new_tokens"] = 2; });
  EXPECT_GE(generated().tokens, 2u) << "none of them comes before";
}

/// What a call does not say is as stored; what it says comes first.
TEST_F(CausalSettings, AreDefaultsOfACall) {
  const json golden = json::parse(read_file(given_ + "/golden.json"));
  const std::vector<std::string> prompts{golden.at("prompt")};
  const auto generated = [&](const GenerateOptions& options) {
    return Generator(model_, {.threads = 1}).generate(prompts, options)[0];
  };
  set([](json& g) { g["max_new_tokens"] = 5; });
  import();
  const std::string greedy = generated({.draw = {.temperature = 0}}).texts[0].text;
  EXPECT_EQ(generated({}).texts[0].text, greedy);
  EXPECT_EQ(generated({}).texts[0].tokens, 5u);
  EXPECT_EQ(generated({.max_tokens = 7}).texts[0].tokens, 7u);
  EXPECT_NE(generated({.draw = {.temperature = 3}}).texts[0].text, greedy);
  set([](json& g) { g["max_new_tokens"] = nullptr, g["num_beams"] = 3; });
  import();
  EXPECT_EQ(generated({}).texts[0].text, generated({.beam_size = 3}).texts[0].text);
  EXPECT_EQ(generated({.beam_size = 0, .samples = 1}).texts.size(), 1u);
  EXPECT_EQ(generated({.draw = {.temperature = 0}}).texts[0].text.substr(0, greedy.size()), greedy)
      << "an option of drawing says that nothing is searched";
  set([](json& g) { g["num_beams"] = 1, g["max_length"] = 6; });
  import();
  const size_t tokens = generated({.max_tokens = 1}).prompt_tokens;
  ASSERT_LT(tokens, 6u);
  EXPECT_EQ(generated({}).texts[0].tokens, 6 - tokens) << "with the prompt";
  EXPECT_EQ(generated({.max_tokens = 7}).texts[0].tokens, 7u);
  set([](json& g) { g["max_length"] = 1; });
  import();
  EXPECT_NE(generated({}).error.value_or("").find("language_model.max_length"), std::string::npos);
}

/// What is never generated here is suppressed there.
TEST_F(CausalSettings, AreExported) {
  use("llama_sentencepiece");
  change("generation_config.json", [](json& g) { g["suppress_tokens"] = {9}, g["min_new_tokens"] = 3; });
  import();
  export_hugging_face(model_, folder_ / "out");
  const json settings = json::parse(read_file(folder_ / "out/generation_config.json"));
  EXPECT_EQ(settings.at("suppress_tokens"), std::vector{9});
  EXPECT_EQ(settings.at("min_new_tokens"), 3);
}

TEST_F(CausalSettings, AreExportedAsTheyWere) {
  const json all[] = {
      {{"do_sample", true},
       {"temperature", 0.6},
       {"top_k", 20},
       {"top_p", 0.95},
       {"min_p", 0.25},
       {"repetition_penalty", 1.1},
       {"max_new_tokens", 30}},
      {{"do_sample", false},
       {"max_length", 50},
       {"no_repeat_ngram_size", 3},
       {"begin_suppress_tokens", {3}},
       {"bad_words_ids", {{4, 5}}},
       {"suppress_tokens", {9}},
       {"min_new_tokens", 2}},
      {{"do_sample", false}, {"num_beams", 4}, {"length_penalty", 2.0}, {"early_stopping", true}}};
  for (json wanted : all) {
    wanted["eos_token_id"] = {end_id, 7};
    wanted["bos_token_id"] = end_id;
    change("generation_config.json", [&](json& g) { g = wanted; });
    import();
    const std::string out = folder_ / "out";
    std::filesystem::remove_all(out);
    export_hugging_face(model_, out);
    const json written = json::parse(read_file(out + "/generation_config.json"));
    EXPECT_EQ(written, wanted);
    EXPECT_EQ(json::parse(read_file(out + "/config.json")).at("eos_token_id"), wanted["eos_token_id"]);
  }
}

TEST_F(CausalSettings, OfTheTokenizerThatHaveNoEffectAreNamed) {
  change("tokenizer.json", [](json& t) {
    t["truncation"] = {{"max_length", 2}};
    t["padding"] = {{"pad_id", 5}};
  });
  const std::string named = warnings();
  EXPECT_NE(named.find("tokenizer.json: truncation has no effect"), std::string::npos) << named;
  EXPECT_NE(named.find("tokenizer.json: padding has no effect"), std::string::npos) << named;
}

/// GPT-2 reads no start token, so that a prompt may have as many tokens as the model has positions.
TEST_F(CausalSettings, APromptMayFillAllPositions) {
  import();
  const auto reason = [&](int tokens) {
    std::string prompt;
    for (int i = 0; i < tokens; ++i) prompt += "\n1"[i % 2];
    EXPECT_EQ(load_tokenizers(model_).source->encode_text(prompt).size(), static_cast<size_t>(tokens));
    return Generator(model_, {.threads = 1})
        .generate(std::vector<std::string>{prompt}, {.max_tokens = 2})[0]
        .error.value_or("");
  };
  EXPECT_EQ(reason(512), "");
  EXPECT_EQ(reason(513), "the prompt has 513 tokens, but the model reads at most 512 at once; shorten it");
}

/// The special tokens of an imported model are not those of its tokenizer; a run that starts from it keeps
/// them.
TEST_F(CausalSettings, StayThoseOfTheModelInARunThatStartsFromIt) {
  use("llama_sentencepiece");
  change("generation_config.json", [](json& g) { g["eos_token_id"] = 5; });
  const ModelConfig before = import();
  EXPECT_EQ(before.eos, 5);
  EXPECT_EQ(before.bos, -1);
  write_file_atomically(folder_ / "text", "the old dog\nsees a cat\n");
  LanguageModelOptions options;
  options.start.model = model_;
  options.data.train = {folder_ / "text"};
  options.data.unit = TextUnit::file;
  options.data.block_tokens = before.context_tokens;
  options.train.updates = 1, options.train.threads = 1;
  testing::internal::CaptureStderr();
  const std::string tuned = train(LanguageModelConfig(options), {.run = folder_ / "run"}).model;
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("model.dropout is 0.1 in this run; it was 0 in " + model_), std::string::npos) << log;
  ModelConfig after = load_model_config(tuned);
  EXPECT_EQ(after.dropout, 0.1f);
  after.dropout = before.dropout;
  EXPECT_EQ(to_json(write_options(after)), to_json(write_options(before)));
}

}  // namespace
}  // namespace sixfold
