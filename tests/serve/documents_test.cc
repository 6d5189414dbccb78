#include "serve/service_fixture.h"

namespace sixfold::serve {
namespace {

using Json = nlohmann::json;
using DocumentsTest = ServiceFixture;

/// A text without tags.
std::string visible(const std::string& html) {
  std::string text;
  bool tag = false;
  for (const char c : html) {
    if (c == '<') tag = true;
    if (!tag) text += c;
    if (c == '>') tag = false;
  }
  return text;
}

/// The language of a document is that of its texts: not of its tags, scripts and comments.
TEST_F(DocumentsTest, DetectsTheLanguageOfTheTexts) {
  const std::string english = "read more about the best things that you can do with your own house";
  const auto detected = [&](const std::string& html) {
    const Json answer =
        json(post("/translate", {{"q", html}, {"source", "auto"}, {"target", "de"}, {"format", "html"}}));
    EXPECT_EQ(answer["translatedText"], html);  // it has no text in another language
    return answer["detectedLanguage"];
  };
  for (const std::string& html :
       {"<a href='/about-us/contact' title='" + english + "'>Das Kind spielt.</a>",
        "<!-- " + english + " --><script>" + english + "</script><p class='read-more'>Das Kind spielt.</p>",
        std::string("Ein Mann rennt &uuml;ber die Stra&szlig;e")})
    EXPECT_EQ(detected(html)["language"], "de") << html;
  for (const std::string& html : {"<p title='" + english + "'>123</p>", std::string("&nbsp;"), std::string()})
    EXPECT_EQ(detected(html)["confidence"], 0) << html;
  const Json xml{{"text", {"<r t='" + english + "'><p>Das Kind spielt mit dem Hund.</p></r>"}},
                 {"target_lang", "DE"},
                 {"tag_handling", "xml"}};
  EXPECT_EQ(json(post("/v2/translate", xml))["translations"][0]["detected_source_language"], "DE");
  expect_refused(
      post("/v2/translate", {{"text", {"<a/>", "<a>"}}, {"target_lang", "DE"}, {"tag_handling", "xml"}}), 400,
      "text 2");
}

TEST_F(DocumentsTest, TranslatesHtmlWithItsTags) {
  const std::string html = "<p class='x'>a b c. <b>D e</b></p><code>f</code><br>g <i>h</i>";
  const Json request{{"q", {html, "a b c", ""}}, {"source", "en"}, {"target", "de"}, {"format", "html"}};
  const Json answers = json(post("/translate", request))["translatedText"];
  const std::string answer = answers[0];
  for (const std::string tag : {"<p class='x'>", "<b>", "</b>", "</p><code>f</code><br>", "<i>", "</i>"})
    EXPECT_EQ(answer.find(tag), answer.rfind(tag)) << answer;
  EXPECT_EQ(visible(answer), translated("a b c.") + " " + translated("D e") + "f" + translated("g h"));
  EXPECT_EQ(answers[1], translated("a b c"));
  EXPECT_EQ(answers[2], "");
  Json deepl{{"text", html}, {"target_lang", "DE"}, {"source_lang", "EN"}, {"tag_handling", "html"}};
  EXPECT_EQ(json(post("/v2/translate", deepl))["translations"][0]["text"], answer);
  deepl["tag_handling"] = "xml";
  expect_refused(post("/v2/translate", deepl), 400, "text 1, line 1");  // an end tag is missing
  deepl["text"] = "<a>a b c</a><x>d</x>";
  deepl["ignore_tags"] = "x,y";
  EXPECT_EQ(json(post("/v2/translate", deepl))["translations"][0]["text"],
            "<a>" + translated("a b c") + "</a><x>d</x>");
  deepl.erase("tag_handling");
  expect_refused(post("/v2/translate", deepl), 400, "need tag_handling=xml");
}

TEST_F(DocumentsTest, DocumentsHaveAlternatives) {
  Json request{{"q", {"<p>a b c. <b>D e</b></p>", "<hr>"}},
               {"source", "en"},
               {"target", "de"},
               {"format", "html"},
               {"alternatives", 2}};
  const Json html = json(post("/translate", request));
  ASSERT_EQ(html["alternatives"][0].size(), 2u);
  EXPECT_EQ(html["alternatives"][1], Json::array()) << "there is no text";
  request["q"] = {"a b c. D e"};
  request["format"] = "text";
  const Json text = json(post("/translate", request));
  EXPECT_EQ(visible(html["translatedText"][0]), text["translatedText"][0]);
  for (const size_t rank : {0, 1}) {
    const std::string alternative = html["alternatives"][0][rank];
    EXPECT_EQ(visible(alternative), text["alternatives"][0][rank]);
    EXPECT_TRUE(alternative.starts_with("<p>") && alternative.ends_with("</p>")) << alternative;
  }
}

}  // namespace
}  // namespace sixfold::serve
