#include "serve/models.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "error_message.h"
#include "serve/api/detect.h"
#include "serve/service_fixture.h"
#include "tasks/translation/routes/texts.h"

namespace sixfold::serve {
namespace {

using Json = nlohmann::json;

class ModelsTest : public ServiceFixture {
 protected:
  /// Serves translations from English to German alone.
  void serve_one_direction() {
    router_.reset();
    service_ =
        std::make_unique<Service>(std::vector{ModelSpec("en-de=" + en_de_)}, EngineSettings{.threads = 1},
                                  ServiceOptions{}, builtin_served_tasks());
    router_ = std::make_unique<Router>(*service_, all_routes(*service_));
  }
};

/// No model reads German, but a model writes it.
TEST_F(ModelsTest, ATextInTheTargetLanguageStaysAsItIs) {
  serve_one_direction();
  const std::string german = "Der alte Hund schläft vor dem Haus.";
  EXPECT_EQ(json(post("/detect", {{"q", german}}))[0]["language"], "de");
  const Json answer = json(post("/translate", {{"q", german}, {"source", "auto"}, {"target", "de"}}));
  EXPECT_EQ(answer["translatedText"], german);
  EXPECT_EQ(answer["detectedLanguage"]["language"], "de");
  EXPECT_GE(answer["detectedLanguage"]["confidence"], 50);
  const Json deepl =
      json(post("/v2/translate", {{"text", {german}}, {"target_lang", "DE"}}))["translations"][0];
  EXPECT_EQ(deepl, (Json{{"detected_source_language", "DE"}, {"text", german}}));
  EXPECT_EQ(json(post("/detect", {{"q", "12345"}}))[0], (Json{{"language", "en"}, {"confidence", 0}}));
  expect_refused(post("/detect", {{"q", std::string(2'000'000, 'a')}}), 413, "bytes");
  expect_refused(post("/translate", {{"q", "a"}, {"source", ""}, {"target", "de"}}), 400, "auto");
}

TEST_F(ModelsTest, AlignByTheLayerOfTheSettings) {
  const std::vector<std::string> texts{"a dog"};
  const auto layer_seen = [&](std::optional<int> of_server, std::optional<int> of_request) {
    const Models models({ModelSpec("en-de=" + en_de_)}, {.threads = 1, .alignment_layer = of_server},
                        builtin_served_tasks());
    const TextOptions options{.translation = {.details = {.attention = true, .layer = of_request}}};
    return translate_texts(*pair_of(models.all_of<ServedTranslation>()[0], "", ""), texts, options)[0]
        .sentences[0]
        .translations[0]
        .attention->layer;
  };
  EXPECT_EQ(layer_seen({}, {}), 0);  // of two, the last but one
  EXPECT_EQ(layer_seen(-1, {}), 1);
  EXPECT_EQ(layer_seen(1, 0), 0);
  EXPECT_NE(error_message([&] { layer_seen(2, {}); }).find("alignment_layer is 2"), std::string::npos);
}

TEST_F(ModelsTest, RefuseADamagedShortlistAtTheStart) {
  const std::string list = en_de_ + "/shortlist.safetensors";
  write_file_atomically(list, "words");
  expect_holds(error_message([&] { serve_one_direction(); }), list);
}

TEST_F(ModelsTest, SayTheSizesOfADecoderThatHasItsOwn) {
  const std::string other = folder_ / "other";
  write_small_model(other, 12, true, [](ModelConfig& config) { config.decoder_heads = 4; });
  start({}, {"en-fr=" + other});
  const Json same = json(get("/v1/models/en-de"))["architecture"],
             own = json(get("/v1/models/en-fr"))["architecture"];
  EXPECT_FALSE(same.contains("decoder_heads"));
  EXPECT_EQ(own["heads"], 2);
  EXPECT_EQ(own["decoder_heads"], 4);
  EXPECT_FALSE(own.contains("decoder_d_ff"));
}

TEST_F(ModelsTest, AreEnsembles) {
  const std::string second = folder_ / "second", plus = folder_ / "with+plus";
  write_small_model(second, 12);
  write_small_model(plus, 11);
  start({}, {"en-fr=" + en_de_ + "+" + second, "en-it=" + plus, "en-es=" + en_de_ + "+" + plus + "+" + second});
  const Translator alone(en_de_, {.threads = 1}), together(en_de_, {.threads = 1, .ensemble = {second}}),
      three(en_de_, {.threads = 1, .ensemble = {plus, second}});
  const std::string text = "a b c d";
  EXPECT_NE(together.translate(text), alone.translate(text));
  for (const auto& [target, wanted] :
       {std::pair("de", &alone), {"fr", &together}, {"it", &alone}, {"es", &three}}) {
    EXPECT_EQ(json(post("/translate", {{"q", text}, {"source", "en"}, {"target", target}}))["translatedText"],
              wanted->translate(text));
    const Json tagged = json(post(
        "/translate", {{"q", "<b>a b</b> c d"}, {"source", "en"}, {"target", target}, {"format", "html"}}));
    EXPECT_NE(tagged["translatedText"].get<std::string>().find("<b>"), std::string::npos);
  }
  EXPECT_EQ(json(get("/v1/models/en-es"))["ensemble_size"], 3);
  EXPECT_FALSE(json(get("/v1/models/en-de")).contains("ensemble_size"));
  const Json seen = json(post("/v1/translate", {{"text", text}, {"model", "en-fr"}, {"attention", true}}));
  EXPECT_EQ(seen, json(post("/v1/translate", {{"text", text}, {"model", "en-fr"}, {"attention", true}})));
  expect_refused(post("/v1/translate", {{"text", text}, {"model", "en-fr"}, {"confidence", true}}), 400,
                 "an ensemble has none");
  const auto message = [&](const std::string& spec) {
    return error_message([&] { Models({ModelSpec(spec)}, {}, builtin_served_tasks()); });
  };
  EXPECT_NE(message("en-de=" + en_de_ + "+").find("has no folder behind a '+'"), std::string::npos);
  EXPECT_NE(message("en-de=" + en_de_ + "++" + second).find("has no folder behind a '+'"), std::string::npos);
  EXPECT_NE(message("en-de=+" + en_de_).find("+" + en_de_ + ": there is no"), std::string::npos);
  EXPECT_NE(message("en-de=c++/model").find("c++/model: there is no"), std::string::npos);
  EXPECT_NE(message(en_de_ + "+" + second).find("write, for example, en-de=" + en_de_ + "+" + second),
            std::string::npos);
  std::filesystem::create_directories(folder_ / "a+run/model");
  EXPECT_NE(message("en-de=" + en_de_ + "+" + (folder_ / "a+run")).find(folder_ / "a+run"), std::string::npos);
  const std::string longest(150, 'x');
  EXPECT_NE(message("en-de=" + longest + "+" + longest).find("there is no"), std::string::npos);
  EXPECT_NE(message("en-de=" + en_de_ + "+" + (folder_ / "none")).find("none"), std::string::npos);
  EXPECT_NE(message("x=" + (folder_ / "text") + "+" + (folder_ / "text")).find("an ensemble is of models"),
            std::string::npos);
}

/// All languages are compared, in whichever order their models are served.
TEST(DetectLanguage, DoesNotDependOnTheOrderOfLanguages) {
  const auto first = [](const std::string& text, std::vector<std::string> languages) {
    const auto found = detect_language(text, languages);
    std::ranges::reverse(languages);
    EXPECT_EQ(detect_language(text, languages)[0].language,
              found[0].confidence == 0 ? languages[0] : found[0].language);
    return found[0];
  };
  const std::vector<std::string> both{"en", "de"};
  for (const char* german : {"Ich mag Spargel", "Ich mag Spargel.", "Hallo", "Hund", "Guten Morgen", "Berlin"})
    EXPECT_EQ(first(german, both).language, "de") << german;
  for (const char* english : {"I like asparagus", "Hello", "dog", "Two men"})
    EXPECT_EQ(first(english, both).language, "en") << english;
  EXPECT_EQ(first("Москва", {"en", "ru"}).language, "ru");
  EXPECT_LT(first("Ich mag Spargel", both).confidence, 60);  // it might be either
}

TEST(DetectLanguage, HasNoConfidenceWhereNothingSpeaksForALanguage) {
  const auto confidence = [](const std::string& text, const std::vector<std::string>& languages) {
    return detect_language(text, languages)[0].confidence;
  };
  EXPECT_EQ(confidence("Москва", {"en", "ja"}), 0);
  EXPECT_EQ(confidence("Привет, мир", {"ja", "de"}), 0);
  EXPECT_EQ(confidence("J'aime les asperges", {"en", "de"}), 0);
  EXPECT_EQ(confidence("Ja", {"de", "fr"}), 0);
  EXPECT_EQ(confidence("???", {"en", "de"}), 0);
}

/// Counters never fall, as Prometheus expects, and a model that is replaced counts until its last request ends.
TEST_F(ModelsTest, CountsGoOnWhenTheModelsAreLoadedAgain) {
  const auto tokens = [&] { return service_->models().counts()[0].counts.source_tokens; };
  const auto requests = [&] {
    uint64_t all = 0;
    const ModelCounts model = service_->models().counts()[0];
    for (const uint64_t count : model.counts.request_time.counts()) all += count;
    return all;
  };
  translated("a b c");
  EXPECT_EQ(tokens(), 4);
  TranslationModel held = required_pair(*service_, "en", "de").model;
  reload();
  EXPECT_EQ(tokens(), 4);
  held->predictor().translate("a b c d");
  EXPECT_EQ(tokens(), 4 + 5) << "of the model that was replaced";
  translated("a");
  held.reset();
  EXPECT_EQ(tokens(), 4 + 5 + 2);
  reload();
  EXPECT_EQ(tokens(), 4 + 5 + 2);
  EXPECT_EQ(requests(), 3u);
  const std::string text = get("/metrics").body;
  EXPECT_NE(text.find("sixfold:prompt_tokens_total{model_name=\"en-de\"} 11\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace sixfold::serve
