#pragma once
#include <functional>
#include <string>
#include <utility>

#include "serve/http.h"
#include "serve/http_library.h"
#include "serve/share.h"

namespace sixfold::serve {

/// Text with the letters of ASCII in lower case.
std::string lower(std::string text);

/// A request of the library without its body and its stop token.
HttpRequest request_of(const httplib::Request& from);

/// The library takes all that follows "boundary=" for the boundary of a form, so that it must be the last
/// parameter of the type.
void name_boundary(httplib::Request& request);

/// The room for a body while it is read and held.
class BodyRoom {
 public:
  enum class Lack { none, too_large, server_full };

  /// Ends another body to make room. Returns false if there is none that may be ended.
  using EndAnother = std::function<bool()>;

  /// `most`: bytes of the body; `held`: those of all bodies, of which there may be `most_held`.
  BodyRoom(size_t most, std::atomic<size_t>& held, size_t most_held, EndAnother end_another)
      : left_(most), share_(held, most_held), end_another_(std::move(end_another)) {}

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
  EndAnother end_another_;
  Lack lack_ = Lack::none;
};

/// Reads a body, which the library decompresses. Returns false if there is no room for it, or if it is cut off
/// or broken.
bool read_body(const httplib::ContentReader& content, BodyRoom& room, HttpRequest& request);

/// Reads the parts of multipart/form-data in the same way.
bool read_form(const httplib::ContentReader& content, BodyRoom& room, HttpRequest& request);

}  // namespace sixfold::serve
