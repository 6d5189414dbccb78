#include "serve/http/kept_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "serve/http/http.h"
#include "serve/http/random_name.h"

namespace sixfold::serve {

void KeptFiles::drop_oldest() {
  bytes_ -= files_.front().content.size();
  files_.pop_front();
}

void KeptFiles::drop_expired(Clock::time_point now) {
  while (!files_.empty() && files_.front().expires <= now) drop_oldest();
}

std::string KeptFiles::add(std::string content, const std::string& extension, Clock::time_point now) {
  if (content.size() > limits_.max_bytes)
    throw HttpError(413, fmt::format("The translation has {} bytes; at most {} are kept.", content.size(),
                                     limits_.max_bytes));
  const std::lock_guard lock(mutex_);
  drop_expired(now);
  while (!files_.empty() && (files_.size() >= limits_.max_count || bytes_ + content.size() > limits_.max_bytes))
    drop_oldest();
  bytes_ += content.size();
  files_.push_back({random_name() + extension, std::move(content), now + limits_.max_age});
  return files_.back().name;
}

std::string KeptFiles::find(const std::string& name, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  drop_expired(now);
  const auto found =
      std::find_if(files_.begin(), files_.end(), [&](const File& file) { return file.name == name; });
  if (found == files_.end())
    throw HttpError(404, "There is no file of this name; translated files are kept for a while only.");
  return found->content;
}

}  // namespace sixfold::serve
