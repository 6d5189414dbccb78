// Models of many languages, which each request chooses.
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "error_message.h"
#include "program/small_model.h"
#include "serve/service_fixture.h"

namespace sixfold::serve {
namespace {

class LanguagesTest : public ServiceFixture {
 protected:
  /// A model with tokens for languages, of which the first two are those of its settings if `usual` is true.
  void write_model_of(const std::vector<std::string>& languages, const std::string& pattern, bool usual) {
    std::string text = "a b c d e f g h";
    for (std::string token : languages) text += " " + std::string(pattern).replace(pattern.find('*'), 1, token);
    const std::vector<std::string> words{text};
    TokenizerOptions options;
    options.kind = TokenizerKind::whitespace;
    write_small_model(many_, 11, make_tokenizers(options, words, words), [&](ModelConfig& config) {
      config.settings = write_options(TranslationSettings{.source_language = usual ? languages[0] : "",
                                                          .target_language = usual ? languages[1] : "",
                                                          .language_token = pattern});
      config.generation.min_new_tokens = 4;
    });
  }
  /// The translation of the library.
  std::string expected(const std::string& text, const std::string& source, const std::string& target) const {
    return Translator(many_, {.threads = 1})
        .translate(std::vector{text}, {.source_language = source, .target_language = target})[0];
  }
  std::string translated_by(const Json& request) const {
    return json(post("/v1/translate", request))["results"][0]["text"];
  }

  const std::string many_ = folder_ / "many-languages";
};

TEST_F(LanguagesTest, EachRequestChoosesItsLanguages) {
  write_model_of({"en", "de", "fr"}, "__*__", true);
  start({}, {"many=" + many_});
  std::set<std::string> texts;
  for (const std::string source : {"en", "de", "fr"})
    for (const std::string target : {"en", "de", "fr"}) {
      const std::string text = expected("a b c d", source, target);
      EXPECT_EQ(translated_by({{"text", "a b c d"}, {"model", "many"}, {"source", source}, {"target", target}}),
                text);
      texts.insert(text);
    }
  EXPECT_GT(texts.size(), 3u) << "languages change translations";
  EXPECT_EQ(translated_by({{"text", "a b"}, {"model", "many"}}), expected("a b", "en", "de"));
  EXPECT_EQ(translated_by({{"text", "a b"}, {"model", "many"}, {"target", "fr"}}), expected("a b", "en", "fr"));
  EXPECT_EQ(translated_by({{"text", "a b"}, {"source", "fr"}, {"target", "en"}}), expected("a b", "fr", "en"));
  EXPECT_EQ(translated_by({{"text", "a b"}, {"source", "en"}, {"target", "de"}}), translated("a b"))
      << "by the model that is given first";
  const Json documents =
      json(post("/translate", {{"q", "<p>a b</p>"}, {"source", "fr"}, {"target", "de"}, {"format", "html"}}));
  EXPECT_EQ(documents["translatedText"], "<p>" + expected("a b", "fr", "de") + "</p>");
  const Json deepl = json(
      post("/v2/translate", {{"text", {"a b"}}, {"source_lang", "EN"}, {"target_lang", "FR"}}))["translations"];
  EXPECT_EQ(deepl[0]["text"], expected("a b", "en", "fr"));
}

TEST_F(LanguagesTest, LanguagesAreListedAndOthersRefused) {
  write_model_of({"en", "de", "fr"}, "__*__", true);
  start({}, {"many=" + many_});
  Json all = json(get("/languages"));
  ASSERT_EQ(all.size(), 3u);
  for (const Json& one : all) {
    EXPECT_EQ(one["targets"].size(), 3u) << one;
    EXPECT_EQ(one["targets"][0], one["code"]);
  }
  EXPECT_EQ(json(get("/v2/languages")).size(), 3u);
  EXPECT_EQ(json(get("/v1/models/many"))["languages"], (Json{"de", "en", "fr"}));
  EXPECT_EQ(json(get("/v1/models/many"))["source"], "en");
  EXPECT_EQ(json(get("/v2/glossary-language-pairs"))["supported_languages"].size(), 2u + 6u);
  expect_refused(post("/v1/translate", {{"text", "a"}, {"model", "many"}, {"source", "en"}, {"target", "es"}}),
                 400, "The model many translates between any two of de, en, fr");
  expect_refused(
      post("/v1/translate", {{"text", "a"}, {"source", "en"}, {"target", "es"}}), 400,
      "There is no model from en to es; there are: en-de, de-en, many between any two of de, en, fr");
  expect_refused(post("/translate", {{"q", "a"}, {"source", "es"}, {"target", "fr"}}), 400, "no model from es");
  expect_refused(
      post("/v1/translate", {{"text", "a"}, {"model", "many"}, {"target", "fr"}, {"forced_first_token", 7}}),
      400, "choose target_language");
}

/// The requests of a batch may have different languages.
TEST_F(LanguagesTest, RequestsAtOnceKeepTheirLanguages) {
  write_model_of({"en", "de", "fr"}, "__*__", true);
  start({}, {"many=" + many_});
  const std::vector<std::string> codes{"en", "de", "fr"};
  std::atomic<int> wrong = 0, asked = 0;
  std::vector<std::thread> clients;
  for (size_t i = 0; i < 9; ++i)
    clients.emplace_back([&, source = codes[i / 3], target = codes[i % 3]] {
      const std::string right = expected("a b c d e f", source, target);
      for (int n = 0; n < 20; ++n, ++asked)
        wrong +=
            translated_by(
                {{"text", "a b c d e f"}, {"model", "many"}, {"source", source}, {"target", target}}) != right;
    });
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(asked, 180);
  EXPECT_EQ(wrong, 0);
}

TEST_F(LanguagesTest, CodesAreThoseOfClients) {
  write_model_of({"eng_Latn", "deu_Latn", "zho_Hans", "zho_Hant", "arb_Arab", "arz_Arab"}, "*", false);
  start({}, {many_});
  const Json model = json(get("/v1/models/many-languages"));
  EXPECT_EQ(model["languages"], (Json{"ar", "arz", "de", "en", "zh", "zh-Hant"}));
  EXPECT_FALSE(model.contains("source"));
  EXPECT_EQ(translated_by({{"text", "a b"}, {"source", "zh-Hant"}, {"target", "ar"}}),
            expected("a b", "zho_Hant", "arb_Arab"));
  EXPECT_EQ(translated_by({{"text", "a b"}, {"source", "zho_Hant"}, {"target", "arb_Arab"}}),
            expected("a b", "zho_Hant", "arb_Arab"))
      << "the model's own codes too";
  EXPECT_EQ(translated_by({{"text", "a b"}, {"source", "zh-TW"}, {"target", "en-US"}}),
            expected("a b", "zho_Hant", "eng_Latn"));
  expect_refused(post("/v1/translate", {{"text", "a"}, {"model", "many-languages"}}), 400,
                 "translates between any two of ar, arz, de, en, zh, zh-Hant");
  for (const auto& [own, code] : {std::pair("en_XX", "en"),
                                  {"de_DE", "de"},
                                  {"pt_XX", "pt"},
                                  {"kas_Deva", "ks-Deva"},
                                  {"pt-BR", "pt"},
                                  {"ar_AR", "ar"},
                                  {"zh-TW", "zh-Hant"},
                                  {"tl_XX", "fil"},
                                  {"zho_Hans", "zh"},
                                  {"ceb", "ceb"}})
    EXPECT_EQ(client_code(own), code);
}

/// A text that is in the target language stays, in whatever spelling.
TEST_F(LanguagesTest, OneLanguageInTwoSpellings) {
  write_model_of({"eng_Latn", "deu_Latn", "por_Latn", "pt-BR"}, "*", false);
  start({}, {many_});
  const auto written = [&](const char* source, const char* target) {
    return json(post("/translate",
                     {{"q", "the house is a b"}, {"source", source}, {"target", target}}))["translatedText"];
  };
  for (const auto& [source, target] : {std::pair("en", "en"),
                                       {"en", "en-US"},
                                       {"eng_Latn", "en"},
                                       {"en-GB", "eng_Latn"},
                                       {"auto", "en"},
                                       {"auto", "eng_Latn"},
                                       {"auto", "en-US"}})
    EXPECT_EQ(written(source, target), "the house is a b") << source << " " << target;
  EXPECT_NE(written("en", "deu_Latn"), "the house is a b");
  const Json deepl =
      json(post("/v2/translate", {{"text", {"a b"}}, {"source_lang", "EN"}, {"target_lang", "EN-US"}}));
  EXPECT_EQ(deepl["translations"][0]["text"], "a b");
  expect_refused(post("/translate", {{"q", "a"}, {"source", "es"}, {"target", "es-MX"}}), 400,
                 "no model from es");
}

/// A model that was trained for some pairs serves these.
TEST_F(LanguagesTest, DirectionsAreThoseOfTheTraining) {
  const std::vector<std::string> words{"a b c d e f g h >>de<< >>fr<< >>en<< >>pt-BR<<"};
  TokenizerOptions options;
  options.kind = TokenizerKind::whitespace;
  write_small_model(many_, 11, make_tokenizers(options, words, words), [&](ModelConfig& config) {
    TranslationSettings settings;
    settings.directions = {"en-de", "en-fr", "de-en", "en-pt-BR"};
    config.settings = write_options(settings);
    config.generation.min_new_tokens = 4;
  });
  start({}, {"hub=" + many_});
  const Json entry = json(get("/v1/models/hub"));
  EXPECT_EQ(entry["pairs"], (Json{"en-de", "en-fr", "de-en", "en-pt-BR"}));
  EXPECT_EQ(entry["languages"], (Json{"en", "de", "fr", "pt-BR"}));
  for (const char* code : {"pt-BR", "pt_BR", "pt-br", "PT-BR"})
    EXPECT_EQ(translated_by({{"text", "a b"}, {"source", "en"}, {"target", code}}),
              expected("a b", "en", "pt-BR"));
  EXPECT_EQ(translated_by({{"text", "a b"}, {"model", "hub"}, {"source", "en"}, {"target", "fr"}}),
            expected("a b", "en", "fr"));
  EXPECT_EQ(translated_by({{"text", "a b"}, {"source", "en"}, {"target", "fr"}}), expected("a b", "en", "fr"));
  for (const Json& one : json(get("/languages"))) {
    const std::string code = one["code"];
    EXPECT_EQ(one["targets"].size(), code == "en" ? 4u : code == "de" ? 2u : 1u) << one;
  }
  expect_refused(post("/v1/translate", {{"text", "a"}, {"model", "hub"}, {"source", "de"}, {"target", "fr"}}),
                 400, "The model hub translates en-de, en-fr, de-en, en-pt-BR;");
  expect_refused(post("/v1/translate", {{"text", "a"}, {"source", "de"}, {"target", "fr"}}), 400,
                 "hub en-de, en-fr, de-en, en-pt-BR");
  expect_refused(post("/v1/translate", {{"text", "a"}, {"model", "hub"}}), 400, "must be among them");
  EXPECT_EQ(json(get("/v2/glossary-language-pairs"))["supported_languages"].size(), 2u + 4u);
}

TEST_F(LanguagesTest, ALanguageOfTheSettingsMustBeOneOfTheModels) {
  write_model_of({"en", "de"}, "__*__", false);
  ModelConfig config = load_model_config(many_);
  TranslationSettings settings = settings_of<TranslationSettings>(config);
  settings.source_language = "fr";
  config.settings = write_options(settings);
  save_model(Transformer(config, make_backend(), DType::f32, 1), many_);
  EXPECT_NE(error_message([&] {
              Models({ModelSpec("many=" + many_)}, {}, builtin_served_tasks());
            }).find("the language 'fr' of its config.json is not one of the model's"),
            std::string::npos);
}

// Models of one pair.

using ServiceTest = ServiceFixture;

TEST_F(ServiceTest, RefusesLanguagesThatAreNotTheModels) {
  const Json request{{"text", "a"}, {"model", "en-de"}};
  const auto with = [&](const char* field, const Json& value) {
    Json changed = request;
    changed[field] = value;
    return post("/v1/translate", changed);
  };
  EXPECT_EQ(with("source", "en").status, 200);
  expect_refused(with("source", "fr"), 400, "The model en-de translates from en to de");
  expect_refused(with("target", "en"), 400, "The model en-de translates from en to de");
  expect_refused(with("target", 7), 400, "\\\"target\\\" must be a text");
}

/// A text in the language that is wanted stays as it is, if there is such a language.
TEST_F(ServiceTest, TheSameLanguageMustBeKnown) {
  const auto ask_for = [&](const std::string& language, const std::string& text) {
    return post("/translate", {{"q", text}, {"source", language}, {"target", language}});
  };
  EXPECT_EQ(json(ask_for("de", "x y"))["translatedText"], "x y");
  expect_refused(ask_for("xx", "x y"), 400, "There is no model from xx to xx");
  start({.max_text_bytes = 10});
  expect_refused(ask_for("de", std::string(11, 'a')), 413, "11 bytes");
}

TEST_F(ServiceTest, AModelMaySayItsLanguages) {
  const std::string named = folder_ / "named";
  write_small_model(named, 1, true, [](ModelConfig& config) {
    config.settings = write_options(TranslationSettings{"pt-BR", "nb"});
  });
  const Models models({ModelSpec(named)}, {}, builtin_served_tasks());
  EXPECT_EQ(models.all()[0]->name, "pt-BR-nb");
  EXPECT_TRUE(pair_of(models.all_of<ServedTranslation>()[0], "pt-BR", "nb"));
  EXPECT_EQ(
      Models({ModelSpec("en-de=" + named)}, {}, builtin_served_tasks()).all_of<ServedTranslation>()[0]->source,
      "en")
      << "what is given counts";
}

}  // namespace
}  // namespace sixfold::serve
