#pragma once
#include <zlib.h>

#include <string>
#include <string_view>

#include "base/file.h"

namespace sixfold {

/// Writes `text` as a gzip file.
inline void write_gzip(const std::string& path, std::string_view text) {
  const gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
}

}  // namespace sixfold
