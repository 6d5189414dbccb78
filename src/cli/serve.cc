#include <csignal>
#include <cstdlib>
#include <memory>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "cli/commands.h"
#include "cli/model_folder.h"
#include "serve/config.h"

namespace sixfold::cli {
namespace {

struct Settings {
  std::string config, host, port;
  std::vector<std::string> models, assignments;
};

/// Waits for signals in a thread of its own: SIGHUP loads the models again, SIGINT and SIGTERM end the server.
/// A second of these ends the program at once. All other threads must have been started with these signals
/// blocked.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set_, signal);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }
  int wait() const {
    int signal = 0;
    sigwait(&set_, &signal);
    return signal;
  }
  /// The next signals have their usual effects.
  void release() const { pthread_sigmask(SIG_UNBLOCK, &set_, nullptr); }

 private:
  sigset_t set_{};
};

void reload(serve::Service& service) {
  try {
    service.models().reload();
    log_info("the models were loaded again");
  } catch (const std::exception& error) {
    log_warning("the models were not loaded again, and the old ones go on: {}", error.what());
  }
}

/// The options of the command are assignments that come last.
serve::ServeConfig config_of(const Settings& settings) {
  std::vector<std::string> assignments = settings.assignments;
  if (!settings.host.empty()) assignments.push_back("host=" + settings.host);
  if (!settings.port.empty()) assignments.push_back("port=" + settings.port);
  serve::ServeConfig config = serve::read_serve_config(
      settings.config, [](const std::string& name) { return std::getenv(name.c_str()); }, assignments);
  if (!settings.models.empty()) config.models = settings.models;
  return config;
}

void run(const Settings& settings) {
  const Signals signals;  // first: threads inherit the mask
  const serve::ServeConfig config = config_of(settings);
  serve::Service service({config.models.begin(), config.models.end()}, config.engine(), config.service());
  const serve::Router router(service, serve::all_routes(service));
  serve::HttpServer server(config.http(),
                           [&](const serve::HttpRequest& request) { return router.answer(request); });
  std::thread ends([&] {
    for (int signal; (signal = signals.wait()) == SIGHUP;) reload(service);
    log_info("ending: requests that were accepted have {} s to end", config.grace_seconds);
    signals.release();
    server.stop(std::chrono::milliseconds(static_cast<int64_t>(config.grace_seconds * 1000)));
  });
  log_info("{} at http://{}:{}", counted(service.models().all().size(), "model"),
           config.host.find(':') == std::string::npos ? config.host : "[" + config.host + "]", server.port());
  server.run();
  ends.join();
}

}  // namespace

void add_serve(CLI::App& app) {
  const auto settings = std::make_shared<Settings>();
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
          "--options",
          [] { fmt::print("{}", to_documented_yaml(write_options(serve::ServeConfig()))), std::exit(0); },
          "list every key of the settings with its default, and exit")
      ->trigger_on_parse();
  command.footer(
      "The server speaks as LibreTranslate (/translate) and, for language models, as OpenAI's completions\n"
      "(/v1/completions). SIGHUP loads the models again, SIGTERM ends the server when all it accepted is "
      "done.\n"
      "Example:\n  sixfold serve en-de=run/model --port 7070\n"
      "  curl localhost:7070/translate -d q='The old dog sleeps.' -d source=en -d target=de");
  command.callback([settings] { run(*settings); });
}

}  // namespace sixfold::cli
