#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "serve/http/http.h"

namespace sixfold::serve {

/// Whether a name or an address of a host means this machine: "localhost", "127.0.0.1", "::1".
bool is_loopback(std::string_view host);

/// Under which names a server may be asked, and which pages of browsers may ask it. A browser lets every page
/// send requests to every server, and a page can give its own name the address of this machine (DNS rebinding):
/// a server that needs no key must look at both.
class Access {
 public:
  /// Every name and every page.
  Access() : Access({"*"}, {"*"}) {}
  /// `hosts`: names without a port, as in "mt.example.org"; "*" is every name. Names of this machine are always
  /// allowed. `origins`: as browsers write them, as in "https://example.org"; "loopback" are the pages of this
  /// machine, "*" is every page. Pages of the server itself are always allowed. Throws an input error for what
  /// is neither.
  Access(const std::vector<std::string>& hosts, const std::vector<std::string>& origins);
  /// The same where an empty list stands for names and pages of this machine, if the server listens to it alone
  /// and needs no key, and otherwise for all. `listens_to`: an address or a name.
  static Access of_server(const std::string& listens_to, bool needs_key,
                          const std::vector<std::string>& hosts = {},
                          const std::vector<std::string>& origins = {});

  /// Throws an `HttpError`: 421 for another name, 403 for a page that is not allowed.
  void require(const HttpRequest& request) const;
  /// Adds the headers with which a browser lets the page that asks read the answer.
  void allow(const HttpRequest& request, HttpAnswer& answer) const;

 private:
  bool allows_host(const HttpRequest& request) const;
  bool allows_origin(const std::string& origin, const HttpRequest& request) const;

  std::vector<std::string> hosts_, origins_;
};

/// Whether a browser asks what a page may send (a preflight request of CORS).
bool is_preflight(const HttpRequest& request);
/// The answer to it, before `Access::allow`. Pages may use every method and header that the server reads.
HttpAnswer answer_preflight(const HttpRequest& request);

}  // namespace sixfold::serve
