#include "serve/dashboard.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "base/file.h"
#include "page/page_checks.h"
#include "program/printed_address.h"
#include "serve/http/http_server.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// Lines of a log as training writes them: curves that fall and rise, and at each tenth line a validation with
/// a sample whose attention turns from an even one into a diagonal one.
class InventedRun {
 public:
  InventedRun(const std::string& folder, double speed) : folder_(folder), speed_(speed) {
    fs::create_directories(folder);
    write_file_atomically(folder + "/config.json", R"({"task":"translation","model":{"d_model":512}})");
  }

  void add_lines(int count) {
    std::ofstream log(folder_ + "/train.jsonl", std::ios::app);
    for (int i = 0; i < count; ++i) {
      ++lines_;
      const double done = speed_ * lines_, wave = std::sin(7.0 * lines_);
      const double loss = 1.6 + 6 * std::exp(-done / 25) + 0.05 * wave;
      log << Json{{"update", 100 * lines_},
                  {"last_update", 10'000},
                  {"loss", loss},
                  {"perplexity", std::exp(loss)},
                  {"learning_rate", 1e-3 * std::min(lines_ / 10.0, std::sqrt(10.0 / lines_))},
                  {"gradient_norm", 0.8 + 2 * std::exp(-done / 8) + 0.2 * wave},
                  {"tokens_per_second", 12'000 + 300 * wave},
                  {"memory_mb", 1800.5},
                  {"seconds", 12.5 * lines_},
                  {"seconds_left", 12.5 * (100 - lines_)}}
                 .dump()
          << "\n";
      if (lines_ % 10 == 0) log << validation(done).dump() << "\n";
    }
  }

 private:
  Json validation(double done) const {
    const std::vector<std::string> source = {"▁The", "▁old", "▁dog", "▁sleeps", "▁.", "</s>"},
                                   target = {"▁Der", "▁alte", "▁Hund", "▁schläft", "▁.", "</s>"};
    const double sharp = 1 - std::exp(-done / 40);
    Json weights = Json::array();
    for (size_t row = 0; row < target.size(); ++row) {
      weights.push_back(Json::array());
      for (size_t column = 0; column < source.size(); ++column)
        weights.back().push_back((row == column ? sharp : 0) + (1 - sharp) / 6);
    }
    const std::string output = done < 30   ? "Der Der Der."
                               : done < 60 ? "Der alte schläft."
                                           : "Der alte Hund schläft.";
    Json first{{"input", "The old dog sleeps."}, {"output", output}, {"reference", "Der alte Hund schläft."}};
    Json second{{"input", "Text with <b>markup</b> & signs."},
                {"output", ""},
                {"reference", "Text mit <b>Auszeichnung</b>."}};
    first["attention"] = {{"layer", 4}, {"source", source}, {"target", target}, {"weights", weights}};
    return {{"update", 100 * lines_},
            {"validation",
             {{"loss", 1.8 + 5 * std::exp(-done / 25)},
              {"perplexity", 9.0},
              {"bleu", 35 * sharp},
              {"chrf", 60 * sharp}}},
            {"samples", {first, second}}};
  }

  const std::string folder_;
  const double speed_;
  int lines_ = 0;
};

/// A dashboard that a browser looks at.
class DashboardPage : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = Browser::unavailable(); !reason.empty()) GTEST_SKIP() << reason;
  }
  ~DashboardPage() override {
    if (!server_) return;
    server_->stop(std::chrono::milliseconds(1000));
    thread_.join();
  }
  /// Returns the address.
  std::string serve(const std::vector<std::string>& runs) {
    dashboard_ = std::make_unique<serve::Dashboard>(runs);
    server_ = std::make_unique<serve::HttpServer>(
        serve::HttpOptions{.port = 0},
        [this](const serve::HttpRequest& request) { return dashboard_->answer(request); });
    thread_ = std::thread([this] { server_->run(); });
    return "http://127.0.0.1:" + std::to_string(server_->port()) + "/";
  }
  static std::string picture(const std::string& name) {
    return SIXFOLD_SCREENSHOTS "/dashboard-" + name + ".png";
  }
  static void expect_no_problems(const Browser& browser) {
    EXPECT_TRUE(browser.problems().empty()) << Json(browser.problems()).dump(1);
  }

  TemporaryFolder folder_;
  std::unique_ptr<serve::Dashboard> dashboard_;
  std::unique_ptr<serve::HttpServer> server_;
  std::thread thread_;
};

constexpr const char* loss_path = "document.querySelector('.chart .line')?.getAttribute('d')";

TEST_F(DashboardPage, ARunMoves) {
  const std::string address = serve({folder_ / "run"});
  Browser browser;
  browser.open(address);
  browser.wait_for("document.body.innerText.includes('first figures come after its first update')");
  InventedRun run(folder_ / "run", 1);
  run.add_lines(30);
  browser.wait_for("document.body.innerText.includes('3,000 of 10,000')");
  const std::string figures = browser.evaluate("document.querySelector('.run dl').innerText");
  EXPECT_NE(figures.find("14:35"), std::string::npos) << figures;  // left
  EXPECT_NE(figures.find("tokens/s"), std::string::npos) << figures;
  browser.wait_for(loss_path);
  const Json before = browser.evaluate(loss_path);
  EXPECT_EQ(browser.evaluate("document.querySelectorAll('.chart').length"), 8);
  EXPECT_EQ(browser.evaluate("document.querySelector('#samples .output').textContent"), "Der alte schläft.");
  browser.screenshot(picture("begins"));
  run.add_lines(60);
  browser.wait_for("document.body.innerText.includes('9,000 of 10,000')");
  EXPECT_NE(browser.evaluate(loss_path), before);
  EXPECT_EQ(browser.evaluate("document.querySelector('#samples .output').textContent"),
            "Der alte Hund schläft.");
  // Text of a run never becomes elements.
  EXPECT_EQ(browser.evaluate("document.querySelectorAll('#samples b').length"), 0);
  EXPECT_NE(browser.evaluate("document.querySelector('#samples').innerText").dump().find("<b>markup</b>"),
            std::string::npos);
  browser.screenshot(picture("moves"));
  // An earlier validation stays in sight while the run goes on.
  browser.evaluate("document.querySelector('#validation').focus()");
  browser.press("Home");
  browser.wait_for("document.querySelector('#samples .output').textContent === 'Der Der Der.'");
  run.add_lines(10);
  browser.wait_for("document.body.innerText.includes('10,000 of 10,000')");
  EXPECT_EQ(browser.evaluate("document.querySelector('#samples .output').textContent"), "Der Der Der.");
  expect_no_problems(browser);
}

TEST_F(DashboardPage, RunsAreComparedInLightAndDarkAndOnNarrowScreens) {
  const std::string hostile = folder_ / "<img src=x onerror=alert(1)>";
  std::vector<std::string> folders;
  for (const std::string& name :
       {folder_ / "base", folder_ / "small-with-a-very-long-name-that-says-all-about-it", hostile}) {
    folders.push_back(name);
    InventedRun(name, 0.5 + 0.4 * static_cast<double>(folders.size())).add_lines(90);
  }
  std::ofstream(folders[1] + "/train.jsonl", std::ios::app) << "{\"update\":9100,\"loss\":null}\nno line\n";
  for (const char* id : {"overfitting", "rate-too-high"})
    std::ofstream(folders[0] + "/train.jsonl", std::ios::app)
        << Json{{"update", 9100},
                {"diagnosis",
                 {{"id", id},
                  {"text",
                   "the validation loss has risen from 1.842 to 2.103, <img src=x> and the training loss "
                   "has fallen from 1.311 to 0.974. More data help."}}}}
               .dump()
        << "\n";
  const std::string address = serve(folders);
  Browser browser;
  for (const bool dark : {false, true}) {
    browser.set_dark(dark);
    browser.set_size(1200, 900);
    browser.open(address);
    browser.wait_for("document.querySelectorAll('.chart .line').length >= 30");
    EXPECT_EQ(browser.evaluate("document.querySelectorAll('.run').length"), 3);
    EXPECT_EQ(browser.evaluate("document.querySelectorAll('img').length"), 0);
    EXPECT_EQ(browser.evaluate("[...document.querySelectorAll('.run')].map((run) => run.querySelectorAll("
                               "'.diagnoses li').length)"),
              Json({2, 0, 0}));
    EXPECT_EQ(browser.evaluate("document.querySelector('.diagnoses li').textContent.slice(0, 43)"),
              "overfitting (update 9,100): the validation ");
    const std::string scheme = dark ? "dark" : "light";
    expect_contrast(browser, scheme);
    expect_names(browser);
    browser.screenshot(picture(scheme));
    browser.set_size(360, 800);
    expect_fits(browser, scheme);
    browser.screenshot(picture(scheme + "-narrow"));
  }
  // Curves differ by more than their colours.
  EXPECT_EQ(browser.evaluate("new Set([...document.querySelectorAll('.run-name line')]"
                             ".map((line) => line.getAttribute('stroke-dasharray'))).size"),
            3);
  expect_no_problems(browser);
}

TEST_F(DashboardPage, KeysReadTheCurves) {
  InventedRun(folder_ / "run", 1).add_lines(50);
  Browser browser;
  browser.open(serve({folder_ / "run"}));
  browser.wait_for(loss_path);
  browser.evaluate("document.querySelector('.chart svg').focus()");
  browser.press("ArrowLeft");
  browser.wait_for("document.querySelector('.chart .reading').textContent.startsWith('4,900:')");
  browser.hover(".chart svg");
  browser.wait_for("!document.querySelector('.chart .reading').textContent.startsWith('4,900:')");
  const Json linear = browser.evaluate(loss_path);
  browser.click("#logarithmic");
  browser.wait_for(loss_path + std::string(" !== ") + linear.dump());
  expect_no_problems(browser);
}

TEST_F(DashboardPage, SaysThatTheServerDoesNotAnswer) {
  InventedRun(folder_ / "run", 1).add_lines(20);
  Browser browser;
  browser.open(serve({folder_ / "run"}));
  browser.wait_for(loss_path);
  server_->stop(std::chrono::milliseconds(1000));
  thread_.join();
  server_.reset();
  browser.wait_for("document.querySelector('#state').textContent.includes('does not answer')");
  EXPECT_FALSE(browser.evaluate(loss_path).is_null());
}

/// A training process serves its own page.
TEST_F(DashboardPage, TrainingIsWatched) {
  const std::string config = write_small_training(folder_.path().string()), log = folder_ / "log";
  Process training({"train", config, "--output", folder_ / "run", "--dashboard", "0", "--set",
                    "train.updates=100000", "checkpoint.every_updates=1000"},
                   log);
  const std::string address = printed_address(training, log);
  ASSERT_FALSE(address.empty()) << read_file(log);
  Browser browser;
  browser.open(address + "/");
  browser.wait_for("document.querySelector('#samples .output')");
  const std::string update = "document.querySelector('.run dd')?.textContent";
  const Json first = browser.evaluate(update);
  browser.wait_for(update + " !== " + first.dump());
  browser.wait_for("document.querySelectorAll('#attention-map .cell').length > 4");
  browser.screenshot(picture("training"));
  training.send(SIGINT);
  EXPECT_EQ(training.wait(), 130) << read_file(log);
}

}  // namespace
}  // namespace sixfold
