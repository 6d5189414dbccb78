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

/// The options of the command are assignments that come last.
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

/// A server and what it serves. SIGHUP loads it again.
class Running {
 public:
  Running(const ServeSettings& settings, const serve::ServeConfig& config, serve::Service& service,
          serve::HttpServer& server)
      : settings_(settings),
        started_(config),
        grace_seconds_(config.grace_seconds),
        service_(service),
        server_(server) {}

  void reload() try {
    serve::ServeConfig config = config_of(settings_);
    tell_what_stays(config);
    config.host = started_.host;
    const serve::HttpOptions http = config.http();  // throws before anything changes
    service_.reload(specs_of(config), config.engine(), config.service());
    server_.reconfigure(http);
    grace_seconds_ = config.grace_seconds;
    log_info("loaded again: settings, API keys and {}", counted(config.models.size(), "model"));
  } catch (const std::exception& error) {
    log_warning("nothing was loaded again, and the old settings, API keys and models stay: {}", error.what());
  }

  void stop() {
    log_info("ending: requests that were accepted have {} s to end", grace_seconds_);
    server_.stop(std::chrono::milliseconds(static_cast<int64_t>(grace_seconds_ * 1000)));
  }

 private:
  /// Names the settings that have changed without effect.
  void tell_what_stays(serve::ServeConfig& config) {
    const auto stays = serve::settings_fixed_at_start();
    for (const std::string& key : differing_keys(write_options(started_), write_options(config)))
      if (std::ranges::find(stays, key) != stays.end())
        log_warning("{}: the new value counts when the server is started again", key);
  }

  const ServeSettings& settings_;
  serve::ServeConfig started_;  // with which the server was started
  double grace_seconds_;
  serve::Service& service_;
  serve::HttpServer& server_;
};

/// Waits for signals in a thread of its own: SIGHUP loads everything again, SIGINT and SIGTERM end the server,
/// or the program before there is a server. A second of these ends the program at once. Other threads must be
/// started later: they have these signals blocked.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set_, signal);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
  }

  /// While it lives, signals act on a server.
  class Acting {
   public:
    Acting(Signals& signals, Running& running) : signals_(signals) {
      const std::lock_guard lock(signals_.mutex_);
      signals_.running_ = &running;
    }
    ~Acting() {
      const std::lock_guard lock(signals_.mutex_);
      signals_.running_ = nullptr;
    }
    Acting(const Acting&) = delete;
    Acting& operator=(const Acting&) = delete;

   private:
    Signals& signals_;
  };

 private:
  void work(const std::stop_token& stop) {
    const timespec moment{0, 100'000'000};
    while (!stop.stop_requested()) {
      const int signal = sigtimedwait(&set_, nullptr, &moment);
      if (signal < 0) continue;
      const std::lock_guard lock(mutex_);
      if (signal != SIGHUP) return end(signal);
      if (running_) running_->reload();
    }
  }

  /// The next signals have their usual effects.
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
  Running* running_ = nullptr;
  std::jthread thread_;  // last: it uses the members above
};

/// Runs a server on a thread of its own, and stops it at the end.
class Serving {
 public:
  explicit Serving(serve::HttpServer& server) : server_(server), thread_([&server] { server.run(); }) {}
  ~Serving() { server_.stop(std::chrono::milliseconds(0)); }
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;
  /// Waits until the server has been stopped.
  void wait() { thread_.join(); }

 private:
  serve::HttpServer& server_;
  std::jthread thread_;
};

/// The server listens before it has its models, so that whoever watches it sees that it is alive.
void run(const ServeSettings& settings, serve::ServedTasks tasks) {
  Signals signals;  // first: threads inherit the mask
  const serve::ServeConfig config = config_of(settings);
  serve::require_model_folders(specs_of(config));
  std::optional<serve::Service> service;
  std::optional<serve::Router> router;
  std::atomic<bool> ready = false;
  serve::HttpServer server(config.http(), [&](const serve::HttpRequest& request) {
    return ready ? router->answer(request) : serve::answer_before_ready(request);
  });
  Serving serving(server);
  service.emplace(specs_of(config), config.engine(), config.service(), tasks);
  router.emplace(*service, serve::all_routes(*service));
  ready = true;
  Running running(settings, config, *service, server);
  const Signals::Acting acting(signals, running);
  log_info("{} at http://{}:{}", counted(service->models().all().size(), "model"),
           config.host.find(':') == std::string::npos ? config.host : "[" + config.host + "]", server.port());
  serving.wait();
}

}  // namespace

void add_serve(CLI::App& app, serve::ServedTasks tasks) {
  const auto settings = std::make_shared<ServeSettings>();
  CLI::App& command = *app.add_subcommand("serve", "Serve models over HTTP");
  command.add_option("MODELS", settings->models,
                     "models to serve: LANGUAGES=FOLDER, as in en-de=run/model, or NAME=FOLDER");
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
      "as OpenAI's completions (/v1/completions and /v1/chat/completions). SIGHUP loads settings, API\n"
      "keys and models again, SIGTERM ends the server when all it accepted is done.\n"
      "Example:\n  sixfold serve en-de=run/model --port 7070\n"
      "  curl localhost:7070/translate -d q='The old dog sleeps.' -d source=en -d target=de");
  command.callback([settings, tasks] { run(*settings, tasks); });
}

}  // namespace sixfold::cli
