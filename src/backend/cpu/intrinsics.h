#pragma once
// The compiler's intrinsics, for the instructions that Highway does not include. GCC 12 warns about its own
// header (bug 105593).

#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>
