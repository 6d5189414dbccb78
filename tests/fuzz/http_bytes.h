#pragma once
#include <cstdint>
#include <span>

namespace sixfold {

/// Reads `bytes` as one connection: its requests must not depend on how its bytes arrive. Then sends them to an
/// HTTP server, and reads what it answers. The handler may be given no more than the limits allow, what comes
/// back must be answers of HTTP, and none may say that the server has failed.
void http_bytes(std::span<const uint8_t> bytes);

}  // namespace sixfold
