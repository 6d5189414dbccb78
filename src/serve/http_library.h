#pragma once
#include <httplib.h>

// The build passes what pkg-config says of the library: its classes have other sizes without these.
#if !defined(CPPHTTPLIB_OPENSSL_SUPPORT) || !defined(CPPHTTPLIB_ZLIB_SUPPORT) || \
    !defined(CPPHTTPLIB_BROTLI_SUPPORT)
#error "cpp-httplib must be used with the flags of its pkg-config file"
#endif
