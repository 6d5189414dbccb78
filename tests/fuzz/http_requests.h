#pragma once
#include <cstdint>
#include <span>

namespace sixfold {

/// Answers a request with all faces of a server of small models. The first line of `bytes` is "METHOD
/// PATH?QUERY TYPE", the rest is the body; for multipart/form-data the first line of the body has the fields,
/// as in a query, and the rest is a file. The answer must be what its type says, and no failure of the server.
void http_requests(std::span<const uint8_t> bytes);

}  // namespace sixfold
