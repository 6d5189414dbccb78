#include "serve/service.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "base/file.h"
#include "error_message.h"
#include "serve/http/http_server.h"
#include "serve/raw_client.h"
#include "serve/service_fixture.h"

namespace sixfold::serve {
namespace {

using Json = nlohmann::json;

using ServiceTest = ServiceFixture;

TEST_F(ServiceTest, TranslatesAsLibreTranslateDoes) {
  const Json request{{"q", "a b c"}, {"source", "en"}, {"target", "de"}};
  EXPECT_EQ(json(post("/translate", request)), (Json{{"translatedText", translated("a b c")}}));
  const auto form = "application/x-www-form-urlencoded; charset=utf-8";
  EXPECT_EQ(json(post_text("/translate", "q=a+b%20c&source=en&target=de", form)),
            (Json{{"translatedText", translated("a b c")}}));
  Json several = request;
  several["q"] = {"a b", "", "c d e"};
  EXPECT_EQ(json(post("/translate", several)),
            (Json{{"translatedText", {translated("a b"), "", translated("c d e")}}}));
  several["q"] = Json::array();
  EXPECT_EQ(json(post("/translate", several)), (Json{{"translatedText", Json::array()}}));
  Json same = request;
  same["target"] = "en";
  EXPECT_EQ(json(post("/translate", same))["translatedText"], "a b c") << "in the language that is asked for";
  Json more = request;
  more["alternatives"] = 2;
  const Json answer = json(post("/translate", more));
  EXPECT_EQ(answer["translatedText"], translated("a b c"));
  ASSERT_EQ(answer["alternatives"].size(), 2u);
  EXPECT_NE(answer["alternatives"][0], answer["translatedText"]);
}

TEST_F(ServiceTest, KeepsLinesAndSpacing) {
  const std::string text = "  a b c. D e\n\n\tb\r\n \n";
  const Json answer =
      json(post("/translate", {{"q", text}, {"source", "en"}, {"target", "de"}}))["translatedText"];
  EXPECT_EQ(answer,
            "  " + translated("a b c.") + " " + translated("D e") + "\n\n\t" + translated("b") + "\r\n \n");
}

TEST_F(ServiceTest, FindsTheLanguage) {
  const Json detections = json(post("/detect", {{"q", "Der alte Hund schläft vor dem Haus."}}));
  EXPECT_EQ(detections[0]["language"], "de");
  EXPECT_GE(detections[0]["confidence"], 50);
  const Json answer =
      json(post("/translate",
                {{"q", {"The old dog sleeps in front of the house.", "Der alte Hund schläft vor dem Haus."}},
                 {"source", "auto"},
                 {"target", "de"}}));
  EXPECT_EQ(answer["detectedLanguage"][0]["language"], "en");
  EXPECT_EQ(answer["detectedLanguage"][1]["language"], "de");
  EXPECT_EQ(answer["translatedText"][1], "Der alte Hund schläft vor dem Haus.");
}

/// A text is not taken for one of a language that only other models write, since nothing could translate it.
TEST_F(ServiceTest, DetectsALanguageThatIsTranslatedIntoTheTarget) {
  start({}, {"en-fr=" + en_de_});
  const Json answer =
      json(post("/translate", {{"q", {"Des Moines", "The old dog sleeps in front of the house."}},
                               {"source", "auto"},
                               {"target", "de"}}));
  for (const Json& detected : answer["detectedLanguage"]) EXPECT_NE(detected["language"], "fr");
  EXPECT_EQ(json(post("/v2/translate", {{"text", {"two young women walk", "Der Hund läuft über die Straße."}},
                                        {"target_lang", "FR"}}))["translations"]
                .size(),
            2u);
}

TEST_F(ServiceTest, SaysWhatItOffers) {
  const Json languages = json(get("/languages"));
  ASSERT_EQ(languages.size(), 2u);
  EXPECT_EQ(languages[0], (Json{{"code", "en"}, {"name", "English"}, {"targets", {"en", "de"}}}));
  EXPECT_EQ(json(get("/health")), (Json{{"status", "ok"}}));
  EXPECT_EQ(json(get("/frontend/settings"))["keyRequired"], false);
  const Json models = json(get("/v1/models"))["data"];
  EXPECT_GT(models[0]["created"].get<int64_t>(), 1'700'000'000) << "OpenAI's client needs it";
  ASSERT_EQ(models.size(), 3u);
  EXPECT_EQ(models[0]["id"], "en-de");
  EXPECT_EQ(models[2]["id"], "text");
}

TEST_F(ServiceTest, RefusesWhatDoesNotFitByName) {
  const auto refused = [&](const Json& request, const std::string& part) {
    const HttpAnswer answer = post("/translate", request);
    expect_refused(answer, 400, part);
    EXPECT_TRUE(Json::parse(answer.body)["error"].is_string());
  };
  const Json good{{"q", "a"}, {"source", "en"}, {"target", "de"}};
  const auto with = [&](const char* key, const Json& value) {
    Json changed = good;
    changed[key] = value;
    return changed;
  };
  refused({{"source", "en"}, {"target", "de"}}, "The request has no \\\"q\\\"");
  refused(with("q", 5), "\\\"q\\\" must be a text or a list of texts");
  refused(with("q", {"a", 5}), "\\\"q\\\" must be a text or a list of texts");
  refused(with("target", "fr"), "There is no model from en to fr; there are: en-de, de-en");
  refused(with("target", {"de"}), "\\\"target\\\" must be a text");
  refused(with("format", "pdf"), "\\\"format\\\" must be one of");
  refused(with("alternatives", -1), "\\\"alternatives\\\" must be a whole number from 0 to 10");
  refused(with("alternatives", 1e300), "\\\"alternatives\\\"");
  refused(Json::array({1}), "must be a JSON object");
  expect_refused(post_text("/translate", "{"), 400, "not valid JSON");
  expect_refused(post_text("/translate", std::string(100'000, '[')), 400, "The body: ");
  expect_refused(post_text("/translate", "{\"q\": \"\xFF\"}"), 400, "not valid JSON");
  expect_refused(post_text("/translate", "q=%FF&source=en&target=de", "application/x-www-form-urlencoded"), 400,
                 "not valid UTF-8");
  for (const Json& text : {Json(std::string("a\0b", 3)), Json{"a", std::string(1, '\0')}}) {
    expect_refused(post("/translate", {{"q", text}, {"source", "en"}, {"target", "de"}}), 400, "NUL");
    expect_refused(post("/v1/translate", {{"text", text}, {"source", "en"}, {"target", "de"}}), 400, "NUL");
    expect_refused(post("/v2/translate", {{"text", text}, {"target_lang", "de"}}), 400, "NUL");
  }
  expect_refused(post_text("/translate", "<q/>", "text/xml"), 415, "application/json");
  const HttpAnswer other_method = get("/translate");
  expect_refused(other_method, 405, "POST");
  EXPECT_NE(std::find(other_method.headers.begin(), other_method.headers.end(),
                      std::pair<std::string, std::string>("Allow", "POST, OPTIONS")),
            other_method.headers.end());
  EXPECT_NE(get("/v2/none").body.find("\"message\""), std::string::npos);
  expect_refused(get("/../../etc/passwd"), 404, "This server has no /../../etc/passwd");
  expect_refused(post("/suggest", {{"q", "a"}}), 403, "no suggestions");
}

TEST_F(ServiceTest, BoundsTexts) {
  start({.max_texts = 3, .max_text_bytes = 100, .max_waiting_bytes = 1000});
  const auto ask_for = [&](const Json& texts) {
    return post("/translate", {{"q", texts}, {"source", "en"}, {"target", "de"}});
  };
  expect_refused(ask_for({"a", "b", "c", "d"}), 400, "at most 3 texts");
  expect_refused(ask_for(std::string(101, 'a')), 413, "101 bytes; at most 100");
  EXPECT_EQ(ask_for(std::string(100, 'a')).status, 200);
  start({.max_waiting_bytes = 50});
  const HttpAnswer busy = ask_for(std::string(51, 'a'));
  expect_refused(busy, 503, "Too many texts wait");
  EXPECT_NE(std::find(busy.headers.begin(), busy.headers.end(),
                      std::pair<std::string, std::string>("Retry-After", "1")),
            busy.headers.end());
  EXPECT_EQ(ask_for("a").status, 200) << "the refused request takes no place";
}

/// More alternatives than the beam is wide make it wider, whatever the model's settings say.
TEST_F(ServiceTest, GivesAsManyAlternativesAsAreWanted) {
  const int beam = required_pair(*service_, "en", "de").model->predictor().config().generation.beam_size;
  const Json answer =
      json(post("/translate", {{"q", "a b c"}, {"source", "en"}, {"target", "de"}, {"alternatives", 10}}));
  EXPECT_GT(answer["alternatives"].size(), static_cast<size_t>(beam));
  const Json own = json(post("/v1/translate", {{"text", "a b c"}, {"model", "en-de"}, {"n_best", 11}}));
  EXPECT_EQ(own["results"][0]["sentences"][0]["translations"].size(), answer["alternatives"].size() + 1);
  expect_refused(
      post("/v1/translate", {{"text", "a b c"}, {"model", "en-de"}, {"n_best", 5}, {"beam_size", 4}}), 400,
      "n_best is 5, but beam_size is 4");
}

/// What is misspelt would silently change nothing.
TEST_F(ServiceTest, RefusesUnknownFields) {
  expect_refused(post("/v1/translate", {{"text", "a"}, {"model", "en-de"}, {"n_bset", 2}}), 400,
                 "\\\"n_bset\\\" is not a field of /v1/translate");
  expect_refused(post("/v1/completions", {{"model", "text"}, {"max_token", 2}}), 400,
                 "\\\"max_token\\\" is not a field of /v1/completions");
  json(post("/v1/completions", {{"model", "text"}, {"max_token", nullptr}, {"user", "me"}}));
}

TEST_F(ServiceTest, TellsWhichSentencesWereCut) {
  std::string text;
  for (int i = 0; i < 1100; ++i) text += "a ";
  const auto cut_of = [](const HttpAnswer& answer) {
    for (const auto& [name, value] : answer.headers)
      if (name == "X-Sixfold-Cut") return value;
    return std::string();
  };
  const Json plain{{"q", {text, "a"}}, {"source", "en"}, {"target", "de"}};
  EXPECT_EQ(cut_of(post("/translate", plain)), "1");
  Json html = plain;
  html["format"] = "html";
  EXPECT_EQ(cut_of(post("/translate", html)), "1");
  EXPECT_EQ(
      cut_of(post("/v2/translate", {{"text", {text, text}}, {"source_lang", "EN"}, {"target_lang", "DE"}})),
      "2");
  EXPECT_EQ(cut_of(post("/translate", {{"q", "a"}, {"source", "en"}, {"target", "de"}})), "");
  EXPECT_NE(get("/metrics").body.find("\nsixfold:sentences_cut_total{model_name=\"en-de\"} 4\n"),
            std::string::npos);
}

TEST(RateLimitedWarning, TellsOnceAMinuteHowManyThereWere) {
  RateLimitedWarning warning;
  const RateLimitedWarning::Clock::time_point begin{};
  EXPECT_EQ(warning.add(2, begin), 2u);
  EXPECT_EQ(warning.add(3, begin + std::chrono::seconds(59)), std::nullopt);
  EXPECT_EQ(warning.add(4, begin + std::chrono::seconds(60)), 7u);
  EXPECT_EQ(warning.add(1, begin + std::chrono::seconds(61)), std::nullopt);
}

/// A form is read as browsers write it; a value may occur twice, and may hold "=".
TEST_F(ServiceTest, ReadsForms) {
  const std::string form = "application/x-www-form-urlencoded";
  EXPECT_EQ(json(post_text("/v2/translate", "text=a+b&text=c&text=a+b&target_lang=de&source_lang=en",
                           form))["translations"]
                .size(),
            3u);
  EXPECT_EQ(json(post_text("/translate", "q=a+=+b&source=en&target=de", form)),
            json(post("/translate", {{"q", "a = b"}, {"source", "en"}, {"target", "de"}})));
  using Form = std::multimap<std::string, std::string>;
  EXPECT_EQ(parse_form("a=1&a=%32&b=c%3Dd=e&c&=d&&%zz=%4"),
            (Form{{"a", "1"}, {"a", "2"}, {"b", "c=d=e"}, {"c", ""}, {"", "d"}, {"%zz", "%4"}}));
}

TEST_F(ServiceTest, AsksForKeys) {
  const std::string keys = folder_ / "keys";
  write_file_atomically(keys, "\xEF\xBB\xBF# of the team\nsecret # all of us\nslow 2 # a guest\nwith#mark\n");
  start({.keys = keys});
  Json request{{"q", "a"}, {"source", "en"}, {"target", "de"}};
  expect_refused(post("/translate", request), 403, "needs an API key");
  request["api_key"] = "wrong";
  expect_refused(post("/translate", request), 403, "not known");
  request["api_key"] = "secret";
  for (int i = 0; i < 5; ++i) EXPECT_EQ(post("/translate", request).status, 200);
  request["api_key"] = "slow";
  for (int i = 0; i < 2; ++i) EXPECT_EQ(post("/translate", request).status, 200);
  expect_refused(post("/translate", request), 429, "More than 2 requests");
  EXPECT_EQ(get("/languages").status, 200) << "needs no key";
  const HttpRequest bearer{
      .method = "POST",
      .path = "/v1/translate",
      .headers = {{"content-type", "application/json"}, {"authorization", "Bearer secret"}},
      .body = R"({"text": "a", "source": "en", "target": "de"})"};
  EXPECT_EQ(ask(bearer).status, 200);
  HttpRequest other = bearer;
  other.headers["authorization"] = "bearer with#mark";
  EXPECT_EQ(ask(other).status, 200);
  write_file_atomically(keys, "a%41\n");
  EXPECT_NE(error_message([&] { ApiKeys{keys}; }).find(":1: a key has no '%'"), std::string::npos);
}

TEST_F(ServiceTest, TellsAllAboutATranslation) {
  const Json answer = json(post("/v1/translate", {{"text", {"a b c. D", "d"}},
                                                  {"model", "en-de"},
                                                  {"n_best", 2},
                                                  {"tokens", true},
                                                  {"alignment", true},
                                                  {"attention", true}}));
  EXPECT_EQ(answer["model"], "en-de");
  ASSERT_EQ(answer["results"].size(), 2u);
  const Json& sentences = answer["results"][0]["sentences"];
  ASSERT_EQ(sentences.size(), 2u);
  EXPECT_EQ(sentences[0]["source"], "a b c.");
  EXPECT_EQ(answer["results"][0]["text"], translated("a b c.") + " " + translated("D"));
  const Json& best = sentences[0]["translations"][0];
  EXPECT_EQ(sentences[0]["translations"].size(), 2u);
  EXPECT_GE(best["score"], sentences[0]["translations"][1]["score"]);
  double sum = 0;
  for (const Json& token : best["tokens"]) sum += token["log_probability"].get<double>();
  EXPECT_NEAR(sum, best["log_probability"].get<double>(), 1e-4);
  const Json& attention = best["attention"];
  EXPECT_EQ(attention["weights"].size(),
            attention["heads"].get<size_t>() * attention["source"].size() * attention["target"].size());
  expect_refused(post("/v1/translate", {{"text", "a"}, {"model", "text"}}), 400, "does not translate");
  expect_refused(post("/v1/translate", {{"text", "a"}, {"model", "none"}}), 404, "no model named none");
  expect_refused(post("/v1/translate", {{"text", "a"}, {"model", "en-de"}, {"layer", 0}}), 400,
                 "layer has no effect");
}

TEST_F(ServiceTest, TellsWhatThePageShows) {
  Json request{{"text", "a b c"}, {"model", "en-de"}, {"n_best", 2}};
  const Json plain = json(post("/v1/translate", request));
  request["all_attention"] = request["search"] = true;
  const Json full = json(post("/v1/translate", request)), line = full["results"][0]["sentences"][0];
  EXPECT_EQ(full["results"][0]["text"], plain["results"][0]["text"]);
  ASSERT_EQ(line["translations"].size(), 2u);
  EXPECT_EQ(line["translations"][0]["score"], plain["results"][0]["sentences"][0]["translations"][0]["score"]);
  EXPECT_EQ(line["translations"][0]["all_attention"].size(), 5u);  // 1 + 2 * 2 layers
  EXPECT_FALSE(line["translations"][1].contains("all_attention"));
  EXPECT_TRUE(line["search"][0][0]["parent"].is_null());
  EXPECT_NE(line["search"].dump().find("\"finished\""), std::string::npos);
  const auto refused = [&](const Json& change, const std::string& part) {
    Json changed = request;
    changed.update(change);
    expect_refused(post("/v1/translate", changed), 400, part);
  };
  refused({{"text", "a\nb"}}, "a single text of one line");
  refused({{"text", {"a", "b"}}}, "a single text of one line");
  refused({{"split_sentences", true}}, "split_sentences");
  std::string longer = "a";
  for (int i = 0; i < 70; ++i) longer += " b";
  refused({{"text", longer}}, "at most 64");
  start({.max_observed_tokens = 0});
  refused(Json::object(), "observed_tokens is 0");
}

TEST_F(ServiceTest, DescribesModels) {
  const Json all = json(get("/v1/models"));
  EXPECT_EQ(all["key_needed"], false);
  EXPECT_EQ(json(get("/v1/models/en-de")), all["data"][0]);
  EXPECT_EQ(all["data"][0]["architecture"]["heads"], 2);
  EXPECT_EQ(all["data"][0]["source_name"], "English");
  EXPECT_EQ(all["data"][2]["kind"], "language model");
  expect_refused(get("/v1/models/none"), 404, "no model named none");
  expect_refused(get(std::string("/health\0x", 9)), 404, "no /health\uFFFDx.");
  HttpRequest request{.method = "GET", .path = "/v1/models/en-de/positions", .query = {{"count", "3"}}};
  const Json positions = json(ask(request));
  EXPECT_EQ(positions["kind"], "sinusoidal");
  EXPECT_EQ(positions["positions"], 3);
  ASSERT_EQ(positions["encodings"].size(), 3u * 8);
  EXPECT_NEAR(positions["encodings"][8].get<double>(), std::sin(1), 1e-4);
  ASSERT_EQ(positions["similarity"].size(), 9u);
  for (const size_t i : {0, 4, 8}) EXPECT_EQ(positions["similarity"][i], 1.0);
  EXPECT_EQ(positions["similarity"][1], positions["similarity"][3]);
  request.query = {{"count", "257"}};
  expect_refused(ask(request), 400, "count");
}

/// A page's files are kept by browsers until they change.
TEST_F(ServiceTest, HasAPage) {
  const HttpAnswer page = get("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
  HttpRequest again{.method = "GET", .path = "/"};
  for (const auto& [name, value] : page.headers)
    if (name == "ETag") again.headers = {{"if-none-match", value}};
  EXPECT_EQ(ask(again).status, 304);
  expect_refused(get("/page/../service.cc"), 404, "no such page");
  start({.page = false});
  EXPECT_EQ(get("/").status, 404);
  EXPECT_EQ(get("/page/index.js").status, 404);
}

TEST_F(ServiceTest, CountsWhatItDoes) {
  json(post("/translate", {{"q", "a b c"}, {"source", "en"}, {"target", "de"}}));
  post("/translate", {{"q", 1}});
  get("/no/such/address");
  const std::string text = get("/metrics").body;
  const auto has = [&](const std::string& line) {
    EXPECT_NE(text.find("\n" + line + "\n"), std::string::npos) << text;
  };
  has("sixfold:http_requests_total{endpoint=\"/translate\",status=\"200\"} 1");
  has("sixfold:http_requests_total{endpoint=\"/translate\",status=\"400\"} 1");
  has("sixfold:http_requests_total{endpoint=\"other\",status=\"404\"} 1");
  has("sixfold:num_requests_in_flight 1");                     // the one for the metrics
  has("sixfold:prompt_tokens_total{model_name=\"en-de\"} 4");  // with the end token
  has("sixfold:request_queue_time_seconds_count{model_name=\"en-de\"} 1");
  has("sixfold:time_to_first_token_seconds_bucket{model_name=\"en-de\",le=\"+Inf\"} 1");
  has("sixfold:num_requests_running{model_name=\"en-de\"} 0");
  has("# TYPE sixfold:batch_fill_ratio histogram");
}

TEST(Metrics, LabelsAreEscaped) {
  const std::vector<ModelCounts> models{{"a\"b\\c\nd", {}}};
  const std::string text = Metrics().text(models, 0);
  EXPECT_NE(text.find(R"({model_name="a\"b\\c\nd"} 0)"), std::string::npos) << text;
}

TEST_F(ServiceTest, LoadsModelsAgain) {
  const std::string before = translated("a b c d e");
  const TranslationModel held = required_pair(*service_, "en", "de").model;
  std::filesystem::remove_all(en_de_);
  write_small_model(en_de_, 13);
  reload();
  EXPECT_NE(translated("a b c d e"), before);
  EXPECT_EQ(held->predictor().translate("a b c d e"), before) << "a request that has begun keeps its model";
  std::filesystem::remove_all(de_en_);
  EXPECT_NE(error_message([&] { reload(); }).find(de_en_), std::string::npos);
  EXPECT_EQ(service_->models().all().size(), 3u) << "the old ones go on";
}

/// Many clients at once get what each would get alone, over real connections.
TEST_F(ServiceTest, ManyClientsGetTheirOwnAnswers) {
  HttpServer server({.port = 0}, [&](const HttpRequest& request) { return ask(request); });
  std::thread serving([&] { server.run(); });
  const std::vector<std::string> texts{"a", "a b", "h g f e", "c c c c c c", "d e f g h a b c"};
  std::vector<std::string> expected;
  for (const std::string& text : texts) expected.push_back(translated(text));
  std::vector<std::thread> clients;
  std::atomic<int> wrong{0};
  for (size_t client = 0; client < 8; ++client)
    clients.emplace_back([&, client] {
      for (size_t i = 0; i < 20; ++i) {
        const size_t which = (client + i) % texts.size();
        const RawClient connection(server.port());
        const std::string body = Json{{"q", texts[which]}, {"source", "en"}, {"target", "de"}}.dump();
        connection.send(
            "POST /translate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nConnection: "
            "close\r\nContent-Length: " +
            std::to_string(body.size()) + "\r\n\r\n" + body);
        const std::string answer = connection.receive(20'000);
        const std::string wanted = Json{{"translatedText", expected[which]}}.dump();
        wrong += !answer.ends_with("\r\n\r\n" + wanted);
      }
    });
  for (std::thread& client : clients) client.join();
  server.stop(std::chrono::milliseconds(1000));
  serving.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(ServiceTest, RefusesModelsThatItCantServe) {
  const auto message = [&](const std::string& spec) {
    return error_message([&] { Models({ModelSpec(spec)}, {}, builtin_served_tasks()); });
  };
  EXPECT_NE(message(en_de_).find("does not say between which languages"), std::string::npos);
  EXPECT_NE(message("english=" + en_de_).find("does not name two languages"), std::string::npos);
  EXPECT_NE(message("en-de=" + (folder_ / "none")).find("none"), std::string::npos);
  EXPECT_NE(message("en-de=").find("has no folder"), std::string::npos);
  EXPECT_NE(error_message([&] {
              Models({ModelSpec("en-de=" + en_de_), ModelSpec("en-de=" + de_en_)}, {}, builtin_served_tasks());
            }).find("are both named 'en-de'"),
            std::string::npos);
  EXPECT_NE(error_message([] { Models({}, {}, builtin_served_tasks()); }).find("no model is given"),
            std::string::npos);
}

}  // namespace
}  // namespace sixfold::serve
