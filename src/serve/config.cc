#include "serve/config.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <memory>

#include "base/ascii.h"
#include "base/error.h"
#include "base/threads.h"
#include "model_folder/ownership.h"
#include "serve/http/access_log.h"

namespace sixfold::serve {
namespace {

std::chrono::milliseconds milliseconds_of(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

/// The environment variable of a setting: "SIXFOLD_PORT" for "port".
std::string variable_of(const std::string& key) { return "SIXFOLD_" + ascii_upper(key); }

}  // namespace

HttpOptions ServeConfig::http() const {
  require(
      suggestions.empty() || access_log.empty() || access_log == "-" || !is_same_file(suggestions, access_log),
      "suggestions and access_log are the same file, {}; give each its own", access_log);
  std::function<void(const AnsweredRequest&)> log;
  if (!access_log.empty())
    log = [file = std::make_shared<AccessLog>(access_log)](const AnsweredRequest& request) {
      file->add(request);
    };
  return {.host = host,
          .port = port,
          .connections = connections,
          .body_bytes = static_cast<size_t>(body_bytes),
          .total_body_bytes = static_cast<size_t>(bodies_bytes),
          .arrival_time = milliseconds_of(arrival_seconds),
          .request_time = milliseconds_of(request_seconds),
          .idle_time = std::chrono::seconds(idle_seconds),
          .access = Access::of_server(host, !api_keys.empty(), hosts, origins),
          .log = std::move(log)};
}

EngineSettings ServeConfig::engine() const {
  EngineSettings settings{.threads = usable_threads(threads, "threads"), .precision = precision};
  if (alignment_layer.empty()) return settings;
  const char* end = alignment_layer.data() + alignment_layer.size();
  int layer = 0;
  const auto [rest, error] = std::from_chars(alignment_layer.data(), end, layer);
  require(error == std::errc() && rest == end, "alignment_layer: '{}' is not the number of a layer",
          alignment_layer);
  settings.alignment_layer = layer;
  return settings;
}

ServiceOptions ServeConfig::service() const {
  return {
      .max_texts = static_cast<size_t>(texts),
      .max_text_bytes = static_cast<size_t>(text_bytes),
      .max_waiting_bytes = static_cast<size_t>(waiting_bytes),
      .max_alternatives = alternatives,
      .max_new_tokens = new_tokens,
      .max_samples = samples,
      .max_observed_tokens = observed_tokens,
      .keep_symbols = keep_symbols,
      .page = page,
      .keys = api_keys,
      .glossaries = glossaries,
      .glossary_limits = {.max_count = static_cast<size_t>(glossary_count),
                          .max_bytes = static_cast<size_t>(glossary_bytes)},
      .suggestions = suggestions,
      .files = {.max_bytes = static_cast<size_t>(file_bytes), .max_age = std::chrono::seconds(file_seconds)}};
}

std::vector<std::string> settings_fixed_at_start() {
  return {"host",       "port",         "glossaries", "glossary_count", "glossary_bytes", "suggestions",
          "file_bytes", "file_seconds", "page"};
}

ServeConfig read_serve_config(const std::string& path, const Environment& environment,
                              const std::vector<std::string>& assignments) {
  ServeConfig config;
  OptionNode settings = path.empty() ? OptionNode{} : read_option_file(path);
  if (settings.kind == OptionNode::Kind::null) settings = {.kind = OptionNode::Kind::map, .where = path};
  for (const auto& [key, unused] : write_options(config).children) {
    const std::string name = variable_of(key);
    const char* const value = environment(name);
    if (!value) continue;
    OptionNode* node = settings.find(key);
    if (!node) node = &settings.children.emplace_back(key, OptionNode{}).second;
    *node = {.kind = OptionNode::Kind::assigned, .text = value, .where = name};
  }
  for (const std::string& assignment : assignments) set_option(settings, assignment);
  read_options(settings, config);
  require(config.bodies_bytes >= config.body_bytes,
          "bodies_bytes, {}, must be at least body_bytes, {}, so that the body of one request fits",
          config.bodies_bytes, config.body_bytes);
  require(config.waiting_bytes >= config.text_bytes,
          "waiting_bytes, {}, must be at least text_bytes, {}, so that the texts of one request fit",
          config.waiting_bytes, config.text_bytes);
  return config;
}

}  // namespace sixfold::serve
