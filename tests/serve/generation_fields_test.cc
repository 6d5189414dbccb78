// The settings of searches as fields of requests.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "serve/service_fixture.h"

namespace sixfold::serve {
namespace {

using Json = nlohmann::json;

using ServiceTest = ServiceFixture;

TEST_F(ServiceTest, TakesSettingsOfGeneration) {
  const auto tokens = [&](Json request) {
    request.update({{"text", "a b c a b c"}, {"model", "en-de"}, {"tokens", true}});
    std::vector<std::string> all;
    const Json answer = json(post("/v1/translate", request));
    for (const auto& token : answer["results"][0]["sentences"][0]["translations"][0]["tokens"])
      all.push_back(token["text"]);
    return all;
  };
  EXPECT_LE(tokens({{"max_length", 2}}).size(), 2u);
  EXPECT_GE(tokens({{"min_length", 5}}).size(), 5u);
  for (const Json& truth : {Json(true), Json("true"), Json("1"), Json(1)})
    EXPECT_EQ(tokens({{"allow_unk", truth}}), tokens({{"allow_unk", true}})) << truth;
  const auto once = tokens({{"no_repeat_ngram", 1}, {"min_length", 4}});
  EXPECT_EQ(std::set<std::string>(once.begin(), once.end()).size(), once.size());
  const auto refused = [&](Json request, const std::string& part) {
    request.update({{"text", "a"}, {"model", "en-de"}});
    expect_refused(post("/v1/translate", request), 400, part);
  };
  refused({{"length_penalty", -1}}, "\\\"length_penalty\\\": expected a number at least 0");
  refused({{"suppress_tokens", {1, 100000}}}, "the id 100000 is not in the vocabulary");
  refused({{"suppress_tokens", std::vector<int>(1001, 5)}}, "may have 1000 tokens");
  refused({{"begin_suppress_tokens", std::vector<int>(1001, 5)}}, "may have 1000 tokens");
  refused({{"suppress_phrases", std::vector(501, std::vector{5, 5})}}, "may have 1000 tokens");
  refused({{"coverage_penalty", -1}}, "\\\"coverage_penalty\\\": expected a number at least 0");
  refused({{"length_factor", 3.5}}, "\\\"length_factor\\\": expected a number from 0 to 3");
  refused({{"length_offset", 6}}, "\\\"length_offset\\\": expected a whole number from 0 to 5");
  refused({{"replace_unknown", "maybe"}}, "replace_unknown");
  refused({{"finished_keeps_slot", true}}, "is not a field");
}

/// Each setting of a search has an effect as a field, that of the library.
TEST_F(ServiceTest, FieldsAreThoseOfTheLibrary) {
  const std::string text = "a b zzz c h";
  const TranslationModel model = required_pair(*service_, "en", "de").model;
  const Translator& translator = model->predictor();
  const auto by = [&](const Json& fields) {
    Json request{{"text", text}, {"model", "en-de"}, {"tokens", true}, {"n_best", 3}};
    request.update(fields);
    return json(post("/v1/translate", request))["results"][0]["sentences"][0]["translations"];
  };
  const Json plain = by(Json::object());
  const auto expect_same = [&](const Json& fields, const std::function<void(TranslateOptions&)>& change) {
    TranslateOptions options{.generation = translator.generation(), .keep_symbols = true, .n_best = 3};
    change(options);
    const Json got = by(fields);
    translator.translate({text}, options, [&](const TranslatedLine& line) {
      ASSERT_EQ(got.size(), line.translations.size()) << fields;
      for (size_t i = 0; i < got.size(); ++i) {
        EXPECT_EQ(got[i]["text"], line.translations[i].text) << fields;
        EXPECT_EQ(got[i]["score"].get<double>(), line.translations[i].score) << fields;
      }
    });
    EXPECT_NE(got, plain) << fields;
  };
  const auto with = [&](const Json& fields, const std::function<void(GenerationConfig&)>& change) {
    expect_same(fields, [&](TranslateOptions& o) { change(*o.generation); });
  };
  with({{"normalization", "length"}}, [](auto& o) { o.normalization = ScoreNormalization::length; });
  with({{"length_penalty", 0.1}}, [](auto& o) { o.length_penalty = 0.1f; });
  with({{"word_penalty", 0.5}}, [](auto& o) { o.word_penalty = 0.5f; });
  with({{"coverage_penalty", 0.5}}, [](auto& o) { o.coverage_penalty = 0.5f; });
  with({{"max_length", 3}}, [](auto& o) { o.max_new_tokens = 3; });
  with({{"min_length", 7}}, [](auto& o) { o.min_new_tokens = 7; });
  with({{"length_factor", 0.2}, {"length_offset", 1}},
       [](auto& o) { o.length_factor = 0.2f, o.length_offset = 1; });
  with({{"repetition_penalty", 3}}, [](auto& o) { o.repetition_penalty = 3; });
  with({{"no_repeat_ngram", 1}}, [](auto& o) { o.no_repeat_ngram = 1; });
  with({{"suppress_tokens", {3, 4, 5}}}, [](auto& o) { o.suppress_tokens = {3, 4, 5}; });
  with({{"begin_suppress_tokens", {7, 8}}}, [](auto& o) { o.begin_suppress_tokens = {7, 8}; });
  with({{"suppress_phrases", {{3}, {4}, {5, 5}}}}, [](auto& o) { o.suppress_phrases = {{3}, {4}, {5, 5}}; });
  with({{"forced_first_token", 9}}, [](auto& o) { o.forced_first_token = 9; });
  with({{"at_longest", "cut"}, {"max_length", 2}},
       [](auto& o) { o.at_longest = AtLongest::cut, o.max_new_tokens = 2; });
  const std::vector<int> most{3, 4, 5, 6, 7, 8, 9};  // without them the unknown token comes
  EXPECT_NE(by({{"suppress_tokens", most}}), by({{"suppress_tokens", most}, {"allow_unk", true}}));
  with({{"suppress_tokens", most}, {"allow_unk", true}},
       [&](auto& o) { o.allow_unk = true, o.suppress_tokens = most; });
  EXPECT_NE(by({{"suppress_tokens", most}, {"allow_unk", true}}),
            by({{"suppress_tokens", most}, {"replace_unknown", true}}));
  with({{"renormalize_logits", true}}, [](auto& o) { o.renormalize_logits = true; });
  expect_same({{"suppress_tokens", most}, {"replace_unknown", true}},
              [&](TranslateOptions& o) { o.replace_unknown = true, o.generation->suppress_tokens = most; });
  expect_same({{"beam_size", 9}}, [](TranslateOptions& o) { o.beam_size = 9; });
  expect_same(
      {{"sample", true}, {"temperature", 0.7}, {"top_k", 9}, {"top_p", 0.95}, {"min_p", 0.001}, {"seed", 3}},
      [](TranslateOptions& o) {
        o.sample = true, o.seed = 3;
        o.draw = {.temperature = 0.7F, .top_k = 9, .top_p = 0.95F, .min_p = 0.001F};
      });
  expect_same({{"sample", true}, {"mbr", 6}}, [](TranslateOptions& o) { o.sample = true, o.mbr = 6; });
}

TEST_F(ServiceTest, FailedTranslationsAreMadeAgain) {
  const std::string text = "a b zzz c h";
  Json request{{"text", text},
               {"model", "en-de"},
               {"suppress_tokens", {3, 4, 5, 6, 7, 8, 9}},  // the unknown token comes again and again
               {"min_length", 9},
               {"allow_unk", true}};
  const auto sentence = [&] { return json(post("/v1/translate", request))["results"][0]["sentences"][0]; };
  const Json plain = sentence();
  ASSERT_EQ(plain["translations"][0]["repeats"], true) << plain;
  EXPECT_EQ(plain["retried"], false);
  request["retry"] = {{"no_repeat_ngram", 1}, {"suppress_tokens", Json::array()}, {"beam_size", 3}};
  const Json better = sentence();
  EXPECT_EQ(better["retried"], true);
  EXPECT_EQ(better["translations"][0]["repeats"], false) << better;
  request["retry"] = {{"length_factor", 3.5}};
  expect_refused(post("/v1/translate", request), 400, "length_factor");
  request["retry"] = {{"n_best", 2}};
  expect_refused(post("/v1/translate", request), 400, "is not a field of \\\"retry\\\"");
}

}  // namespace
}  // namespace sixfold::serve
