#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string>

#include "base/file.h"
#include "base/random.h"

namespace sixfold {

/// How a test's text is made: `words` different ones, 1 to `longest` on a line.
struct ParallelTextOptions {
  uint32_t words = 8, longest = 6;
  std::function<std::string(uint32_t)> word = [](uint32_t i) { return fmt::format("w{}", i); };
};

/// Writes lines to learn from: the target has the source's words backwards.
inline void write_parallel_text(const std::string& source, const std::string& target, int lines, uint64_t seed,
                                const ParallelTextOptions& options = {}) {
  RandomStream random(seed, 0);
  std::string a, b;
  for (int i = 0; i < lines; ++i) {
    std::string x, y;
    for (uint32_t n = 1 + random.below(options.longest); n > 0; --n) {
      const std::string word = options.word(random.below(options.words));
      x = x.empty() ? word : x + " " + word;
      y = y.empty() ? word : word + " " + y;
    }
    a += x + "\n";
    b += y + "\n";
  }
  write_file_atomically(source, a);
  write_file_atomically(target, b);
}

}  // namespace sixfold
