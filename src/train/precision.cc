#include "train/precision.h"

#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "tensor/tensor.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

constexpr double worth = 1.5;
constexpr double longest_kept = 30 * 24 * 3600.0;  // seconds

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

/// The key of the rates in the cache.
std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  std::string name = "unknown", family, model;
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const auto value = [&] { return line.substr(std::min(line.size(), line.find(':') + 2)); };
    if (line.starts_with("model name")) name = value();
    if (line.starts_with("cpu family")) family = value();
    if (line.starts_with("model\t")) model = value();
  }
  return fmt::format("{}, family {}, model {}, {}, {} threads", name, family, model, make_backend()->name(),
                     available_threads());
}

/// The path of the cache; empty if the user has no cache folder.
fs::path cache_path() {
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  const fs::path folder = cache && *cache ? fs::path(cache)
                          : home && *home ? fs::path(home) / ".cache"
                                          : fs::path();
  return folder.empty() ? folder : folder / "sixfold" / "product-rates.json";
}

nlohmann::json read_cache(const fs::path& path) {
  std::ifstream file(path);
  auto json = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  return json.is_object() ? json : nlohmann::json::object();
}

double best_of(const std::vector<double>& rates) {
  return rates.empty() ? 0 : *std::max_element(rates.begin(), rates.end());
}

int64_t seconds_of(std::chrono::system_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

/// Returns the rates in an entry of the cache that is still valid.
std::optional<ProductRates> rates_of(const nlohmann::json& entry, std::chrono::system_clock::time_point now) {
  const auto number = [&](const char* key) {
    const auto found = entry.find(key);
    return found != entry.end() && found->is_number() ? found->get<double>() : 0.0;
  };
  if (!entry.is_object() || entry.value("version", nlohmann::json()) != SIXFOLD_VERSION) return std::nullopt;
  const double age = static_cast<double>(seconds_of(now)) - number("measured_at");
  if (age < 0 || age > longest_kept || number("fp32") <= 0) return std::nullopt;
  return ProductRates{number("fp32"), number("bf16")};
}

/// Seconds that all threads of this process have computed.
double computed_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Returns the best rates of several measurements, and whether the last one was steady.
MeasuredRates measure_until_steady(const RateSource& source) {
  MeasuredRates all;
  for (int i = 0; i < 3 && !all.steady; ++i) {
    const MeasuredRates one = source.measure();
    all = {{std::max(all.best.fp32, one.best.fp32), std::max(all.best.bf16, one.best.bf16)}, one.steady};
  }
  return all;
}

}  // namespace

bool is_steady(std::vector<double> rates) {
  if (rates.empty()) return true;
  const auto middle = rates.begin() + std::ssize(rates) / 2;
  std::nth_element(rates.begin(), middle, rates.end());
  return *middle >= 0.8 * best_of(rates);
}

bool had_processors(int threads, double computed, double seconds) {
  return computed >= 0.9 * threads * seconds;
}

MeasuredRates measure_product_rates(int threads) {
  constexpr int repeats = 8;
  TrialProduct fp32(make_backend({.threads = threads}));
  std::optional<TrialProduct> bf16;
  try {
    bf16.emplace(make_backend({.threads = threads, .products = MatmulPrecision::bf16}));
  } catch (const Error&) {  // the processor has no bf16 products
  }
  const auto measure = [&](std::vector<double>& of_fp32, std::vector<double>& of_bf16) {
    of_fp32.push_back(fp32.rate());
    if (bf16) of_bf16.push_back(bf16->rate());
  };
  std::vector<double> first, fp32_rates, bf16_rates;
  measure(first, first);  // touches memory for the first time
  const auto begin = std::chrono::steady_clock::now();
  const double before = computed_seconds();
  for (int i = 0; i < repeats; ++i) measure(fp32_rates, bf16_rates);
  const double computed = computed_seconds() - before;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const bool steady =
      is_steady(fp32_rates) && is_steady(bf16_rates) && had_processors(threads, computed, seconds);
  return {{best_of(fp32_rates), best_of(bf16_rates)}, steady};
}

ProductRates product_rates(const RateSource& source) {
  const fs::path path = cache_path();
  const std::string key = processor();
  nlohmann::json cache = read_cache(path);
  if (const auto found = cache.find(key); found != cache.end())
    if (const auto kept = rates_of(*found, source.now)) return *kept;
  const MeasuredRates measured = measure_until_steady(source);
  if (path.empty() || !measured.steady) return measured.best;
  cache[key] = {{"fp32", measured.best.fp32},
                {"bf16", measured.best.bf16},
                {"measured_at", seconds_of(source.now)},
                {"version", SIXFOLD_VERSION}};
  try {
    fs::create_directories(path.parent_path());
    write_file_atomically(path, cache.dump(2) + "\n");
  } catch (const std::exception&) {  // the next run measures again
  }
  return measured.best;
}

Precision choose_precision(Precision asked, const ProductRates& rates) {
  if (asked != Precision::automatic) return asked;
  return rates.bf16 > worth * rates.fp32 ? Precision::bf16 : Precision::fp32;
}

}  // namespace sixfold
