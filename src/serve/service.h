#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "serve/glossaries.h"
#include "serve/http/api_keys.h"
#include "serve/http/fields.h"
#include "serve/http/http.h"
#include "serve/http/kept_files.h"
#include "serve/http/rate_limited_warning.h"
#include "serve/http/refusal.h"
#include "serve/http/reservation.h"
#include "serve/metrics.h"
#include "serve/models.h"
#include "serve/suggestions.h"

namespace sixfold::serve {

struct ServiceOptions {
  size_t max_texts = 2048;                ///< of a request
  size_t max_text_bytes = 1'000'000;      ///< bytes of all texts of a request
  size_t max_waiting_bytes = 16'000'000;  ///< bytes of the texts of all requests at a time
  int max_alternatives = 10;
  int max_new_tokens = 4096;  ///< of a text that is generated
  int max_samples = 16;       ///< texts for each prompt
  /// Of all texts that a request generates; one text may have `max_new_tokens` all the same.
  int64_t max_tokens_of_request = 1 << 18;
  /// Tokens of a sentence of which attention of all layers or the search is shown; 0: of none.
  int max_observed_tokens = 64;
  bool keep_symbols = true;  ///< as in `TranslateOptions`
  bool page = true;          ///< whether there is a page for browsers
  std::string keys;          ///< file of API keys; empty: none are needed
  std::string glossaries;    ///< folder in which glossaries outlive the server; empty: none
  GlossaryLimits glossary_limits = {};
  std::string suggestions;  ///< file of suggestions; empty: none are taken
  KeptFileLimits files = {};
};

/// What all faces of the server share: models, limits and counts. Safe to share between threads.
class Service {
 public:
  Service(const std::vector<ModelSpec>& models, const EngineSettings& engine, const ServiceOptions& options,
          ServedTasks tasks);
  /// Loads the models and the API keys, and takes the limits of requests from `options`. If something can't be
  /// loaded, throws, and all stays as it was. Requests that have begun keep their models.
  void reload(const std::vector<ModelSpec>& models, const EngineSettings& engine,
              const ServiceOptions& options);

  /// They may change at any time.
  ServiceOptions options() const;
  Models& models() { return models_; }
  Metrics& metrics() { return metrics_; }
  ApiKeys& keys() { return keys_; }
  Glossaries& glossaries() { return glossaries_; }
  KeptFiles& files() { return files_; }
  Suggestions& suggestions() { return suggestions_; }

  /// Throws an `HttpError` (413) if the texts are longer than the limit.
  void require_few_bytes(std::span<const std::string> texts) const;
  void require_few_bytes(size_t bytes) const;
  /// Counts bytes as waiting texts while the result lives. Throws an `HttpError` (503) if too much waits.
  std::shared_ptr<const Reservation> wait(size_t bytes);
  /// The name under which a request takes turns with others: of its API key or, if none are needed, of its
  /// address.
  std::string scheduling_key(const HttpRequest& request) const;
  /// The client of a request: its API key, or the same for all if none are needed.
  std::string client_of(const HttpRequest& request) const;
  struct Languages {
    std::string source, target;
  };
  /// A glossary of the client. Throws an `HttpError`: 404 if there is none with this id, 400 if it is for other
  /// languages.
  std::shared_ptr<const Glossary> glossary(const HttpRequest& request, const std::string& id,
                                           const Languages& languages) const;
  /// Counts the characters of texts that were translated for a client.
  void count(const std::string& client, std::span<const std::string> texts);
  /// Counts sentences that were too long for a model, and warns of them.
  void count_cut_sentences(const std::string& model, size_t sentences);
  std::string metrics_text() const;
  /// The number of characters that were translated so far for a client (`client_of`).
  int64_t characters(const std::string& client) const;
  /// A number that no other request has.
  uint64_t next_request_number() { return ++number_; }
  /// A seed for a request that gives none: another one each time.
  int64_t next_seed();

 private:
  ServiceOptions options_;
  Models models_;
  Metrics metrics_;
  ApiKeys keys_;
  Glossaries glossaries_;
  KeptFiles files_;
  Suggestions suggestions_;
  std::atomic<uint64_t> number_{0};
  mutable std::mutex mutex_;                   // guards `options_` and the next member
  std::map<std::string, int64_t> characters_;  // that were translated for each client
  std::atomic<size_t> waiting_{0};             // bytes of texts that are being translated
  RateLimitedWarning cut_;
};

size_t bytes_of(std::span<const std::string> texts);

/// What clients are told when their request was cancelled.
constexpr const char* cancelled_message =
    "The request took longer than request_seconds allows, or the server ends.";

/// A route: what answers requests of a method to a path. A "*" in `path` is a part that is handed to `answer`.
struct Route {
  std::string method, path;
  std::function<HttpAnswer(const HttpRequest&, const std::string& part)> answer;
  ErrorBody error;
  bool open = false;  ///< answers without an API key
};

/// The routes that describe models: /v1/models, /v1/models/NAME and /v1/models/NAME/positions.
std::vector<Route> model_routes(Service& service);
/// The page for browsers: / and its files under /page/.
std::vector<Route> page_routes();
/// /health, /ready, /version, /metrics and /spec.
std::vector<Route> operation_routes(Service& service);
/// What a server answers while it loads its models: it is alive (/health) and not ready.
HttpAnswer answer_before_ready(const HttpRequest& request);
/// Those of the tasks, and these.
std::vector<Route> all_routes(Service& service);

/// Answers requests by the first route that fits. Errors become answers in the form of their face.
class Router {
 public:
  Router(Service& service, std::vector<Route> routes) : service_(service), routes_(std::move(routes)) {}
  HttpAnswer answer(const HttpRequest& request) const;

 private:
  HttpAnswer dispatch(const Route& route, const HttpRequest& request, const std::string& part) const;
  HttpAnswer no_route(const HttpRequest& request) const;

  Service& service_;
  const std::vector<Route> routes_;
};

}  // namespace sixfold::serve
