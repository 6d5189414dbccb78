#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "serve/http/http.h"

namespace sixfold::serve {

/// Whether a name or an address of a host means this machine: "localhost", "127.0.0.1", "::1".
bool is_loopback(std::string_view host);

/// The host names under which a server may be addressed, and the origins of web pages that may use it. A
/// browser lets every page send requests to every server, and the owner of a page can make its host name
/// resolve to the address of this machine (DNS rebinding). A server that needs no API key must therefore check
/// both the Host and the Origin of a request.
class Access {
 public:
  /// Allows every name and every page.
  Access() : Access({"*"}, {"*"}) {}
  /// `hosts`: names without a port, as in "mt.example.org"; "*" is every name. Names of this machine are always
  /// allowed. `origins`: as browsers write them, as in "https://example.org"; "loopback" stands for the pages
  /// of this machine, "*" for every page. Pages of the server itself are always allowed. Throws an input error
  /// if an entry is not the name of a host, or not an origin.
  Access(const std::vector<std::string>& hosts, const std::vector<std::string>& origins);
  /// The same, but an empty list has a default: only names and pages of this machine if the server listens on a
  /// loopback address and needs no API key, otherwise all. `listens_to`: an address or a name.
  static Access of_server(const std::string& listens_to, bool needs_key,
                          const std::vector<std::string>& hosts = {},
                          const std::vector<std::string>& origins = {});

  /// Throws an `HttpError`: 421 for a host name, and 403 for an origin, that is not allowed.
  void require(const HttpRequest& request) const;
  /// Adds the CORS headers by which the browser lets an allowed page read the answer.
  void add_cors_headers(const HttpRequest& request, HttpAnswer& answer) const;

 private:
  bool allows_host(const HttpRequest& request) const;
  bool allows_origin(const std::string& origin, const HttpRequest& request) const;

  std::vector<std::string> hosts_, origins_;
};

/// Whether this is a preflight request of CORS, by which a browser asks which requests a page may send.
bool is_preflight(const HttpRequest& request);
/// The answer to a preflight request, without the headers of `Access::add_cors_headers`. It allows every method
/// and header that the server reads.
HttpAnswer answer_preflight(const HttpRequest& request);

}  // namespace sixfold::serve
