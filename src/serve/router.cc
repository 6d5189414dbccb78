#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/log.h"
#include "serve/service.h"

namespace sixfold::serve {
namespace {

/// Matches a path with the pattern of a route. Returns the part for which a "*" at the end of the pattern
/// stands; nothing if the path does not match.
std::optional<std::string> match(std::string_view pattern, std::string_view path) {
  if (!pattern.ends_with('*')) return pattern == path ? std::optional<std::string>("") : std::nullopt;
  pattern.remove_suffix(1);
  if (!path.starts_with(pattern) || path.size() == pattern.size()) return {};
  return std::string(path.substr(pattern.size()));
}

}  // namespace

std::vector<Route> all_routes(Service& service) {
  std::vector<Route> all;
  const auto add = [&](std::vector<Route> routes) { std::ranges::move(routes, std::back_inserter(all)); };
  for (const ServedTask& task : service.models().tasks()) add(task.routes(service));
  add(model_routes(service));
  add(operation_routes(service));
  if (service.options().page) add(page_routes());
  return all;
}

HttpAnswer Router::answer(const HttpRequest& request) const {
  const auto start = std::chrono::steady_clock::now();
  const auto in_flight = std::make_shared<Metrics::InFlight>(service_.metrics());
  HttpAnswer answer;
  std::string endpoint = "other";
  const Route* found = nullptr;
  for (const Route& route : routes_) {
    if (route.method != (request.method == "HEAD" ? "GET" : request.method)) continue;
    const auto part = match(route.path, request.path);
    if (!part) continue;
    found = &route;
    endpoint = route.path;
    answer = dispatch(route, request, *part);
    break;
  }
  if (!found) answer = no_route(request);
  const auto count = [&metrics = service_.metrics(), endpoint, start, in_flight](int status) {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    metrics.count_request(endpoint, status, seconds.count());
  };
  if (!answer.parts)
    count(answer.status);
  else
    answer.parts = [parts = std::move(answer.parts), status = answer.status, count](const WritePart& write) {
      parts(write);
      count(status);
    };
  return answer;
}

HttpAnswer Router::dispatch(const Route& route, const HttpRequest& request, const std::string& part) const {
  try {
    if (!route.is_public && service_.keys().needed()) service_.keys().admit(api_key_of(request));
    return route.answer(request, part);
  } catch (const HttpError& error) {
    return error_answer(route.error, error);
  } catch (const Cancelled&) {
    return error_answer(route.error, {503, cancelled_message});
  } catch (const Error& error) {
    if (error.fault() == Fault::input) return error_answer(route.error, {400, error.what()});
    log_warning("{}: {}", route.path, error.what());
    return error_answer(route.error, {500, error.what()});
  } catch (const std::bad_alloc&) {
    log_warning("{}: out of memory", route.path);
    return error_answer(route.error, {500, "The server has too little memory for this request."});
  } catch (const std::exception& error) {
    log_warning("{}: {}", route.path, error.what());
    return error_answer(route.error, {500, "The server failed."});
  }
}

HttpAnswer Router::no_route(const HttpRequest& request) const {
  std::vector<std::string> methods;
  ErrorBody error = error_body_of(request.path);
  for (const Route& route : routes_) {
    if (!match(route.path, request.path) || std::ranges::count(methods, route.method) > 0) continue;
    if (methods.empty()) error = route.error;
    methods.push_back(route.method);
  }
  if (request.method == "OPTIONS") return {.status = 204};
  if (methods.empty()) return error_answer(error, {404, fmt::format("This server has no {}.", request.path)});
  HttpAnswer answer = error_answer(
      error, {405, fmt::format("{} takes the method {}.", request.path, fmt::join(methods, " or "))});
  if (std::ranges::count(methods, "GET") > 0) methods.emplace_back("HEAD");
  methods.emplace_back("OPTIONS");
  answer.headers.emplace_back("Allow", fmt::format("{}", fmt::join(methods, ", ")));
  return answer;
}

}  // namespace sixfold::serve
