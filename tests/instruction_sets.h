#pragma once
#include <hwy/targets.h>

#include <cstdint>
#include <vector>

namespace sixfold {

/// While it lives, the kernels of one instruction set are dispatched to.
class InstructionSet {
 public:
  explicit InstructionSet(int64_t target) { choose(target); }
  ~InstructionSet() { choose(0); }
  InstructionSet(const InstructionSet&) = delete;
  InstructionSet& operator=(const InstructionSet&) = delete;

  /// Those that were compiled and that this machine has.
  static std::vector<int64_t> all() {
    std::vector<int64_t> targets;
    for (int64_t rest = hwy::SupportedTargets() & HWY_TARGETS; rest; rest &= rest - 1)
      targets.push_back(rest & -rest);
    return targets;
  }

 private:
  static void choose(int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

}  // namespace sixfold
