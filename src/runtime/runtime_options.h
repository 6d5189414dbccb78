#pragma once
#include "model/weight_type.h"

namespace sixfold {

/// What the threads of calls do while they wait for results.
enum class CallingThreads {
  decode,  ///< each decodes its own requests: a single call needs no switch between threads
  /// They only wait, and threads of the engine decode everybody's requests together: for a server, where more
  /// calls come at the same time than there are processors.
  wait,
};

/// How a model is loaded and computed.
struct RuntimeOptions {
  int threads = 0;  ///< of one call; 0: one for each processor core available
  WeightType weights = WeightType::stored;
  CallingThreads calling = CallingThreads::decode;
};
/// The options that users may set.
inline void visit(OptionVisitor& v, RuntimeOptions& o) {
  v.field("precision", o.weights,
          "type of matrix products: fp32, or int8, which takes less time and memory [as the model is stored]");
  v.field("threads", o.threads, "number of threads; 0: all that are available", between(0, 1024));
}

}  // namespace sixfold
