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
  std::string model;  ///< the name of the model
  DecodingCounts counts;
};

/// The metrics of a server, which can be written in the text format of Prometheus (version 0.0.4). Safe to
/// share between threads.
class Metrics {
 public:
  /// Counts an answered request. `endpoint` must be one of the server's routes, not the path of a request, so
  /// that clients can't add labels.
  void count_request(const std::string& endpoint, int status, double seconds);
  /// Counts sentences that were too long for a model.
  void count_cut_sentences(const std::string& model, size_t sentences);
  /// Counts one request in flight during its lifetime.
  class InFlight {
   public:
    explicit InFlight(Metrics& metrics);
    ~InFlight();
    InFlight(const InFlight&) = delete;
    InFlight& operator=(const InFlight&) = delete;

   private:
    Metrics& metrics_;
  };

  /// The text of all metrics. `waiting_bytes`: the bytes of the texts that are being translated.
  std::string text(std::span<const ModelCounts> models, size_t waiting_bytes) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, uint64_t> requests_;  // by endpoint and status
  std::map<std::string, Histogram> times_;                    // by endpoint
  std::map<std::string, uint64_t> cut_sentences_;             // by model
  int64_t in_flight_ = 0;
};

}  // namespace sixfold::serve
