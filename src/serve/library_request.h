#pragma once
#include <string>

#include "serve/http.h"
#include "serve/http_library.h"
#include "serve/open_connections.h"
#include "serve/share.h"

namespace sixfold::serve {

/// A request of the library without its body and its stop token.
HttpRequest request_of(const httplib::Request& from);

/// The library takes all that follows "boundary=" for the boundary of a form, so that it must be the last
/// parameter of the type.
void name_boundary(httplib::Request& request);

/// The room for a body while it is read and held.
class BodyRoom {
 public:
  enum class Lack { none, too_large, server_full };

  /// `most`: bytes of the body; `held`: those of all bodies, of which there may be `most_held`. `own` is the
  /// connection that sends the body, one of `connections`.
  BodyRoom(size_t most, std::atomic<size_t>& held, size_t most_held, OpenConnections& connections,
           OpenConnections::Open& own)
      : left_(most), share_(held, most_held), connections_(connections), own_(own) {}

  /// Takes room for more bytes, for which other bodies may have to end. Returns false if there is none.
  bool take(size_t bytes);
  /// The body is larger than it may be.
  void refuse() { lack_ = Lack::too_large; }
  /// What there was no room for.
  Lack lack() const { return lack_; }

 private:
  bool grow(size_t bytes);

  size_t left_;
  Share share_;
  OpenConnections& connections_;
  OpenConnections::Open& own_;
  Lack lack_ = Lack::none;
};

/// Reads a body, which the library decompresses. Returns false if there is no room for it, or if it is cut off
/// or broken.
bool read_body(const httplib::ContentReader& content, BodyRoom& room, HttpRequest& request);

/// Reads the parts of multipart/form-data in the same way.
bool read_form(const httplib::ContentReader& content, BodyRoom& room, HttpRequest& request);

}  // namespace sixfold::serve
