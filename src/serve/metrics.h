#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/histogram.h"
#include "generate/decoding_statistics.h"

namespace sixfold::serve {

/// The sum of histograms with the same bounds.
class HistogramSum {
 public:
  void add(const Histogram& histogram);
  const std::vector<double>& bounds() const { return bounds_; }
  const std::vector<uint64_t>& counts() const { return counts_; }
  double sum() const { return sum_; }

 private:
  std::vector<double> bounds_;
  std::vector<uint64_t> counts_;
  double sum_ = 0;
};

/// What the models of a name have decoded, one after the other: `DecodingCounts`, added.
struct ModelCounts {
  explicit ModelCounts(std::string name) : model(std::move(name)) {}
  void add(const DecodingCounts& counts);

  std::string model;  ///< its name
  int64_t source_tokens = 0, target_tokens = 0, waiting = 0, running = 0;
  HistogramSum queue_time, first_token, request_time, batch_fill;
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
