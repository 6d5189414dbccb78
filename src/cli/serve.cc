#include <csignal>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "cli/commands.h"
#include "cli/model_folder.h"
#include "cli/text_io.h"
#include "serve/config.h"

namespace sixfold::cli {
namespace {

struct ServeSettings {
  std::string config, host, port;
  std::vector<std::string> models, assignments;
};

/// A server and what it serves.
struct Running {
  serve::Service& service;
  serve::HttpServer& server;
  double grace_seconds;
};

void reload(serve::Service& service) {
  try {
    service.models().reload();
    log_info("the models were loaded again");
  } catch (const std::exception& error) {
    log_warning("the models were not loaded again, and the old ones go on: {}", error.what());
  }
}

/// Waits for signals in a thread of its own: SIGHUP loads the models again, SIGINT and SIGTERM end the server,
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
    Acting(Signals& signals, const Running& running) : signals_(signals) {
      const std::lock_guard lock(signals_.mutex_);
      signals_.running_.emplace(running);
    }
    ~Acting() {
      const std::lock_guard lock(signals_.mutex_);
      signals_.running_.reset();
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
      if (running_) reload(running_->service);
    }
  }

  /// The next signals have their usual effects.
  void end(int signal) {
    pthread_sigmask(SIG_UNBLOCK, &set_, nullptr);
    if (!running_) {
      std::raise(signal);
      return;
    }
    log_info("ending: requests that were accepted have {} s to end", running_->grace_seconds);
    running_->server.stop(std::chrono::milliseconds(static_cast<int64_t>(running_->grace_seconds * 1000)));
  }

  sigset_t set_{};
  std::mutex mutex_;  // guards `running_`
  std::optional<Running> running_;
  std::jthread thread_;  // last: it uses the members above
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

void run(const ServeSettings& settings) {
  Signals signals;  // first: threads inherit the mask
  const serve::ServeConfig config = config_of(settings);
  serve::Service service({config.models.begin(), config.models.end()}, config.engine(), config.service());
  const serve::Router router(service, serve::all_routes(service));
  serve::HttpServer server(config.http(),
                           [&](const serve::HttpRequest& request) { return router.answer(request); });
  const Signals::Acting acting(signals,
                               {.service = service, .server = server, .grace_seconds = config.grace_seconds});
  log_info("{} at http://{}:{}", counted(service.models().all().size(), "model"),
           config.host.find(':') == std::string::npos ? config.host : "[" + config.host + "]", server.port());
  server.run();
}

}  // namespace

void add_serve(CLI::App& app) {
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
      "as OpenAI's completions (/v1/completions). SIGHUP loads the models again, SIGTERM ends the server when\n"
      "all it accepted is done.\n"
      "Example:\n  sixfold serve en-de=run/model --port 7070\n"
      "  curl localhost:7070/translate -d q='The old dog sleeps.' -d source=en -d target=de");
  command.callback([settings] { run(*settings); });
}

}  // namespace sixfold::cli
