// The page at / of `sixfold serve`, driven by a browser.
#include <gtest/gtest.h>

#include "base/file.h"
#include "page/page_checks.h"
#include "program/printed_address.h"
#include "program/small_language_model.h"
#include "program/small_model.h"

namespace sixfold {
namespace {

using Json = nlohmann::json;
using std::chrono::seconds;

constexpr const char* sentence = "a b c d";

/// A server of two models of a few weights.
class ServePage : public testing::Test {
 protected:
  ServePage() {
    write_small_model(translator_, 11);  // its translations are different, and not empty
    write_small_language_model(writer_, 5);
    write_file_atomically(keys_, "the-right-key\n");
  }
  void SetUp() override {
    if (const std::string reason = Browser::unavailable(); !reason.empty()) GTEST_SKIP() << reason;
  }

  /// Starts a server of both models and opens its page.
  void open(Browser& browser, std::vector<std::string> settings = {}) {
    settings.insert(settings.begin(), {"serve", "en-de=" + translator_, "writer=" + writer_, "--port", "0"});
    server_ = std::make_unique<Process>(settings, log_);
    const std::string address = printed_address(*server_, log_);
    ASSERT_FALSE(address.empty()) << read_file(log_);
    browser.open(address + "/");
    browser.wait_for("document.querySelectorAll('#model option').length === 2");
  }
  /// Types a text in place of the example.
  static void type_source(Browser& browser, const std::string& text) {
    browser.evaluate("document.querySelector('#source-text').focus()");
    browser.type(text);
  }
  /// Types a sentence, and waits until everything about it, or about its first line, is shown.
  static void translate(Browser& browser, const std::string& text = sentence) {
    type_source(browser, text);
    browser.wait_for(
        "[...document.querySelectorAll('#source-words .chip > span:first-child')].map((one) => "
        "one.textContent).join(' ') === " +
        Json(text.substr(0, text.find('\n'))).dump());
    browser.wait_for("document.querySelectorAll('#heads canvas').length > 0");
  }
  static void choose_model(Browser& browser, int index) {
    browser.evaluate("(() => { const select = document.querySelector('#model'); select.selectedIndex = " +
                     std::to_string(index) + "; select.dispatchEvent(new Event('change')); })()");
  }
  static std::string text_of(Browser& browser, const std::string& selector) {
    return browser.evaluate("document.querySelector(" + Json(selector).dump() + ").textContent");
  }
  static int count(Browser& browser, const std::string& selector) {
    return browser.evaluate("document.querySelectorAll(" + Json(selector).dump() + ").length");
  }
  static std::string picture(const std::string& name) { return SIXFOLD_SCREENSHOTS "/serve-" + name + ".png"; }
  static void expect_no_problems(const Browser& browser) {
    EXPECT_TRUE(browser.problems().empty()) << Json(browser.problems()).dump(1);
  }

  TemporaryFolder folder_;
  std::string translator_ = folder_ / "translator", writer_ = folder_ / "writer";
  const std::string keys_ = folder_ / "keys", log_ = folder_ / "log";
  std::unique_ptr<Process> server_;
};

TEST_F(ServePage, TranslatesWhatIsTyped) {
  Browser browser;
  open(browser);
  translate(browser);
  // It shows what the server's interface says.
  const Json asked = browser.evaluate(
      "fetch('/v1/translate', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: "
      "JSON.stringify({model: 'en-de', text: '" +
      std::string(sentence) +
      "', n_best: 4, beam_size: 4, tokens: true, search: true})}).then((answer) => answer.json())");
  const Json& expected = asked.at("results").at(0).at("sentences").at(0);
  EXPECT_EQ(text_of(browser, "#target-text"), asked.at("results").at(0).at("text"));
  ASSERT_EQ(count(browser, "#alternatives tbody tr"), 4);
  const Json shown = browser.evaluate(
      "[...document.querySelectorAll('#alternatives tbody tr')].map((row) => "
      "row.cells[1].firstChild.textContent)");
  for (int rank : {0, 1, 2, 3}) EXPECT_EQ(shown.at(rank), expected.at("translations").at(rank).at("text"));
  EXPECT_EQ(count(browser, "#token-scores .chip"), expected.at("translations").at(0).at("tokens").size());
  // Another alternative shows its own tokens.
  browser.click("#alternatives tbody tr:nth-child(2) input");
  const Json second = browser.evaluate(
      "[...document.querySelectorAll('#token-scores .chip > span:first-child')].map((one) => one.textContent)");
  Json tokens = Json::array();
  for (const Json& token : expected.at("translations").at(1).at("tokens")) tokens.push_back(token.at("text"));
  EXPECT_EQ(second, tokens);
  EXPECT_EQ(
      browser.evaluate("[...document.querySelectorAll('#target-words .chip > span:first-child')].map((one) "
                       "=> one.textContent).join(' ')"),
      expected.at("translations").at(1).at("text"));
  // A wider beam offers more.
  browser.evaluate(
      "(() => { const size = document.querySelector('#beam-size'); size.value = 6; "
      "size.dispatchEvent(new Event('input')); })()");
  browser.wait_for("document.querySelectorAll('#alternatives tbody tr').length === 6");
  expect_no_problems(browser);
}

TEST_F(ServePage, BeginsWithAnExample) {
  Browser browser;
  open(browser);
  browser.wait_for("document.querySelectorAll('#alternatives tbody tr').length === 4");
  EXPECT_EQ(browser.evaluate("document.querySelector('#source-text').value"), "The old dog sleeps.");
  EXPECT_EQ(count(browser, "#source-words .chip"), 4);
  EXPECT_GT(count(browser, "#beam-tree .node"), 0);
  translate(browser);  // what is typed replaces the example
  EXPECT_EQ(browser.evaluate("document.querySelector('#source-text').value"), sentence);
  // A text of one's own stays when the model is chosen again; a language model writes at once.
  choose_model(browser, 1);
  browser.wait_for("document.querySelector('#language-state').textContent.includes('tokens;')");
  EXPECT_GT(count(browser, "#language-tokens .chip"), 0);
  choose_model(browser, 0);
  browser.wait_for("!document.querySelector('#translation-panels').hidden");
  EXPECT_EQ(browser.evaluate("document.querySelector('#source-text').value"), sentence);
  expect_no_problems(browser);
}

TEST_F(ServePage, OnANarrowScreenOnePanelIsOpenAndLinksOpenTheOthers) {
  Browser browser;
  open(browser);
  translate(browser);
  const auto links = [&] { return count(browser, "#panel-links a"); };
  EXPECT_EQ(links(), 6);
  EXPECT_EQ(count(browser, "#translation-panels .panel[open]"), 5);
  browser.set_size(420, 800);
  browser.wait_for("document.querySelectorAll('.panel[open]').length === 2");  // one of each kind of model
  EXPECT_LT(browser.evaluate("document.documentElement.scrollHeight"), 2000);
  expect_fits(browser, "folded");
  browser.click("#panel-links a[href='#panel-beam']");
  browser.wait_for("document.querySelector('#panel-beam').open");
  browser.wait_for("document.querySelector('#panel-beam').getBoundingClientRect().top < 200");
  expect_fits(browser, "beam");
  browser.set_size(1200, 800);
  browser.wait_for("document.querySelectorAll('#translation-panels .panel[open]').length === 5");
  choose_model(browser, 1);
  browser.wait_for("document.querySelectorAll('#panel-links a').length === 2");
  expect_no_problems(browser);
}

TEST_F(ServePage, SeveralSentencesAreChosenFrom) {
  Browser browser;
  open(browser);
  translate(browser, "a b c\nd e f g");
  browser.wait_for("document.querySelectorAll('#sentence option').length === 2");
  EXPECT_NE(text_of(browser, "#target-text").find('\n'), std::string::npos);
  EXPECT_EQ(count(browser, "#source-words .chip"), 3);
  browser.evaluate(
      "(() => { const select = document.querySelector('#sentence'); select.selectedIndex = 1; "
      "select.dispatchEvent(new Event('change')); })()");
  browser.wait_for("document.querySelectorAll('#source-words .chip').length === 4");
  // What is emptied shows nothing.
  browser.evaluate(
      "(() => { const text = document.querySelector('#source-text'); text.value = ''; "
      "text.dispatchEvent(new Event('input')); })()");
  browser.wait_for("document.querySelector('#target-text').textContent === ''");
  for (const char* part :
       {"#source-words .chip", "#heads canvas", "#beam-table tbody tr", "#token-scores .chip"})
    EXPECT_EQ(count(browser, part), 0) << part;
  expect_no_problems(browser);
}

TEST_F(ServePage, WordsShowWhatTheyAttendTo) {
  Browser browser;
  open(browser);
  translate(browser);
  EXPECT_EQ(count(browser, "#source-words .chip"), 4);
  browser.hover("#target-words .chip");
  browser.wait_for("document.querySelector('#words-reading').textContent.includes('attends to')");
  // The shares of a word are at most 1; the rest is of the end token.
  const std::string shares =
      "[...document.querySelectorAll('#source-words .bar')].map((bar) => "
      "Number(bar.style.getPropertyValue('--share')))";
  const double sum = browser.evaluate(shares + ".reduce((sum, share) => sum + share, 0)");
  EXPECT_GT(sum, 0);
  EXPECT_LE(sum, 1.0001);
  // The frame of an alignment is around the word with the largest share.
  if (count(browser, "#source-words .aligned") == 1) {
    EXPECT_EQ(browser.evaluate("(() => { const shares = " + shares +
                               "; return shares.indexOf(Math.max(...shares)); })()"),
              browser.evaluate("[...document.querySelectorAll('#source-words .chip')].findIndex((chip) => "
                               "chip.classList.contains('aligned'))"));
  }
  const std::string first = text_of(browser, "#words-reading");
  browser.press("Tab");  // nothing had the focus of the words before: the keyboard reaches them too
  browser.evaluate("document.querySelector('#source-words .chip').focus()");
  browser.wait_for("document.querySelector('#words-reading').textContent.includes('is attended to by')");
  EXPECT_NE(text_of(browser, "#words-reading"), first);
  browser.press("Tab");
  browser.wait_for("document.querySelector('#words-reading').textContent.includes('“b” is attended to by')");
  expect_no_problems(browser);
}

TEST_F(ServePage, EveryHeadOpens) {
  Browser browser;
  open(browser);
  translate(browser);
  ASSERT_EQ(count(browser, "#heads-kinds input"), 3);
  for (int kind : {1, 2, 3}) {
    browser.click("#heads-kinds label:nth-child(" + std::to_string(kind) + ") input");
    EXPECT_EQ(count(browser, "#heads button"), kind == 1 ? 2 : 4) << kind;  // layers of two heads
  }
  browser.click("#heads .layer:nth-child(2) button");
  browser.wait_for("document.querySelector('#head-dialog').open");
  EXPECT_EQ(text_of(browser, "#head-title"), "Cross attention, layer 2, head 1");
  browser.wait_for("document.querySelector('#head-reading').textContent.includes('attends to')");
  const std::string first = text_of(browser, "#head-reading");
  browser.press("ArrowRight");
  browser.press("ArrowDown");
  EXPECT_NE(text_of(browser, "#head-reading"), first);
  // Each row of weights adds up to 1.
  const double sum = browser.evaluate(
      "(() => { const cells = [...document.querySelectorAll('#head-map .cell')]; const rows = new Map(); "
      "for (const cell of cells) rows.set(cell.getAttribute('y'), (rows.get(cell.getAttribute('y')) ?? 0) + "
      "Number(cell.getAttribute('fill-opacity'))); return Math.max(...[...rows.values()].map((one) => "
      "Math.abs(one - 1))); })()");
  EXPECT_LT(sum, 1e-3);
  browser.click("#head-next");
  EXPECT_EQ(text_of(browser, "#head-title"), "Cross attention, layer 2, head 2");
  browser.click("#head-previous");
  browser.click("#head-previous");
  EXPECT_EQ(text_of(browser, "#head-title"), "Cross attention, layer 1, head 2");
  browser.press("Escape");
  browser.wait_for("!document.querySelector('#head-dialog').open");
  expect_no_problems(browser);
}

TEST_F(ServePage, TheBeamIsStepped) {
  Browser browser;
  open(browser);
  translate(browser);
  const int steps = browser.evaluate("Number(document.querySelector('#step').max)");
  ASSERT_GT(steps, 3);
  EXPECT_EQ(text_of(browser, "#step-name"), fmt::format("1 of {}", steps));
  EXPECT_EQ(count(browser, "#beam-tree .continues"), 4);  // as many as the beam is wide
  EXPECT_EQ(count(browser, "#beam-tree .best"), 0);       // no line leads to a first token
  EXPECT_EQ(browser.evaluate("document.querySelector('#step-previous').disabled"), true);
  browser.click("#step-next");
  EXPECT_EQ(text_of(browser, "#step-name"), fmt::format("2 of {}", steps));
  EXPECT_GT(count(browser, "#beam-tree .dropped"), 0);
  EXPECT_EQ(count(browser, "#beam-table tbody tr"), count(browser, "#beam-tree .now"));
  // It is played from there to the end, and then once more from the first step.
  browser.click("#play");
  EXPECT_EQ(text_of(browser, "#play"), "Pause");
  browser.wait_for("document.querySelector('#play').textContent === 'Play'");
  EXPECT_EQ(text_of(browser, "#step-name"), fmt::format("{0} of {0}", steps));
  EXPECT_GT(count(browser, "#beam-tree .finished"), 0);
  // What is marked as the best is the translation.
  EXPECT_GT(count(browser, "#beam-tree .best"), 2);
  browser.click("#play");
  EXPECT_EQ(text_of(browser, "#step-name"), fmt::format("1 of {}", steps));
  browser.click("#play");  // which stops it
  EXPECT_EQ(text_of(browser, "#play"), "Play");
  expect_no_problems(browser);
}

TEST_F(ServePage, ALanguageModelWritesOn) {
  Browser browser;
  open(browser);
  choose_model(browser, 1);
  browser.wait_for("!document.querySelector('#language-panels').hidden");
  EXPECT_EQ(browser.evaluate("document.querySelector('#translation-panels').hidden"), true);
  browser.wait_for("document.querySelector('#positions-text').textContent !== ''");
  browser.wait_for(
      "document.querySelector('#language-state').textContent.includes('tokens;')");  // without a prompt
  browser.evaluate("document.querySelector('#prompt').focus()");
  browser.type("The old ");
  browser.click("#generate");
  browser.wait_for("document.querySelector('#language-state').textContent.includes('tokens;')");
  EXPECT_GT(count(browser, "#language-tokens .chip"), 5);
  EXPECT_GE(count(browser, "#likely tbody tr"), 5);  // and the drawn one, where it is not among them
  EXPECT_NE(text_of(browser, "#likely").find("(drawn)"), std::string::npos);
  browser.hover("#language-tokens .chip");
  browser.wait_for("document.querySelector('#language-tokens .chip').getAttribute('aria-pressed') === 'true'");
  EXPECT_GE(count(browser, "#likely tbody tr"), 5);
  // Probabilities are at most 1 together.
  const double sum = browser.evaluate(
      "[...document.querySelectorAll('#likely .bar')].reduce((sum, bar) => sum + "
      "Number(bar.style.getPropertyValue('--share')), 0)");
  EXPECT_GT(sum, 0.1);
  EXPECT_LE(sum, 1.0001);
  // A long text is stopped.
  browser.evaluate("document.querySelector('#max-tokens').value = 4096");
  browser.evaluate("document.querySelector('#temperature').value = 2");
  browser.click("#generate");
  browser.wait_for("document.querySelectorAll('#language-tokens .chip').length > 0");
  browser.click("#stop");
  browser.wait_for("document.querySelector('#stop').disabled");
  expect_no_problems(browser);
}

TEST_F(ServePage, PositionsAreRead) {
  Browser browser;
  open(browser);
  browser.wait_for("document.querySelectorAll('#positions-maps canvas').length === 2");
  browser.evaluate("document.querySelector('#similarity canvas').focus()");
  browser.wait_for(
      "document.querySelector('#positions-reading').textContent === 'Positions 0 and 0: cosine 1.00'");
  browser.press("ArrowRight");
  browser.wait_for(
      "document.querySelector('#positions-reading').textContent.startsWith('Positions 0 and 1: cosine 0.')");
  browser.evaluate("document.querySelector('#encodings canvas').focus()");
  browser.wait_for(
      "document.querySelector('#positions-reading').textContent === 'Position 0, feature 0: 0.00'");
  // What is below 0 has another hue than what is above.
  const Json hues = browser.evaluate(
      "(() => { const canvas = document.querySelector('#encodings canvas'); const {data} = "
      "canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height); const hues = new Set(); "
      "for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) hues.add(data[i] > data[i + 2]); "
      "return [...hues].sort(); })()");
  EXPECT_EQ(hues, (Json{false, true}));
  EXPECT_EQ(text_of(browser, "#encodings .scale"), "−1.001.00");
  browser.hover("#encodings canvas");
  browser.wait_for("document.querySelector('#positions-reading').textContent.startsWith('Position 3')");
  expect_no_problems(browser);
}

TEST_F(ServePage, TextIsNeverMarkup) {
  Browser browser;
  open(browser);
  translate(browser, "<img src=x onerror=alert(1)> <b>the</b> c");
  EXPECT_EQ(count(browser, "img, main b"), 0);
  EXPECT_NE(text_of(browser, "#source-words").find("<img"), std::string::npos);
  expect_no_problems(browser);
}

TEST_F(ServePage, SaysWhatIsNotShownAndWhy) {
  Browser browser;
  open(browser, {"--set", "observed_tokens=3"});
  type_source(browser, sentence);
  browser.wait_for("document.querySelectorAll('#alternatives tbody tr').length === 4");
  browser.wait_for("document.querySelector('#heads').textContent.includes('observed_tokens')");
  EXPECT_NE(text_of(browser, "#beam-tree").find("observed_tokens"), std::string::npos);
  browser.hover("#target-words .chip");
  browser.wait_for("document.querySelector('#words-reading').textContent.includes('attends to')");
  server_->send(SIGTERM);
  ASSERT_TRUE(server_->ended(seconds(20)));
  browser.type(" And?");
  browser.wait_for("document.querySelector('#state').textContent.includes('does not answer')");
  // What is shown would belong to the text before.
  EXPECT_EQ(count(browser, "#source-words .chip"), 0);
  EXPECT_EQ(text_of(browser, "#target-text"), "");
}

TEST_F(ServePage, AsksForAKeyWhereOneIsNeeded) {
  Browser browser;
  open(browser, {"--set", "api_keys=" + keys_});
  EXPECT_EQ(browser.evaluate("document.querySelector('#key-label').hidden"), false);
  type_source(browser, sentence);
  browser.wait_for("document.querySelector('#state').className === 'warning'");
  EXPECT_NE(text_of(browser, "#state").find("key"), std::string::npos);
  browser.evaluate("document.querySelector('#key').focus()");
  browser.type("“the-right-key”");
  browser.press("Enter");
  browser.wait_for("document.querySelector('#problem').textContent.includes('characters that no key has')");
  browser.evaluate("document.querySelector('#key').select()");
  browser.type("the-right-key");
  browser.press("Enter");
  browser.wait_for("document.querySelectorAll('#alternatives tbody tr').length === 4");
}

/// Two models that were trained for a few seconds, so that there is something to look at.
class ServePageOfTrainedModelsSlow : public ServePage {
 protected:
  ServePageOfTrainedModelsSlow() {
    const std::string corpus = folder_ / "corpus";
    run({"demo-corpus", "--output", corpus, "--pairs", "4000"});
    const std::string rest =
        "d_model: 64, d_ff: 128, heads: 4, decoder_layers: 2, dropout: 0}\n"
        "train: {updates: 600, label_smoothing: 0.05}\n"
        "schedule: {kind: linear, learning_rate: 4.0e-3, warmup: 60}\n"
        "validation: {every_updates: 1000}\n";
    translator_ =
        train("trained-translator",
              "model: {encoder_layers: 2, tied_embeddings: all, " + rest + "tokenizer: {vocab_size: 400}\n" +
                  fmt::format("data: {{train: [{0}/train.en, {0}/train.de], valid: [{0}/valid.en, "
                              "{0}/valid.de], batch_tokens: 1500}}\n",
                              corpus));
    writer_ =
        train("trained-writer",
              "task: language_model\nmodel: {positions: learned, " + rest + "tokenizer: {kind: characters}\n" +
                  fmt::format("data: {{train: [{0}/train.en], valid: [{0}/valid.en], unit: line, "
                              "block_tokens: 160, batch_tokens: 1500}}\n",
                              corpus));
  }

 private:
  void run(const std::vector<std::string>& arguments) {
    EXPECT_EQ(Process(arguments, log_).wait(), 0) << read_file(log_);
  }
  std::string train(const std::string& name, const std::string& config) {
    write_file_atomically(folder_ / name + ".yaml", config);
    run({"train", folder_ / name + ".yaml", "--output", folder_ / name});
    return folder_ / name + "/model";
  }
};

TEST_F(ServePageOfTrainedModelsSlow, IsReadableInLightAndDarkAndOnNarrowScreens) {
  Browser browser;
  open(browser);
  translate(browser, "The old sister always writes books.");
  browser.hover("#target-words .chip:nth-child(2)");
  for (const bool dark : {false, true}) {
    const std::string scheme = dark ? "dark" : "light";
    browser.set_dark(dark);
    browser.set_size(1200, 900);
    expect_contrast(browser, scheme);
    expect_names(browser);
    browser.screenshot(picture(scheme));
    browser.click("#heads .layer:nth-child(2) button");
    browser.wait_for("document.querySelector('#head-dialog').open");
    expect_contrast(browser, scheme + ", a head");
    browser.screenshot(picture(scheme + "-head"));
    browser.press("Escape");
    browser.set_size(360, 800);
    expect_fits(browser, scheme);
    browser.screenshot(picture(scheme + "-narrow"));
  }
  browser.set_size(1200, 900);
  choose_model(browser, 1);
  browser.evaluate("document.querySelector('#prompt').focus()");
  browser.type("The old ");
  browser.click("#generate");
  browser.wait_for("document.querySelector('#language-state').textContent.includes('tokens;')");
  browser.screenshot(picture("language-model"));
  browser.set_size(360, 800);
  expect_fits(browser, "language model");
  expect_contrast(browser, "language model");
  expect_names(browser);
  expect_no_problems(browser);
}

}  // namespace
}  // namespace sixfold
