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
  size_t max_texts = 2048;                ///< number of texts of a request
  size_t max_text_bytes = 1'000'000;      ///< bytes of all texts of a request
  size_t max_waiting_bytes = 16'000'000;  ///< bytes of the texts of all requests together
  int max_alternatives = 10;
  int max_new_tokens = 4096;  ///< of a generated text
  int max_samples = 16;       ///< number of texts for each prompt
  /// The limit of all texts that a request generates, or `max_new_tokens` if that is larger.
  int64_t max_tokens_of_request = 1 << 18;
  /// The maximum length of a sentence for which the attention of all layers, or the search, is shown; 0: they
  /// are never shown.
  int max_observed_tokens = 64;
  bool keep_symbols = true;  ///< as in `TranslateOptions`
  bool page = true;          ///< whether there is a page for browsers
  std::string keys;          ///< file of API keys; empty: none are needed
  std::string glossaries;    ///< folder in which glossaries are stored; empty: they are kept in memory only
  GlossaryLimits glossary_limits = {};
  std::string suggestions;  ///< file of suggestions; empty: none are accepted
  KeptFileLimits files = {};
};

/// What all interfaces of the server have in common: models, limits and counts. Safe to share between threads.
class Service {
 public:
  Service(const std::vector<ModelSpec>& models, const EngineSettings& engine, const ServiceOptions& options,
          ServedTasks tasks);
  /// Loads the models and the API keys, and sets the limits of requests from `options`. If something can't be
  /// loaded, throws and changes nothing. Requests that have begun keep their models.
  void reload(const std::vector<ModelSpec>& models, const EngineSettings& engine,
              const ServiceOptions& options);

  /// A copy of the options, which `reload` may change at any time.
  ServiceOptions options() const;
  Models& models() { return models_; }
  Metrics& metrics() { return metrics_; }
  ApiKeys& keys() { return keys_; }
  Glossaries& glossaries() { return glossaries_; }
  KeptFiles& files() { return files_; }
  Suggestions& suggestions() { return suggestions_; }

  /// Throws an `HttpError` (413) if the texts of a request exceed the limit.
  void require_few_bytes(std::span<const std::string> texts) const;
  void require_few_bytes(size_t bytes) const;
  /// Counts the bytes of a request's texts as waiting during the lifetime of the result. Throws an `HttpError`
  /// (503) if they would exceed the limit.
  std::shared_ptr<const Reservation> reserve_text_bytes(size_t bytes);
  /// The key by which requests take turns fairly (`TranslateOptions::caller`): the API key of a request or, if
  /// none is needed, the address of its client.
  std::string scheduling_key(const HttpRequest& request) const;
  /// The client to which glossaries and counts belong: the API key of a request or, if none is needed, an empty
  /// text for all requests.
  std::string client_of(const HttpRequest& request) const;
  struct Languages {
    std::string source, target;
  };
  /// The glossary of the request's client with this id. Throws an `HttpError`: 404 if there is none, 400 if it
  /// is for other languages.
  std::shared_ptr<const Glossary> glossary(const HttpRequest& request, const std::string& id,
                                           const Languages& languages) const;
  /// Counts the characters of texts that were translated for a client.
  void count(const std::string& client, std::span<const std::string> texts);
  /// Counts sentences that were too long for a model, and logs a warning.
  void count_cut_sentences(const std::string& model, size_t sentences);
  std::string metrics_text() const;
  /// The number of characters that were translated for a client (`client_of`) so far.
  int64_t characters(const std::string& client) const;
  /// A number that is different for each request.
  uint64_t next_request_number() { return ++number_; }
  /// A random seed, for a request that does not give one.
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
  std::map<std::string, int64_t> characters_;  // number of translated characters of each client
  std::atomic<size_t> waiting_bytes_{0};       // of the texts that are being translated
  RateLimitedWarning cut_warning_;
};

size_t bytes_of(std::span<const std::string> texts);

/// The message to a client whose request was cancelled.
constexpr const char* cancelled_message =
    "The request took longer than request_seconds allows, or the server ends.";

/// A handler for the requests with a method and a path. A "*" at the end of `path` matches any text, which is
/// passed to `answer`.
struct Route {
  std::string method, path;
  std::function<HttpAnswer(const HttpRequest&, const std::string& part)> answer;
  ErrorBody error;         ///< the form of errors
  bool is_public = false;  ///< whether requests need no API key
};

/// The routes that describe models: /v1/models, /v1/models/NAME and /v1/models/NAME/positions.
std::vector<Route> model_routes(Service& service);
/// The page for browsers: / and its files under /page/.
std::vector<Route> page_routes();
/// The routes for operators: /health, /ready, /version, /metrics and /spec.
std::vector<Route> operation_routes(Service& service);
/// The answer while the server loads its models: it is alive (/health) but not ready.
HttpAnswer answer_before_ready(const HttpRequest& request);
/// The routes of all tasks, and those above.
std::vector<Route> all_routes(Service& service);

/// Answers a request by the first route that matches it. Errors become answers in the form of the route's
/// interface.
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
