#pragma once
#include <memory>
#include <string>
#include <vector>

#include "serve/http/http_server.h"
#include "serve/run_watcher.h"

namespace sixfold::serve {

/// A page that shows training runs while they go on, and finished ones side by side. It reads the runs' folders
/// and changes nothing.
class Dashboard {
 public:
  static constexpr size_t max_runs = 32;

  /// `folders`: those of the runs; they need not exist yet. Throws an input error if there are too many.
  explicit Dashboard(const std::vector<std::string>& folders);

  /// GET / is the page, GET /page/NAME one of its files, and GET /runs the data: {"version", "runs"}. With
  /// ?version=N it is {"version": N} alone as long as nothing is new. Safe to call from several threads.
  HttpAnswer answer(const HttpRequest& request);

 private:
  HttpAnswer runs(const HttpRequest& request);

  std::vector<std::unique_ptr<RunWatcher>> runs_;
  int64_t began_ = 0;  // the first version
};

}  // namespace sixfold::serve
