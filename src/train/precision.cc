#include "train/precision.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "backend/backend.h"
#include "base/error.h"
#include "base/file.h"
#include "base/threads.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

constexpr double worth = 1.5;

/// Operations a second: the best of some, for what disturbs them makes them only slower.
double rate_of(Backend& backend) {
  constexpr int64_t m = 1024, k = 512, n = 512;
  std::vector<float> a(m * k, 0.5f), b(k * n, 0.25f), c(m * n);
  const Matmul product{.result = {c.data(), DType::f32, m, n, n},
                       .a = {a.data(), DType::f32, m, k, k},
                       .b = {b.data(), DType::f32, k, n, n}};
  double best = 0;
  for (int i = 0; i < 6; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    backend.matmul(product);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (i > 0) best = std::max(best, 2.0 * m * k * n / seconds);
  }
  return best;
}

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

}  // namespace

ProductRates measure_product_rates(int threads) {
  ProductRates rates{rate_of(*make_cpu_backend(threads))};
  try {
    rates.bf16 = rate_of(*make_cpu_backend(threads, Products::bf16));
  } catch (const Error&) {  // there are none
  }
  return rates;
}

ProductRates product_rates() {
  const fs::path path = cache_path();
  const std::string key = processor();
  nlohmann::json cache = read_cache(path);
  if (const auto kept = cache.find(key);
      kept != cache.end() && kept->is_object() && kept->value("fp32", 0.0) > 0)
    return {kept->value("fp32", 0.0), kept->value("bf16", 0.0)};
  const ProductRates rates = measure_product_rates(available_threads());
  cache[key] = {{"fp32", rates.fp32}, {"bf16", rates.bf16}};
  try {
    if (!path.empty()) {
      fs::create_directories(path.parent_path());
      write_file_atomically(path, cache.dump(2) + "\n");
    }
  } catch (const std::exception&) {  // they are measured again next time
  }
  return rates;
}

Precision choose_precision(Precision asked, const ProductRates& rates) {
  if (asked != Precision::automatic) return asked;
  return rates.bf16 > worth * rates.fp32 ? Precision::bf16 : Precision::fp32;
}

}  // namespace sixfold
