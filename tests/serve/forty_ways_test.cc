// A sentence means the same to every interface of the server, however it is written.
#include "text/forty_ways.h"

#include <gtest/gtest.h>

#include "serve/service_fixture.h"
#include "text/sample_text.h"
#include "text/utf8.h"

namespace sixfold::serve {
namespace {

class FortyWaysOfASentence : public ServiceFixture {
 protected:
  FortyWaysOfASentence() {
    TokenizerOptions options;
    options.vocab_size = 80;
    write_small_model(folder_ / "pieces", 11, make_tokenizers(options, sample::english(), sample::german()));
    start({}, {"en-fr=" + (folder_ / "pieces")});
  }
  std::string libretranslate(const std::string& text, const std::string& format) const {
    return json(post("/translate", {{"q", text}, {"source", "en"}, {"target", "fr"}, {"format", format}}))
        .at("translatedText");
  }
  std::string deepl(const std::string& text) const {
    return json(post("/v2/translate", {{"text", {text}}, {"source_lang", "EN"}, {"target_lang", "FR"}}))
        .at("translations")
        .at(0)
        .at("text");
  }
};

TEST_F(FortyWaysOfASentence, AreTranslatedAlike) {
  const std::string text = libretranslate(sample::one_way, "text");
  const std::string html = libretranslate("<p>" + sample::one_way + "</p>", "html");
  EXPECT_EQ(html, "<p>" + text + "</p>");
  EXPECT_EQ(deepl(sample::one_way), text);
  EXPECT_NE(libretranslate("Nobody likes two horses.", "text"), text);
  for (const std::string& way : sample::forty_ways()) {
    EXPECT_EQ(trim_spaces(libretranslate(way, "text")), text) << way;
    const std::string marked = libretranslate("<p>" + way + "</p>", "html");
    EXPECT_EQ(trim_spaces(marked.substr(3, marked.size() - 7)), text) << way;
    EXPECT_EQ(trim_spaces(deepl(way)), text) << way;
  }
}

TEST_F(FortyWaysOfASentence, SymbolsAreKept) {
  const std::string text = " \U0001F337\U0001F337!\n...\n";
  EXPECT_EQ(libretranslate(text, "text"), text);
  EXPECT_EQ(deepl(text), text);
  EXPECT_EQ(libretranslate("Zoë\n...", "text"), libretranslate("Zoë", "text") + "\n...");
  const Json request{{"q", "..."}, {"source", "en"}, {"target", "fr"}, {"alternatives", 3}};
  EXPECT_EQ(json(post("/translate", request)).at("alternatives"), Json::array()) << "they would be equal";
  start({.keep_symbols = false}, {"en-fr=" + (folder_ / "pieces")});
  EXPECT_NE(libretranslate(text, "text"), text);
}

}  // namespace
}  // namespace sixfold::serve
