// The kernels, with Google Benchmark: products of the model's shapes, and each op of tests/op_cases.h forward
// and back. Threads: SIXFOLD_THREADS, 1 if unset.

#include <benchmark/benchmark.h>

#include <cstdlib>

#include "base/error.h"
#include "op_cases.h"

namespace sixfold {
namespace {

int threads() {
  const char* text = std::getenv("SIXFOLD_THREADS");
  return text ? std::max(1, std::atoi(text)) : 1;
}

/// The rows of a packed batch and the widths of the presets, small things last.
const std::vector<std::vector<int64_t>> shapes = {{3850, 128, 128}, {3850, 256, 256},  {3850, 1024, 256},
                                                  {3850, 512, 512}, {3850, 2048, 512}, {3850, 512, 2048},
                                                  {262, 8000, 512}, {64, 512, 512},    {4, 512, 512},
                                                  {1, 512, 512},    {30, 64, 30}};

struct Product {
  explicit Product(const benchmark::State& state)
      : m(state.range(0)), n(state.range(1)), k(state.range(2)), a(m * k, 0.5f), b(n * k, 0.25f), c(m * n) {}
  kernel::Matmul call() {
    return {.result = {c.data(), DType::f32, m, n, n},
            .a = {a.data(), DType::f32, m, k, k},
            .b = {b.data(), DType::f32, n, k, k},
            .transpose_b = true};
  }
  void count(benchmark::State& state) const {
    state.counters["FLOP"] =
        benchmark::Counter(2.0 * static_cast<double>(m * n * k), benchmark::Counter::kIsIterationInvariantRate,
                           benchmark::Counter::kIs1000);
  }
  int64_t m, n, k;
  std::vector<float> a, b, c;
};

void product(benchmark::State& state) {
  const auto backend = make_backend({.threads = threads()});
  Product p(state);
  for (auto _ : state) backend->run(p.call());
  p.count(state);
}

/// Skips where the processor has no bf16 products.
std::shared_ptr<Backend> bf16_backend(benchmark::State& state) {
  try {
    return make_backend({.threads = threads(), .products = MatmulPrecision::bf16});
  } catch (const Error& error) {
    state.SkipWithError(error.what());
    return nullptr;
  }
}

void bf16_product(benchmark::State& state) {
  const auto backend = bf16_backend(state);
  if (!backend) return;
  Product p(state);
  for (auto _ : state) backend->run(p.call());
  p.count(state);
}

/// The gradient of a weight [n, k]: a sum over m tokens.
void bf16_weight_gradient(benchmark::State& state) {
  const auto backend = bf16_backend(state);
  if (!backend) return;
  Product p(state);
  for (auto _ : state)
    backend->run(kernel::Matmul{.result = {p.b.data(), DType::f32, p.n, p.k, p.k},
                                .a = {p.c.data(), DType::f32, p.m, p.n, p.n},
                                .b = {p.a.data(), DType::f32, p.m, p.k, p.k},
                                .transpose_a = true,
                                .accumulate = true});
  p.count(state);
}

void packed_product(benchmark::State& state) {
  const auto backend = make_backend({.threads = threads()});
  Product p(state);
  kernel::Matmul call = p.call();
  const auto packed = backend->pack(call.b, true);
  call.packed_b = packed.get();
  for (auto _ : state) backend->run(call);
  p.count(state);
}

/// A product with a weight in int8.
void int8_product(benchmark::State& state) {
  const auto backend = make_backend({.threads = threads()});
  Product p(state);
  std::vector<int8_t> weight(p.b.size());
  for (size_t i = 0; i < weight.size(); ++i)
    weight[i] = static_cast<int8_t>(static_cast<int64_t>(i % 255) - 127);
  std::vector<float> scales(static_cast<size_t>(p.n), 0.01f);
  kernel::Matmul call = p.call();
  call.b = {weight.data(), DType::i8, p.n, p.k, p.k, {scales.data(), std::ssize(scales)}};
  const auto packed = backend->pack(call.b, true);
  call.packed_b = packed.get();
  for (auto _ : state) backend->run(call);
  p.count(state);
}

/// An op over 300 sentences of 13 tokens, forward and, where it has one, back.
void run_op(benchmark::State& state, const OpCase& op, const OpSizes& sizes) {
  const std::shared_ptr<Backend> backend = make_backend({.threads = threads()});
  const auto arena = std::make_shared<Arena>(backend);
  const auto memory = lasting_memory(backend);
  const OpValues values = draw_values(op, sizes, 1);
  for (auto _ : state) {
    Tape tape;
    Context context(backend, arena, tape, {1, 1});
    OpArguments arguments = upload(values, context, memory, DType::f32);
    Tensor out = op.run(context, arguments);
    if (op.gradients == Gradients::by_tape) {
      Tensor gradient = context.tensor(out.rows(), out.cols(), out.dtype());
      backend->run(kernel::Fill{gradient.view(), 1});
      out.set_gradient(gradient);
    }
    tape.backward();
  }
  state.counters["tokens"] = benchmark::Counter(static_cast<double>(values.tokens.tokens()),
                                                benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace
}  // namespace sixfold

int main(int argc, char** argv) {
  using namespace sixfold;
  benchmark::Initialize(&argc, argv);
  const auto add_product = [&](const char* name, void (*run)(benchmark::State&)) {
    auto* bench = benchmark::RegisterBenchmark(name, run)->UseRealTime();
    for (const auto& shape : shapes) bench->Args(shape);
  };
  add_product("product", product);
  add_product("packed_product", packed_product);
  add_product("int8_product", int8_product);
  add_product("bf16_product", bf16_product);
  add_product("bf16_weight_gradient", bf16_weight_gradient);

  const OpSizes sizes{.lengths = std::vector<int>(300, 13),
                      .key_lengths = std::vector<int>(300, 13),
                      .d_model = 256,
                      .heads = 4,
                      .d_k = 64,
                      .d_v = 64,
                      .d_ff = 1024,
                      .vocab = 8000};
  for (const OpCase& op : op_cases(sizes))
    benchmark::RegisterBenchmark(("op/" + op.name).c_str(),
                                 [op, sizes](benchmark::State& state) { run_op(state, op, sizes); })
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  benchmark::RunSpecifiedBenchmarks();
}
