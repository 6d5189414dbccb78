#include "train/precision.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "backend/backend.h"
#include "base/error.h"
#include "base/file.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

constexpr double worth = 1.5;
constexpr double longest_kept = 30 * 24 * 3600.0;  // seconds

/// A product such as training has.
class TrialProduct {
 public:
  /// Operations a second, measured once.
  double rate(Backend& backend) {
    const Matmul product{.result = {c_.data(), DType::f32, m, n, n},
                         .a = {a_.data(), DType::f32, m, k, k},
                         .b = {b_.data(), DType::f32, k, n, n}};
    const auto begin = std::chrono::steady_clock::now();
    backend.matmul(product);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return 2.0 * m * k * n / std::max(seconds, 1e-9);
  }

 private:
  static constexpr int64_t m = 1024, k = 512, n = 512;
  std::vector<float> a_ = std::vector<float>(m * k, 0.5f), b_ = std::vector<float>(k * n, 0.25f),
                     c_ = std::vector<float>(m * n);
};

/// What the rates are kept under.
std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  std::string name = "unknown", family, model;
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const auto value = [&] { return line.substr(std::min(line.size(), line.find(':') + 2)); };
    if (line.starts_with("model name")) name = value();
    if (line.starts_with("cpu family")) family = value();
    if (line.starts_with("model\t")) model = value();
  }
  return fmt::format("{}, family {}, model {}, {}, {} threads", name, family, model,
                     make_cpu_backend(1)->name(), available_threads());
}

/// Empty where the user has no cache folder.
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

/// The rates of an entry of the cache that still holds.
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

/// The best rates of some measurements; the last one says whether they are steady.
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

MeasuredRates measure_product_rates(int threads) {
  constexpr int repeats = 8;
  const auto fp32 = make_cpu_backend(threads);
  std::shared_ptr<Backend> bf16;
  try {
    bf16 = make_cpu_backend(threads, MatmulPrecision::bf16);
  } catch (const Error&) {  // the processor has no such products
  }
  TrialProduct trial;
  std::vector<double> fp32_rates, bf16_rates;
  for (int i = 0; i <= repeats; ++i) {
    const double of_fp32 = trial.rate(*fp32), of_bf16 = bf16 ? trial.rate(*bf16) : 0;
    if (i == 0) continue;  // touches memory for the first time, and oneDNN compiles
    fp32_rates.push_back(of_fp32);
    if (bf16) bf16_rates.push_back(of_bf16);
  }
  return {{best_of(fp32_rates), best_of(bf16_rates)}, is_steady(fp32_rates) && is_steady(bf16_rates)};
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
  } catch (const std::exception&) {  // they are measured again next time
  }
  return measured.best;
}

Precision choose_precision(Precision asked, const ProductRates& rates) {
  if (asked != Precision::automatic) return asked;
  return rates.bf16 > worth * rates.fp32 ? Precision::bf16 : Precision::fp32;
}

}  // namespace sixfold
