#include "serve/suggestions.h"

#include <filesystem>

#include "base/error.h"
#include "model_folder/ownership.h"
#include "serve/http/http.h"

namespace sixfold::serve {

namespace {

constexpr std::string_view line_begin = "{\"q\":";  // of each suggestion

}  // namespace

Suggestions::Suggestions(const std::string& path) {
  if (path.empty()) return;
  require_output_file(path, {});
  const std::string before = std::filesystem::exists(path) ? read_regular_file(path) : "";
  require(before.empty() || before.starts_with(line_begin),
          "{}: is not a file of suggestions; give it another name", path);
  file_.emplace(path);
  if (!before.empty() && !before.ends_with('\n')) file_->append("\n");
}

void Suggestions::add(const std::string& line) {
  if (!enabled()) throw HttpError(403, "This server takes no suggestions.");
  const std::lock_guard lock(mutex_);
  if (file_->bytes() + static_cast<int64_t>(line.size()) + 1 > max_bytes)
    throw HttpError(507, "The server has no room for more suggestions.");
  file_->append(line + "\n");
}

}  // namespace sixfold::serve
