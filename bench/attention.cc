// Time and memory of attention against length: one sequence that attends to itself, 8 heads of 64, forward and
// back. usage: bench_attention [--threads N] [--longest N] [--window R] prints a table;
// memory is how far the peak rose.

#include <fmt/core.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>

#include "backend/backend.h"

using namespace sixfold;

namespace {

constexpr int heads = 8, width = 64;

double peak_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

struct Rows {
  explicit Rows(int64_t count) : rows(count), values(static_cast<size_t>(count * heads * width), 0.01f) {}
  View view() { return {values.data(), DType::f32, rows, heads * width, heads * width}; }
  int64_t rows;
  std::vector<float> values;
};

template <class Work>
double milliseconds(const Work& work) {
  work();  // warm
  const auto begin = std::chrono::steady_clock::now();
  int runs = 0;
  double spent = 0;
  do {
    work();
    ++runs;
    spent = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  } while (spent < 200);
  return spent / runs;
}

void measure(Backend& backend, int32_t length, int32_t window) {
  Rows query(length), key(length), value(length), out(length), grad_query(length), grad_key(length),
      grad_value(length);
  std::vector<float> logsumexp(static_cast<size_t>(length) * heads);
  const std::vector<AttentionSpan> span{{0, length, 0, length}};
  const double before = peak_mb();
  const kernel::Attention forward{.query = query.view(),
                                  .key = key.view(),
                                  .value = value.view(),
                                  .out = out.view(),
                                  .logsumexp = {logsumexp.data(), DType::f32, length, heads, heads},
                                  .spans = span,
                                  .device_spans = {span.data(), 1},
                                  .heads = heads,
                                  .window = window};
  const double there = milliseconds([&] { backend.run(forward); });
  const double back = milliseconds([&] {
    backend.run(kernel::AttentionGradient{.forward = forward,
                                          .grad_out = out.view(),
                                          .grad_query = grad_query.view(),
                                          .grad_key = grad_key.view(),
                                          .grad_value = grad_value.view()});
  });
  const double seen = window < length ? std::min(2.0 * window + 1, 1.0 * length) : length;  // keys of a query
  const double operations = 4.0 * length * seen * heads * width;
  fmt::print("| {} | {:.2f} | {:.0f} | {:.2f} | {:.0f} | {:.1f} | {:.1f} |\n", length, there,
             operations / there / 1e6, back, 2.5 * operations / back / 1e6, peak_mb() - before,
             length * 8.0 * length * 4 / (1 << 20));
  std::cout << std::flush;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("attention against length");
  int threads = 1, longest = 16384, window = kernel::Attention::everywhere;
  app.add_option("--threads", threads);
  app.add_option("--longest", longest);
  app.add_option("--window", window, "restrict attention to this many places on each side");
  CLI11_PARSE(app, argc, argv);
  const auto backend = make_backend({.threads = threads});
  fmt::print(
      "| length | forward, ms | GFLOP/s | back, ms | GFLOP/s | memory it took, MB | all scores would take, MB "
      "|\n");
  fmt::print("|---:|---:|---:|---:|---:|---:|---:|\n");
  for (int32_t length = 16; length <= longest; length *= 4) measure(*backend, length, window);
}
