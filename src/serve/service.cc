#include "serve/service.h"

#include <fmt/ranges.h>

#include <numeric>
#include <random>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "text/utf8.h"

namespace sixfold::serve {
size_t bytes_of(std::span<const std::string> texts) {
  return std::accumulate(texts.begin(), texts.end(), size_t{0},
                         [](size_t sum, const std::string& text) { return sum + text.size(); });
}

Service::Service(const std::vector<ModelSpec>& models, const EngineSettings& engine,
                 const ServiceOptions& options, ServedTasks tasks)
    : options_(options),
      models_(models, engine, tasks),
      keys_(options.keys),
      glossaries_(options.glossaries, options.glossary_limits),
      files_(options.files),
      suggestions_(options.suggestions) {}

ServiceOptions Service::options() const {
  const std::lock_guard lock(mutex_);
  return options_;
}

void Service::reload(const std::vector<ModelSpec>& models, const EngineSettings& engine,
                     const ServiceOptions& options) {
  ApiKeys keys(options.keys);  // throws before anything changes
  models_.reload(models, engine);
  keys_.replace(std::move(keys));
  const std::lock_guard lock(mutex_);
  options_ = options;
}

void Service::require_few_bytes(std::span<const std::string> texts) const {
  require_few_bytes(bytes_of(texts));
}

void Service::require_few_bytes(size_t bytes) const {
  if (const size_t limit = options().max_text_bytes; bytes > limit)
    throw HttpError(413, fmt::format("The texts have {} bytes; at most {} are allowed.", bytes, limit));
}

std::shared_ptr<const Reservation> Service::reserve_text_bytes(size_t bytes) {
  auto reservation = std::make_shared<Reservation>(waiting_bytes_, options().max_waiting_bytes);
  if (!reservation->grow(bytes)) throw HttpError(503, "Too many texts wait to be translated.", 1);
  return reservation;
}

void Service::count(const std::string& client, std::span<const std::string> texts) {
  int64_t characters = 0;
  for (const std::string& text : texts) characters += count_characters(text);
  const std::lock_guard lock(mutex_);
  characters_[client] += characters;
}

int64_t Service::characters(const std::string& client) const {
  const std::lock_guard lock(mutex_);
  const auto found = characters_.find(client);
  return found == characters_.end() ? 0 : found->second;
}

void Service::count_cut_sentences(const std::string& model, size_t sentences) {
  if (sentences == 0) return;
  metrics_.count_cut_sentences(model, sentences);
  if (const auto all = cut_warning_.add(sentences))
    log_warning("{} longer than the model reads, which left out the end (at {} last)",
                counted(*all, "text was", "texts were"), model);
}

std::string Service::scheduling_key(const HttpRequest& request) const {
  return keys_.needed() ? "key " + api_key_of(request) : "address " + request.address;
}

std::string Service::client_of(const HttpRequest& request) const {
  return keys_.needed() ? api_key_of(request) : "";
}

std::shared_ptr<const Glossary> Service::glossary(const HttpRequest& request, const std::string& id,
                                                  const Languages& languages) const {
  const StoredGlossary stored = glossaries_.find(client_of(request), id);
  if (stored.source != languages.source || stored.target != languages.target)
    throw HttpError(400, fmt::format("The glossary is for {} to {}, and the text from {} to {}.", stored.source,
                                     stored.target, languages.source, languages.target));
  return stored.glossary;
}

int64_t Service::next_seed() {
  static std::random_device device;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  return device();
}

std::string Service::metrics_text() const { return metrics_.text(models_.counts(), waiting_bytes_.load()); }

}  // namespace sixfold::serve
