#include "serve/http/api_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <sstream>

#include "base/ascii.h"
#include "base/error.h"
#include "base/file.h"
#include "serve/http/fields.h"

namespace sixfold::serve {

ApiKeys::Keys ApiKeys::read(const std::string& path) {
  Keys keys;
  if (path.empty()) return keys;
  std::string text = read_file(path);
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  std::istringstream file(text);
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    std::istringstream words(line);
    std::string key, rate, more;
    if (!(words >> key) || key.starts_with('#')) continue;
    require(key.size() <= max_key_bytes, "{}:{}: a key has at most {} bytes", path, number, max_key_bytes);
    require(key.find('%') == key.npos,
            "{}:{}: a key has no '%', which would mean another character in a header", path, number);
    Key entry;
    if (words >> rate && !rate.starts_with('#')) {
      int most = 0;
      const auto [end, error] = std::from_chars(rate.data(), rate.data() + rate.size(), most);
      require(error == std::errc{} && end == rate.data() + rate.size() && most >= 1,
              "{}:{}: '{}' is not a number of requests for a minute", path, number, rate);
      entry.per_minute = entry.remaining = most;
    }
    require(rate.starts_with('#') || !(words >> more) || more.starts_with('#'),
            "{}:{}: a line has a key and a number of requests for a minute, and no more", path, number);
    require(!find(keys, key), "{}:{}: the key was given before", path, number);
    keys.emplace_back(key, entry);
  }
  require(!keys.empty(), "{}: has no keys", path);
  return keys;
}

bool ApiKeys::needed() const {
  const std::lock_guard lock(mutex_);
  return !keys_.empty();
}

void ApiKeys::replace(ApiKeys&& other) {
  const std::lock_guard lock(mutex_);
  for (auto& [text, key] : other.keys_)
    if (const Key* const old = find(keys_, text); old && old->per_minute == key.per_minute) key = *old;
  keys_.swap(other.keys_);
}

/// Compares all bytes of keys of the same length, so that the time does not reveal how many bytes of a wrong
/// key are right.
ApiKeys::Key* ApiKeys::find(Keys& keys, const std::string& given) {
  Key* found = nullptr;
  for (auto& [text, key] : keys) {
    if (text.size() != given.size()) continue;
    unsigned different = 0;
    for (size_t i = 0; i < given.size(); ++i)
      different |= static_cast<unsigned char>(text[i]) ^ static_cast<unsigned char>(given[i]);
    if (different == 0) found = &key;
  }
  return found;
}

/// A token bucket: the remaining requests of a key grow evenly with time, up to those of one minute.
void ApiKeys::admit(const std::string& given, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (keys_.empty()) return;
  Key* const found = find(keys_, given);
  if (!found)
    throw HttpError(403, given.empty() ? "This server needs an API key." : "The API key is not known.");
  Key& key = *found;
  if (!key.per_minute) return;
  const double seconds = std::chrono::duration<double>(now - key.updated).count();
  key.remaining = std::min(*key.per_minute, key.remaining + *key.per_minute * std::max(seconds, 0.0) / 60);
  key.updated = now;
  if (key.remaining < 1) {
    const int wait = static_cast<int>(std::ceil((1 - key.remaining) * 60 / *key.per_minute));
    throw HttpError(429, fmt::format("More than {} requests in a minute.", *key.per_minute), wait);
  }
  key.remaining -= 1;
}

namespace {

constexpr const char* key_fields[] = {"api_key", "auth_key"};

/// Whether a field may contain an API key. This test is cheap; reading the fields takes more time and memory.
bool may_have_key(const HttpRequest& request) {
  return std::any_of(std::begin(key_fields), std::end(key_fields), [&](const char* name) {
    return request.body.find(name) != std::string::npos || request.query.contains(name) ||
           request.form.contains(name);
  });
}

}  // namespace

std::string api_key_of(const HttpRequest& request) {
  const std::string authorization = request.header("authorization");
  for (const std::string_view scheme : {"deepl-auth-key ", "bearer "})
    if (authorization.size() > scheme.size() && ascii_lower(authorization).starts_with(scheme))
      return authorization.substr(scheme.size());
  if (!may_have_key(request)) return "";
  const Fields fields(request);
  for (const char* name : key_fields)
    if (const auto key = fields.text(name)) return *key;
  return "";
}

}  // namespace sixfold::serve
