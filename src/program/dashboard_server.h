#pragma once
#include <string>
#include <thread>
#include <vector>

#include "serve/dashboard.h"
#include "serve/http/http_server.h"

namespace sixfold::cli {

/// Serves a dashboard in a separate thread during the lifetime of the object. Few clients are served at a time,
/// and requests can't have a body of more than 1 kB.
class DashboardServer {
 public:
  /// Throws an error if the address can't be bound.
  DashboardServer(const std::vector<std::string>& runs, const std::string& host, int port)
      : dashboard_(runs),
        host_(host),
        server_({.host = host,
                 .port = port,
                 .connections = 32,
                 .body_bytes = 1024,
                 .access = serve::Access::of_server(host, /*needs_key=*/false)},
                [this](const serve::HttpRequest& request) { return dashboard_.answer(request); }),
        thread_([this] { server_.run(); }) {}
  ~DashboardServer() { server_.stop(std::chrono::milliseconds(200)); }
  DashboardServer(const DashboardServer&) = delete;
  DashboardServer& operator=(const DashboardServer&) = delete;

  std::string address() const {
    return "http://" + (host_.find(':') == host_.npos ? host_ : "[" + host_ + "]") + ":" +
           std::to_string(server_.port());
  }

 private:
  serve::Dashboard dashboard_;
  const std::string host_;
  serve::HttpServer server_;
  std::jthread thread_;
};

}  // namespace sixfold::cli
