#include "page/browser.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "page/page_checks.h"
#include "serve/http/http_server.h"

namespace sixfold {
namespace {

/// A server of one page.
class BrowserTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = Browser::unavailable(); !reason.empty()) GTEST_SKIP() << reason;
    server_ = std::make_unique<serve::HttpServer>(
        serve::HttpOptions{.port = 0}, [this](const serve::HttpRequest& request) {
          return serve::HttpAnswer{.status = request.path == "/" ? 200 : 404,
                                   .content_type = "text/html; charset=utf-8",
                                   .body = request.path == "/" ? page_ : ""};
        });
    thread_ = std::thread([this] { server_->run(); });
  }
  ~BrowserTest() override {
    if (!server_) return;
    server_->stop(std::chrono::milliseconds(1000));
    thread_.join();
  }
  void open(Browser& browser, const std::string& body) {
    page_ = "<!doctype html><html lang=en><link rel=icon href='data:,'><title>t</title><body>" + body;
    browser.open("http://127.0.0.1:" + std::to_string(server_->port()) + "/");
  }

  TemporaryFolder folder_;
  std::string page_;
  std::unique_ptr<serve::HttpServer> server_;
  std::thread thread_;
};

TEST_F(BrowserTest, ClicksTypesAndTakesPictures) {
  Browser browser;
  open(
      browser,
      R"(<input id=i aria-label=text><button onclick="o.textContent = i.value + '!'">say</button><p id=o></p>)");
  browser.click("#i");
  browser.type("Grüße");
  browser.press("Tab");
  browser.press("Enter");
  browser.wait_for("o.textContent === 'Grüße!'");
  browser.set_size(321, 200);
  EXPECT_EQ(browser.evaluate("innerWidth"), 321);
  browser.screenshot(folder_ / "page.png");
  EXPECT_TRUE(read_file(folder_ / "page.png").starts_with("\x89PNG"));
  browser.set_dark(true);
  EXPECT_EQ(browser.evaluate("matchMedia('(prefers-color-scheme: dark)').matches"), true);
  expect_names(browser);
  EXPECT_TRUE(browser.problems().empty());
  EXPECT_THROW(browser.evaluate("nothing.at.all"), std::runtime_error);
  EXPECT_THROW(browser.click("#none"), std::runtime_error);
}

TEST_F(BrowserTest, ProblemsOfAPageAreSeen) {
  Browser browser;
  open(browser,
       "<script>console.error('oh')</script><script>nothing.at.all</script><img alt=x src='/none.png'>"
       "<img alt=y src='http://127.0.0.2:9/none.png'>");
  browser.wait_for("document.images[1].complete");
  const std::string all = nlohmann::json(browser.problems()).dump();
  for (const char* part : {"oh", "nothing is not defined", "none.png", "request to http://127.0.0.2:9/"})
    EXPECT_NE(all.find(part), std::string::npos) << part << " in " << all;
}

TEST_F(BrowserTest, TheChecksFindWhatTheyLookFor) {
  Browser browser;
  open(browser,
       "<p style='color:#999;background:#fff'>faint</p><button></button><div style='width:5000px'>wide</div>");
  testing::TestPartResultArray found;
  {
    const testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &found);
    expect_contrast(browser, "page");
    expect_names(browser);
    expect_fits(browser, "page");
  }
  EXPECT_EQ(found.size(), 3);
}

}  // namespace
}  // namespace sixfold
