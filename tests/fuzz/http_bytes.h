#pragma once
#include <cstdint>
#include <span>

namespace sixfold {

/// Sends `bytes` to an HTTP server as one connection, and reads what it answers. The handler may be given no
/// more than the limits allow, what comes back must be answers of HTTP, and none may say that the server has
/// failed.
void http_bytes(std::span<const uint8_t> bytes);

}  // namespace sixfold
