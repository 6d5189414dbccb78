#pragma once
#include <memory>
#include <string>
#include <vector>

#include "serve/http/http_server.h"
#include "serve/run_watcher.h"

namespace sixfold::serve {

/// A web page that shows training runs, also while they are running, side by side. It only reads the folders of
/// the runs.
class Dashboard {
 public:
  static constexpr size_t max_runs = 32;

  /// `folders`: the folders of the runs, which need not exist yet. Throws an input error if there are too many.
  explicit Dashboard(const std::vector<std::string>& folders);

  /// Answers a request: GET / with the page, GET /page/NAME with one of its files, and GET /runs with the data,
  /// {"version", "titles", "runs"}. With ?version=N the data is only {"version": N} as long as nothing is new.
  /// Safe to call from several threads.
  HttpAnswer answer(const HttpRequest& request);

 private:
  HttpAnswer runs(const HttpRequest& request);

  std::vector<std::unique_ptr<RunWatcher>> runs_;
  int64_t first_version_ = 0;
};

}  // namespace sixfold::serve
