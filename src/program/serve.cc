#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "program/commands.h"
#include "program/kit/model_folder.h"
#include "program/kit/text_io.h"
#include "serve/config.h"

namespace sixfold::cli {
namespace {

struct ServeSettings {
  std::string config, host, port;
  std::vector<std::string> models, assignments;
};

/// The settings of the server. The options of the command take precedence over all other sources.
serve::ServeConfig config_of(const ServeSettings& settings) {
  std::vector<std::string> assignments = settings.assignments;
  if (!settings.host.empty()) assignments.push_back("host=" + settings.host);
  if (!settings.port.empty()) assignments.push_back("port=" + settings.port);
  serve::ServeConfig config = serve::read_serve_config(
      settings.config, [](const std::string& name) { return std::getenv(name.c_str()); }, assignments);
  if (!settings.models.empty()) config.models = settings.models;
  return config;
}

std::vector<serve::ModelSpec> specs_of(const serve::ServeConfig& config) {
  return {config.models.begin(), config.models.end()};
}

/// A running server, which can be reloaded (SIGHUP) and stopped.
class RunningServer {
 public:
  RunningServer(const ServeSettings& settings, const serve::ServeConfig& config, serve::Service& service,
                serve::HttpServer& server)
      : settings_(settings),
        start_config_(config),
        grace_seconds_(config.grace_seconds),
        service_(service),
        server_(server) {}

  void reload() try {
    serve::ServeConfig config = config_of(settings_);
    warn_of_fixed_settings(config);
    config.host = start_config_.host;
    config.suggestions = start_config_.suggestions;
    const serve::HttpOptions http = config.http();  // throws before anything changes
    service_.reload(specs_of(config), config.engine(), config.service());
    server_.reconfigure(http);
    grace_seconds_ = config.grace_seconds;
    log_info("reloaded: settings, API keys and {}", counted(config.models.size(), "model"));
  } catch (const std::exception& error) {
    log_warning("nothing was reloaded; the old settings, API keys and models stay: {}", error.what());
  }

  void stop() {
    log_info("ending: requests that were accepted have {} s to end", grace_seconds_);
    server_.stop(std::chrono::milliseconds(static_cast<int64_t>(grace_seconds_ * 1000)));
  }

 private:
  /// Warns of settings that have changed but take effect only when the server is restarted.
  void warn_of_fixed_settings(serve::ServeConfig& config) {
    const auto fixed = serve::settings_fixed_at_start();
    for (const std::string& key : differing_keys(write_options(start_config_), write_options(config)))
      if (std::ranges::find(fixed, key) != fixed.end())
        log_warning("{}: the new value counts when the server is started again", key);
  }

  const ServeSettings& settings_;
  serve::ServeConfig start_config_;  // that with which the server was started
  double grace_seconds_;
  serve::Service& service_;
  serve::HttpServer& server_;
};

/// Handles signals in a separate thread: SIGHUP reloads the server; SIGINT and SIGTERM stop it, or end the
/// program if there is no server yet. A second SIGINT or SIGTERM ends the program at once. Must be constructed
/// before other threads are started, because they inherit the mask that blocks these signals.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set_, signal);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
  }

  /// Lets signals control a server during the lifetime of this object.
  class ControlledServer {
   public:
    ControlledServer(Signals& signals, RunningServer& running) : signals_(signals) {
      const std::lock_guard lock(signals_.mutex_);
      signals_.running_ = &running;
    }
    ~ControlledServer() {
      const std::lock_guard lock(signals_.mutex_);
      signals_.running_ = nullptr;
    }
    ControlledServer(const ControlledServer&) = delete;
    ControlledServer& operator=(const ControlledServer&) = delete;

   private:
    Signals& signals_;
  };

 private:
  void work(const std::stop_token& stop) {
    const timespec timeout{0, 100'000'000};
    while (!stop.stop_requested()) {
      const int signal = sigtimedwait(&set_, nullptr, &timeout);
      if (signal < 0) continue;
      const std::lock_guard lock(mutex_);
      if (signal != SIGHUP) return end(signal);
      if (running_) running_->reload();
    }
  }

  /// Ends the server or the program. Later signals have their default effects.
  void end(int signal) {
    pthread_sigmask(SIG_UNBLOCK, &set_, nullptr);
    if (!running_) {
      std::raise(signal);
      return;
    }
    running_->stop();
  }

  sigset_t set_{};
  std::mutex mutex_;  // guards `running_`
  RunningServer* running_ = nullptr;
  std::jthread thread_;  // last: it uses the members above
};

/// Runs a server in a separate thread. The destructor stops the server.
class ServerThread {
 public:
  explicit ServerThread(serve::HttpServer& server) : server_(server), thread_([&server] { server.run(); }) {}
  ~ServerThread() { server_.stop(std::chrono::milliseconds(0)); }
  ServerThread(const ServerThread&) = delete;
  ServerThread& operator=(const ServerThread&) = delete;
  /// Waits until the server has been stopped.
  void wait() { thread_.join(); }

 private:
  serve::HttpServer& server_;
  std::jthread thread_;
};

/// The server listens before its models are loaded, so that health checks succeed meanwhile.
void run(const ServeSettings& settings, serve::ServedTasks tasks) {
  Signals signals;  // first: threads inherit the mask
  const serve::ServeConfig config = config_of(settings);
  serve::require_model_folders(specs_of(config));
  std::optional<serve::Service> service;
  std::optional<serve::Router> router;
  std::atomic<bool> ready = false;
  serve::HttpServer server(
      config.http(),
      [&](const serve::HttpRequest& request) {
        return ready ? router->answer(request) : serve::answer_before_ready(request);
      },
      [&](int status) {
        if (ready) service->metrics().count_request("other", status, 0);
      });
  ServerThread serving(server);
  service.emplace(specs_of(config), config.engine(), config.service(), tasks);
  router.emplace(*service, serve::all_routes(*service));
  ready = true;
  RunningServer running(settings, config, *service, server);
  const Signals::ControlledServer controlled(signals, running);
  log_info("{} at http://{}:{}", counted(service->models().all().size(), "model"),
           config.host.find(':') == std::string::npos ? config.host : "[" + config.host + "]", server.port());
  serving.wait();
}

}  // namespace

void add_serve(CLI::App& app, serve::ServedTasks tasks) {
  const auto settings = std::make_shared<ServeSettings>();
  CLI::App& command = *app.add_subcommand("serve", "Serve models over HTTP");
  command.add_option(
      "MODELS", settings->models,
      "models to serve: LANGUAGES=FOLDER, as in en-de=run/model, or NAME=FOLDER; of an ensemble all "
      "folders, with a + between them");
  command.add_option("--port", settings->port, "port to listen to; 0: any that is free (default: 7070)")
      ->type_name("N");
  command
      .add_option("--host", settings->host,
                  "address to listen to; 0.0.0.0: all addresses of this machine (default: 127.0.0.1)")
      ->type_name("ADDRESS");
  command
      .add_option(
          "--config", settings->config,
          "settings; those of the environment (SIXFOLD_PORT for port) and of the command line come after")
      ->type_name("FILE.yaml");
  command.add_option("--set", settings->assignments, "set keys of the settings, e.g. threads=4 texts=100")
      ->type_name("KEY=VALUE")
      ->take_all();
  command
      .add_flag_callback(
          "--options", [] { print_and_exit(to_documented_yaml(write_options(serve::ServeConfig()))); },
          "list every key of the settings with its default, and exit")
      ->trigger_on_parse();
  command.footer(
      "The server speaks as LibreTranslate (/translate), as DeepL (/v2/translate) and, for language models,\n"
      "as OpenAI's completions (/v1/completions and /v1/chat/completions). SIGHUP reloads settings, API keys\n"
      "and models; SIGTERM ends the server when all requests that it has accepted are answered.\n"
      "Example:\n  sixfold serve en-de=run/model --port 7070\n"
      "  curl localhost:7070/translate -d q='The old dog sleeps.' -d source=en -d target=de");
  command.callback([settings, tasks] { run(*settings, tasks); });
}

}  // namespace sixfold::cli
