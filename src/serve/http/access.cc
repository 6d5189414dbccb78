#include "serve/http/access.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>

#include "base/ascii.h"
#include "base/error.h"

namespace sixfold::serve {
namespace {

bool contains(const std::vector<std::string>& all, std::string_view one) {
  return std::ranges::find(all, one) != all.end();
}

/// The host of "host:port" or "[::1]:port", in lower case and without brackets.
std::string host_of(std::string_view authority) {
  const bool bracket = authority.starts_with('[');
  const size_t end = std::min(authority.find(bracket ? ']' : ':'), authority.size());
  std::string host = ascii_lower(authority.substr(bracket, end - bracket));
  if (host.ends_with('.')) host.pop_back();
  return host;
}

/// What follows "https://", or nothing.
std::string_view authority_of(std::string_view origin) {
  const size_t scheme = origin.find("://");
  return scheme == origin.npos ? std::string_view() : origin.substr(scheme + 3);
}

}  // namespace

bool is_loopback(std::string_view host) {
  const std::string name(host);
  in_addr v4{};
  if (::inet_pton(AF_INET, name.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  if (::inet_pton(AF_INET6, name.c_str(), &v6) == 1) return IN6_IS_ADDR_LOOPBACK(&v6);
  return name == "localhost" || name.ends_with(".localhost");
}

Access::Access(const std::vector<std::string>& hosts, const std::vector<std::string>& origins) {
  for (const std::string& host : hosts) {
    sixfold::require(!host.empty() && (host == "*" || host_of(host) == ascii_lower(host)),
                     "hosts: '{}' is not the name of a host without a port, as in mt.example.org", host);
    hosts_.push_back(ascii_lower(host));
  }
  for (const std::string& origin : origins) {
    const std::string_view authority = authority_of(origin);
    const bool is_word = origin == "*" || origin == "loopback" || origin == "null";
    sixfold::require(is_word || (!authority.empty() && authority.find('/') == authority.npos),
                     "origins: '{}' is not the origin of a page, as in https://example.org", origin);
    origins_.push_back(ascii_lower(origin));
  }
}

Access Access::of_server(const std::string& listens_to, bool needs_key, const std::vector<std::string>& hosts,
                         const std::vector<std::string>& origins) {
  const std::vector<std::string> all{"*"}, loopback{"loopback"};
  const bool is_local = is_loopback(listens_to) && !needs_key;
  return {hosts.empty() && !is_local ? all : hosts, !origins.empty() ? origins : is_local ? loopback : all};
}

bool Access::allows_host(const HttpRequest& request) const {
  if (contains(hosts_, "*") || !request.headers.contains("host")) return true;  // browsers always send Host
  const std::string host = host_of(request.header("host"));
  return is_loopback(host) || contains(hosts_, host);
}

bool Access::allows_origin(const std::string& origin, const HttpRequest& request) const {
  const std::string_view authority = authority_of(origin);
  return contains(origins_, "*") || contains(origins_, origin) ||
         (!authority.empty() && authority == ascii_lower(request.header("host"))) ||
         (contains(origins_, "loopback") && is_loopback(host_of(authority)));
}

void Access::require(const HttpRequest& request) const {
  if (!allows_host(request))
    throw HttpError(421, fmt::format("This server does not answer for the host {}; its setting \"hosts\" lists "
                                     "the names that it answers for.",
                                     request.header("host")));
  const std::string origin = ascii_lower(request.header("origin"));
  if (!origin.empty() && !allows_origin(origin, request))
    throw HttpError(403, fmt::format("Pages of {} may not use this server; its setting \"origins\" has those "
                                     "that may.",
                                     origin));
}

void Access::add_cors_headers(const HttpRequest& request, HttpAnswer& answer) const {
  const std::string origin = request.header("origin");
  const bool all = contains(origins_, "*");
  if (!all) answer.headers.emplace_back("Vary", "Origin");
  if (!all && (origin.empty() || !allows_host(request) || !allows_origin(ascii_lower(origin), request))) return;
  answer.headers.emplace_back("Access-Control-Allow-Origin", all ? "*" : origin);
  answer.headers.emplace_back("Access-Control-Expose-Headers", "X-Sixfold-Cut, Retry-After");
}

bool is_preflight(const HttpRequest& request) {
  return request.method == "OPTIONS" && request.headers.contains("access-control-request-method");
}

HttpAnswer answer_preflight(const HttpRequest& request) {
  HttpAnswer answer{.status = 204,
                    .headers = {{"Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE"},
                                {"Access-Control-Max-Age", "7200"}}};
  if (const std::string names = request.header("access-control-request-headers"); !names.empty())
    answer.headers.emplace_back("Access-Control-Allow-Headers", names);
  return answer;
}

}  // namespace sixfold::serve
