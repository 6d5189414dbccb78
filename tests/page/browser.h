#pragma once
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "temporary_folder.h"

namespace sixfold {

/// Chromium without a window, showing one page. It is driven by the DevTools protocol
/// (chromedevtools.github.io/devtools-protocol): messages of JSON, each ended by NUL, through two pipes. What a
/// page must not do is collected in `problems`. Each function throws std::runtime_error if the browser fails or
/// takes more than a minute.
class Browser {
 public:
  using Json = nlohmann::json;

  /// The program, or an empty text if there is none: tests are then skipped. SIXFOLD_CHROMIUM names another.
  static std::string program() {
    if (const char* named = ::getenv("SIXFOLD_CHROMIUM")) return named;
    for (const char* path : {"/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"})
      if (std::filesystem::exists(path)) return path;
    return {};
  }

  /// Why tests have to be skipped: there is no browser, or it can't start here. Empty: they can be run.
  static std::string unavailable() {
    if (program().empty()) return "chromium is not installed";
    try {
      const Browser browser;
      return {};
    } catch (const std::exception& error) {
      return std::string("chromium can't start here: ") + error.what();
    }
  }

  Browser() {
    start();
    const std::string target = command("Target.createTarget", {{"url", "about:blank"}}).at("targetId");
    session_ = command("Target.attachToTarget", {{"targetId", target}, {"flatten", true}}).at("sessionId");
    for (const char* domain : {"Page", "Runtime", "Network", "Log", "Accessibility"})
      command(std::string(domain) + ".enable");
    set_size(1200, 900);
  }
  ~Browser() {
    ::close(to_), ::close(from_);  // by which it ends
    const auto until = Clock::now() + std::chrono::seconds(5);
    while (::waitpid(pid_, nullptr, WNOHANG) == 0 && Clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ::kill(-pid_, SIGKILL);  // it and its processes
    ::waitpid(pid_, nullptr, 0);
    std::error_code busy;
    do std::filesystem::remove_all(folder_ / "data", busy);
    while (busy && Clock::now() < until + std::chrono::seconds(5));
  }
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;

  /// Opens a page and waits until it is loaded. Requests to other servers are problems.
  void open(const std::string& address) {
    origin_ = address.substr(0, address.find('/', address.find("//") + 2));
    command("Page.navigate", {{"url", address}});
    wait_for("document.readyState === 'complete' && location.href.startsWith('http')");
  }
  /// The value of an expression of JavaScript; a promise is awaited.
  Json evaluate(const std::string& expression) {
    const Json answer = command(
        "Runtime.evaluate",
        {{"expression", expression}, {"awaitPromise", true}, {"returnByValue", true}, {"userGesture", true}});
    if (answer.contains("exceptionDetails"))
      throw std::runtime_error(expression + ": " + answer.at("exceptionDetails").dump());
    return answer.at("result").value("value", Json());
  }
  /// Waits until an expression is true.
  void wait_for(const std::string& expression) {
    const auto until = Clock::now() + patience;
    while (evaluate("Boolean(" + expression + ")") != true) {
      if (Clock::now() > until)
        throw std::runtime_error("never true: " + expression +
                                 "; the page has: " + evaluate("document.body.innerText").dump());
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  /// Clicks in the middle of the first element that a CSS selector finds.
  void click(const std::string& selector) {
    const Json place = point_at(selector);
    for (const char* type : {"mousePressed", "mouseReleased"})
      command("Input.dispatchMouseEvent",
              {{"type", type}, {"x", place.at(0)}, {"y", place.at(1)}, {"button", "left"}, {"clickCount", 1}});
  }
  void hover(const std::string& selector) { point_at(selector); }
  /// Types into the element that has the focus.
  void type(const std::string& text) { command("Input.insertText", {{"text", text}}); }
  /// Presses a key: "Tab", "Enter", "ArrowLeft", ... or a character.
  void press(const std::string& key) {
    static const std::map<std::string, int> codes = {
        {"Tab", 9},   {"Enter", 13},     {"Escape", 27},  {" ", 32},          {"End", 35},
        {"Home", 36}, {"ArrowLeft", 37}, {"ArrowUp", 38}, {"ArrowRight", 39}, {"ArrowDown", 40}};
    const auto known = codes.find(key);
    const int code = known != codes.end() ? known->second : std::toupper(key.at(0));
    Json event{{"type", "keyDown"}, {"key", key}, {"code", key}, {"windowsVirtualKeyCode", code}};
    if (key.size() == 1 || key == "Enter") event["text"] = key == "Enter" ? "\r" : key;
    command("Input.dispatchKeyEvent", event);
    event["type"] = "keyUp";
    command("Input.dispatchKeyEvent", event);
  }

  void set_size(int width, int height) {
    command("Emulation.setDeviceMetricsOverride",
            {{"width", width}, {"height", height}, {"deviceScaleFactor", 1}, {"mobile", false}});
  }
  void set_dark(bool dark) {
    command("Emulation.setEmulatedMedia",
            {{"features", {{{"name", "prefers-color-scheme"}, {"value", dark ? "dark" : "light"}}}}});
  }
  /// Writes a picture of the whole page as PNG.
  void screenshot(const std::string& path) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    const Json size = command("Page.getLayoutMetrics").at("cssContentSize");
    const Json picture = command(
        "Page.captureScreenshot",
        {{"captureBeyondViewport", true},
         {"clip",
          {{"x", 0}, {"y", 0}, {"width", size.at("width")}, {"height", size.at("height")}, {"scale", 1}}}});
    std::ofstream(path, std::ios::binary) << bytes_of(picture.at("data").get<std::string>());
  }
  /// The nodes of the accessibility tree.
  Json accessibility() { return command("Accessibility.getFullAXTree").at("nodes"); }

  /// Errors of the page's scripts and in its console, and requests to other servers.
  const std::vector<std::string>& problems() const { return problems_; }

  /// Sends a command of the protocol and returns its result.
  Json command(const std::string& method, const Json& parameters = Json::object()) {
    Json message{{"id", ++last_id_}, {"method", method}, {"params", parameters}};
    if (!session_.empty()) message["sessionId"] = session_;
    send(message.dump());
    while (true) {
      const Json answer = receive();
      if (answer.contains("method")) note(answer);
      if (answer.value("id", 0) != last_id_) continue;
      if (answer.contains("error")) throw std::runtime_error(method + ": " + answer.at("error").dump());
      return answer.at("result");
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds patience{60};

  void start() {
    std::array<int, 2> commands{}, answers{};
    if (::pipe2(commands.data(), O_CLOEXEC) != 0 || ::pipe2(answers.data(), O_CLOEXEC) != 0)
      throw std::runtime_error("no pipes");
    const std::string path = program(), data = "--user-data-dir=" + folder_ / "data",
                      log = folder_ / "chromium.log";
    const std::vector<const char*> arguments = {path.c_str(),
                                                data.c_str(),
                                                "--headless=new",
                                                "--no-sandbox",
                                                "--disable-gpu",
                                                "--no-first-run",
                                                "--disable-dev-shm-usage",
                                                "--disable-background-networking",
                                                "--disable-extensions",
                                                "--mute-audio",
                                                "--hide-scrollbars",
                                                "--lang=en-US",
                                                "--remote-debugging-pipe",
                                                "about:blank",
                                                nullptr};
    const int errors = ::open(log.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::setpgid(0, 0);
      const int input = ::fcntl(commands[0], F_DUPFD, 10), output = ::fcntl(answers[1], F_DUPFD, 10);
      ::dup2(errors, 1), ::dup2(errors, 2), ::dup2(input, 3), ::dup2(output, 4);
      ::close(input), ::close(output);
      ::execv(path.c_str(), const_cast<char* const*>(arguments.data()));
      ::_exit(127);
    }
    ::close(commands[0]), ::close(answers[1]), ::close(errors);
    to_ = commands[1], from_ = answers[0];
    ::signal(SIGPIPE, SIG_IGN);
  }

  void send(std::string text) const {
    text += '\0';
    for (size_t sent = 0; sent < text.size();) {
      const ssize_t count = ::write(to_, text.data() + sent, text.size() - sent);
      if (count <= 0) throw std::runtime_error("the browser has ended");
      sent += static_cast<size_t>(count);
    }
  }
  Json receive() {
    const auto until = Clock::now() + patience;
    size_t end;
    while ((end = received_.find('\0')) == received_.npos) {
      pollfd watched{from_, POLLIN, 0};
      std::array<char, 65536> buffer;
      if (Clock::now() > until) throw std::runtime_error("the browser does not answer");
      if (::poll(&watched, 1, 1000) <= 0) continue;
      const ssize_t count = ::read(from_, buffer.data(), buffer.size());
      if (count <= 0) throw std::runtime_error("the browser has ended");
      received_.append(buffer.data(), static_cast<size_t>(count));
    }
    const Json message = Json::parse(received_.substr(0, end));
    received_.erase(0, end + 1);
    return message;
  }

  void note(const Json& event) {
    const std::string method = event.at("method");
    const Json& parameters = event.at("params");
    const bool console_error = method == "Runtime.consoleAPICalled" && parameters.at("type") == "error";
    const bool log_error = method == "Log.entryAdded" && parameters.at("entry").at("level") == "error";
    if (method == "Runtime.exceptionThrown" || console_error || log_error)
      problems_.push_back(parameters.dump());
    if (method != "Network.requestWillBeSent") return;
    const std::string address = parameters.at("request").at("url");
    if (!address.starts_with(origin_) && !address.starts_with("data:"))
      problems_.push_back("request to " + address);
  }

  /// The bytes of a text in base64.
  static std::string bytes_of(const std::string& text) {
    static const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string bytes;
    uint32_t bits = 0;
    int count = 0;
    for (const char c : text) {
      if (c == '=') break;
      bits = bits << 6 | static_cast<uint32_t>(digits.find(c));
      if ((count += 6) < 8) continue;
      count -= 8;
      bytes += static_cast<char>(bits >> count & 0xFF);
    }
    return bytes;
  }

  /// Moves the pointer to the middle of an element, again if the element has moved meanwhile, and returns the
  /// place.
  Json point_at(const std::string& selector) {
    for (const auto until = Clock::now() + patience; Clock::now() < until;) {
      const Json place = middle_of(selector);
      command("Input.dispatchMouseEvent", {{"type", "mouseMoved"}, {"x", place.at(0)}, {"y", place.at(1)}});
      if (evaluate("Boolean(document.querySelector(" + Json(selector).dump() + ")?.matches(':hover'))") == true)
        return place;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    throw std::runtime_error("the pointer does not reach " + selector);
  }

  Json middle_of(const std::string& selector) {
    const Json place = evaluate("(() => { const found = document.querySelector(" + Json(selector).dump() +
                                "); if (!found) return null; found.scrollIntoView({block: 'center'});"
                                "const box = found.getBoundingClientRect();"
                                "return [box.x + box.width / 2, box.y + box.height / 2]; })()");
    if (place.is_null()) throw std::runtime_error("there is no " + selector);
    return place;
  }

  TemporaryFolder folder_;
  pid_t pid_ = -1;
  int to_ = -1, from_ = -1, last_id_ = 0;
  std::string received_, session_, origin_ = "about:";
  std::vector<std::string> problems_;
};

}  // namespace sixfold
