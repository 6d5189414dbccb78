#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>

#include "base/histogram.h"
#include "runtime/decoding_statistics.h"

namespace sixfold::serve {

/// What a model has decoded.
struct ModelCounts {
  std::string model;  ///< its name
  DecodingCounts counts;
};

/// What a server counts, in the text form of Prometheus (version 0.0.4). Safe to share between threads.
class Metrics {
 public:
  /// A request was answered. `endpoint` is one of the server's own routes, so that clients can't add labels.
  void answered(const std::string& endpoint, int status, double seconds);
  /// Sentences of a model were too long for it.
  void cut(const std::string& model, size_t sentences);
  /// Counts one request in flight while it lives.
  class InFlight {
   public:
    explicit InFlight(Metrics& metrics);
    ~InFlight();
    InFlight(const InFlight&) = delete;
    InFlight& operator=(const InFlight&) = delete;

   private:
    Metrics& metrics_;
  };

  /// All metrics. `waiting_bytes`: of texts that are being translated.
  std::string text(std::span<const ModelCounts> models, size_t waiting_bytes) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, uint64_t> requests_;
  std::map<std::string, Histogram> times_;
  std::map<std::string, uint64_t> cut_;  // for each model
  int64_t in_flight_ = 0;
};

}  // namespace sixfold::serve
