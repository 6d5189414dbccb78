#pragma once
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "serve/http/http.h"

namespace sixfold::serve {

/// The keys that clients must give, and how many requests each may make in a minute. Safe to share between
/// threads.
class ApiKeys {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t longest_key = 1024;  ///< bytes

  /// `path` is a text file with a key and, if its requests are limited, their number for a minute on each line;
  /// "#" begins a comment. Empty: no key is needed. Throws an input error that names the line.
  explicit ApiKeys(const std::string& path) : keys_(read(path)) {}

  bool needed() const;
  /// Takes other keys instead. A key that stays has the requests that it had left.
  void replace(ApiKeys&& by);
  /// Counts a request. Throws an `HttpError`: 403 for an unknown key, 429 for too many requests.
  void admit(const std::string& key, Clock::time_point now = Clock::now());

 private:
  struct Key {
    std::optional<double> most;  ///< requests in a minute
    double left = 0;             ///< requests that may be made now
    Clock::time_point at = {};   ///< when `left` was true
  };
  using Keys = std::vector<std::pair<std::string, Key>>;
  static Keys read(const std::string& path);
  static Key* find(Keys& keys, const std::string& given);

  mutable std::mutex mutex_;
  Keys keys_;
};

/// The API key of a request, or an empty text. A key may stand in a header, as DeepL's and OpenAI's clients
/// send it, or in a field, as LibreTranslate's, whose name is written without escapes. Throws as `Fields` if
/// there may be such a field.
std::string api_key_of(const HttpRequest& request);

}  // namespace sixfold::serve
