#include "serve/api_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "serve/fields.h"

namespace sixfold::serve {

ApiKeys::ApiKeys(const std::string& path) {
  if (path.empty()) return;
  std::string text = read_file(path);
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  std::istringstream file(text);
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    std::istringstream words(line);
    std::string key, rate, more;
    if (!(words >> key) || key.starts_with('#')) continue;
    require(key.find('%') == key.npos,
            "{}:{}: a key has no '%', which would mean another character in a header", path, number);
    Key entry;
    if (words >> rate && !rate.starts_with('#')) {
      int most = 0;
      const auto [end, error] = std::from_chars(rate.data(), rate.data() + rate.size(), most);
      require(error == std::errc{} && end == rate.data() + rate.size() && most >= 1,
              "{}:{}: '{}' is not a number of requests for a minute", path, number, rate);
      entry.most = entry.left = most;
    }
    require(rate.starts_with('#') || !(words >> more) || more.starts_with('#'),
            "{}:{}: a line has a key and a number of requests for a minute, and no more", path, number);
    require(keys_.emplace(key, entry).second, "{}:{}: the key was given before", path, number);
  }
  require(!keys_.empty(), "{}: has no keys", path);
}

/// A key's requests are refilled evenly, up to those of a minute.
void ApiKeys::admit(const std::string& given, Clock::time_point now) {
  if (!needed()) return;
  const std::lock_guard lock(mutex_);
  const auto found = keys_.find(given);
  if (found == keys_.end())
    throw HttpError(403, given.empty() ? "This server needs an API key." : "The API key is not known.");
  Key& key = found->second;
  if (!key.most) return;
  const double seconds = std::chrono::duration<double>(now - key.at).count();
  key.left = std::min(*key.most, key.left + *key.most * std::max(seconds, 0.0) / 60);
  key.at = now;
  if (key.left < 1) {
    const int wait = static_cast<int>(std::ceil((1 - key.left) * 60 / *key.most));
    throw HttpError(429, fmt::format("More than {} requests in a minute.", *key.most), wait);
  }
  key.left -= 1;
}

std::string api_key_of(const HttpRequest& request) {
  const std::string authorization = request.header("authorization");
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  for (const std::string_view scheme : {"deepl-auth-key ", "bearer "})
    if (authorization.size() > scheme.size() && std::equal(scheme.begin(), scheme.end(), authorization.begin(),
                                                           [&](char a, char b) { return same(b, a); }))
      return authorization.substr(scheme.size());
  const Fields fields(request);
  for (const char* name : {"api_key", "auth_key"})
    if (const auto key = fields.text(name)) return *key;
  return "";
}

}  // namespace sixfold::serve
