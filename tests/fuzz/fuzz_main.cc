#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fuzz/targets.h"

// libFuzzer's entry. The environment names the target: SIXFOLD_FUZZ_TARGET=npz fuzz corpus/npz (scripts/fuzz
// does it).

namespace {

const sixfold::FuzzTarget& chosen_target() {
  const char* name = std::getenv("SIXFOLD_FUZZ_TARGET");
  for (const auto& target : sixfold::fuzz_targets())
    if (name && target.name == name) return target;
  std::fputs("SIXFOLD_FUZZ_TARGET must be one of:", stderr);
  for (const auto& target : sixfold::fuzz_targets()) std::fprintf(stderr, " %s", target.name.data());
  std::fputs("\n", stderr);
  std::exit(2);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const sixfold::FuzzTarget& target = chosen_target();
  sixfold::run_target(target, {data, size});
  return 0;
}
