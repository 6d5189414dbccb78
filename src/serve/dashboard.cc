#include "serve/dashboard.h"

#include <chrono>

#include "base/error.h"
#include "metrics/metric.h"
#include "serve/http/json_text.h"
#include "serve/http/page_files.h"
#include "train/training_log.h"

namespace sixfold::serve {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

Dashboard::Dashboard(const std::vector<std::string>& folders) {
  require(folders.size() <= max_runs, "{} runs are too many to show; at most {} can be shown at once",
          folders.size(), max_runs);
  // Versions begin with the time, so that a page that was loaded from an earlier server does not mistake the
  // data of this one for what it has already.
  using Clock = std::chrono::system_clock;
  first_version_ =
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch()).count();
  const std::vector<std::string> names = names_of_runs(folders);
  for (size_t i = 0; i < folders.size(); ++i)
    runs_.push_back(std::make_unique<RunWatcher>(names[i], folders[i]));
}

HttpAnswer Dashboard::runs(const HttpRequest& request) {
  int64_t version = first_version_;
  for (const auto& run : runs_) version += run->version();
  const auto shown = request.query.find("version");
  if (shown != request.query.end() && shown->second == std::to_string(version))
    return {.body = json_text(Json{{"version", version}})};
  std::string all;
  for (const auto& run : runs_) all += (all.empty() ? "" : ",") + run->read_json();
  Json titles;
  for (const MetricEntry& metric : metric_table()) titles[std::string(metric.name)] = metric.title;
  return {.body = fmt::format(R"({{"version":{},"titles":{},"runs":[{}]}})", version, json_text(titles), all)};
}

HttpAnswer Dashboard::answer(const HttpRequest& request) try {
  if (request.method != "GET") throw HttpError(405, "only GET is answered here");
  if (request.path == "/") return page_file(request, "dashboard.html");
  if (request.path == "/runs") return runs(request);
  if (request.path.starts_with("/page/")) return page_file(request, request.path.substr(6));
  throw HttpError(404, "there is no such page");
} catch (const HttpError& error) {
  return {.status = error.status(), .body = json_text(Json{{"error", error.what()}})};
} catch (const std::exception& error) {
  return {.status = 500, .body = json_text(Json{{"error", error.what()}})};
}

}  // namespace sixfold::serve
