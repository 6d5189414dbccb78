#pragma once
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "serve/http/http.h"

namespace sixfold::serve {

/// The API keys that clients must send, and how many requests a minute each of them allows. Safe to share
/// between threads.
class ApiKeys {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t max_key_bytes = 1024;  ///< bytes

  /// `path`: a text file whose lines have a key and, optionally, the number of requests a minute that it
  /// allows;
  /// "#" begins a comment. An empty path: no key is needed. Throws an input error that names the line.
  explicit ApiKeys(const std::string& path) : keys_(read(path)) {}

  bool needed() const;
  /// Replaces the keys. A key that remains, with the same limit, keeps its number of remaining requests.
  void replace(ApiKeys&& other);
  /// Counts a request. Throws an `HttpError`: 403 for an unknown key, 429 for too many requests.
  void admit(const std::string& key, Clock::time_point now = Clock::now());

 private:
  struct Key {
    std::optional<double> per_minute;  ///< requests in a minute
    double remaining = 0;              ///< requests that may be made now
    Clock::time_point updated = {};    ///< when `remaining` was computed
  };
  using Keys = std::vector<std::pair<std::string, Key>>;
  static Keys read(const std::string& path);
  static Key* find(Keys& keys, const std::string& given);

  mutable std::mutex mutex_;
  Keys keys_;
};

/// The API key of a request, or an empty text. Clients of DeepL and OpenAI send it in a header, clients of
/// LibreTranslate in a field; the name of this field must be written without escapes. Throws as `Fields` if the
/// request may have such a field and its fields can't be read.
std::string api_key_of(const HttpRequest& request);

}  // namespace sixfold::serve
