#include "train/precision.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string_view>

#include "backend/backend.h"
#include "ops/tensor.h"

namespace sixfold {
namespace {

/// Processors on which models of at least a width train faster in bf16. Models are numbered by their makers.
struct Bf16Rule {
  std::string_view vendor;
  int family, first_model, last_model;
  std::string_view instructions;
  int min_width;
};

constexpr Bf16Rule rules[] = {
    {"GenuineIntel", 6, 0, 255, "AMX",
     128},  // Xeons from the fourth generation on; the range is wide since virtual machines report other models
    {"AuthenticAMD", 25, 16, 31, "AVX512-BF16", 64},  // EPYC of the fourth generation (Zen 4)
    {"AuthenticAMD", 26, 0, 31, "AVX512-BF16", 128},  // fifth (Zen 5)
};

/// A matrix product of the size that is typical of training.
class TrialProduct {
 public:
  explicit TrialProduct(std::shared_ptr<Backend> backend)
      : backend_(std::move(backend)), a_(filled(m, k, 0.5f)), b_(filled(k, n, 0.25f)), c_(filled(m, n, 0)) {}

  /// Operations per second, measured once.
  double rate() {
    const auto begin = std::chrono::steady_clock::now();
    backend_->run(kernel::Matmul{.result = c_.view(), .a = a_.view(), .b = b_.view()});
    download(*backend_,
             c_.view().slice_cols(0, 1).slice_rows(0, 1).span<const float>());  // waits for the kernel
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return 2.0 * m * k * n / std::max(seconds, 1e-9);
  }

 private:
  static constexpr int64_t m = 1024, k = 512, n = 512;

  Tensor filled(int64_t rows, int64_t cols, float value) const {
    Tensor tensor(lasting_memory(backend_), rows, cols, DType::f32);
    backend_->run(kernel::Fill{tensor.view(), value});
    return tensor;
  }

  std::shared_ptr<Backend> backend_;
  Tensor a_, b_, c_;
};

}  // namespace

Processor this_processor() {
  Processor processor{.vendor = "", .bf16 = bf16_instructions()};
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const std::string value = line.substr(std::min(line.size(), line.find(':') + 2));
    if (line.starts_with("vendor_id")) processor.vendor = value;
    if (line.starts_with("cpu family")) processor.family = std::atoi(value.c_str());
    if (line.starts_with("model\t")) processor.model = std::atoi(value.c_str());
  }
  return processor;
}

int min_bf16_width(const Processor& processor) {
  for (const Bf16Rule& rule : rules)
    if (rule.vendor == processor.vendor && rule.family == processor.family &&
        rule.first_model <= processor.model && processor.model <= rule.last_model &&
        rule.instructions == processor.bf16)
      return rule.min_width;
  return 0;
}

Precision chosen_precision(Precision requested, int d_model) {
  if (requested != Precision::automatic) return requested;
  const int min_width = min_bf16_width(this_processor());
  return min_width > 0 && d_model >= min_width ? Precision::bf16 : Precision::fp32;
}

ProductRates measure_product_rates(int threads) {
  constexpr int repeats = 8;
  TrialProduct fp32(make_backend({.threads = threads}));
  std::optional<TrialProduct> bf16;
  if (!bf16_instructions().empty())
    bf16.emplace(make_backend({.threads = threads, .products = MatmulPrecision::bf16}));
  ProductRates best;
  for (int i = 0; i < repeats; ++i) {
    best.fp32 = std::max(best.fp32, fp32.rate());
    if (bf16) best.bf16 = std::max(best.bf16, bf16->rate());
  }
  return best;
}

}  // namespace sixfold
