#include "backend/cpu/onednn.h"

#include <array>
#include <dnnl.hpp>
#include <map>
#include <memory>
#include <vector>

#include "base/error.h"

extern "C" void omp_set_num_threads(int);  // limits the threads that oneDNN may start

namespace sixfold {
namespace {

using dnnl::memory;

const dnnl::engine& engine() {
  static const dnnl::engine one(dnnl::engine::kind::cpu, 0);
  return one;
}

memory::desc describe(int64_t rows, int64_t cols, int64_t row, int64_t col, memory::data_type type) {
  return {{rows, cols}, type, memory::dims{row, col}};
}

struct Shapes {
  explicit Shapes(const Bf16Product& p)
      : a(describe(p.m, p.k, p.a_row, p.a_col, memory::data_type::bf16)),
        b(describe(p.k, p.n, p.b_row, p.b_col, memory::data_type::bf16)),
        c(describe(p.m, p.n, p.c_row, 1, memory::data_type::f32)) {}
  memory::desc a, b, c;
};

/// The compiled code for a shape, and its scratch memory.
struct Product {
  dnnl::matmul code;
  memory::desc scratch;
};

Product compile(const Bf16Product& p) {
  const Shapes shapes(p);
  dnnl::primitive_attr attributes;
  // otherwise each shape would keep its own scratch memory
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (p.accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0f);
    attributes.set_post_ops(sum);
  }
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::matmul::primitive_desc code(engine(), shapes.a, shapes.b, shapes.c, attributes);
#else
  const dnnl::matmul::primitive_desc code(dnnl::matmul::desc(shapes.a, shapes.b, shapes.c), attributes,
                                          engine());
#endif
  return {dnnl::matmul(code), code.scratchpad_desc()};
}

using Key = std::array<int64_t, 9>;

Key key_of(const Bf16Product& p) {
  return {p.m, p.n, p.k, p.a_row, p.a_col, p.b_row, p.b_col, p.c_row, p.accumulate};
}

}  // namespace

struct Bf16Multiplier::Compiled {
  dnnl::stream stream{engine()};
  std::map<Key, Product> products;
  std::vector<char> scratch;
};

Bf16Multiplier::Bf16Multiplier() = default;
Bf16Multiplier::~Bf16Multiplier() = default;
Bf16Multiplier::Bf16Multiplier(Bf16Multiplier&&) noexcept = default;

void Bf16Multiplier::run(const Bf16Product& p) {
  constexpr size_t most_kept = 1024;
  omp_set_num_threads(1);
  try {
    if (!compiled_) compiled_ = std::make_unique<Compiled>();
    if (compiled_->products.size() >= most_kept) compiled_->products.clear();
    auto found = compiled_->products.find(key_of(p));
    if (found == compiled_->products.end()) found = compiled_->products.emplace(key_of(p), compile(p)).first;
    const Shapes shapes(p);
    const Product& product = found->second;
    if (compiled_->scratch.size() < product.scratch.get_size() + 64)
      compiled_->scratch.resize(product.scratch.get_size() + 64);
    void* scratch = compiled_->scratch.data();
    size_t room = compiled_->scratch.size();
    std::align(64, product.scratch.get_size(), scratch, room);
    product.code.execute(compiled_->stream,
                         {{DNNL_ARG_SRC, memory(shapes.a, engine(), const_cast<uint16_t*>(p.a))},
                          {DNNL_ARG_WEIGHTS, memory(shapes.b, engine(), const_cast<uint16_t*>(p.b))},
                          {DNNL_ARG_DST, memory(shapes.c, engine(), p.c)},
                          {DNNL_ARG_SCRATCHPAD, memory(product.scratch, engine(), scratch)}});
    compiled_->stream.wait();
  } catch (const dnnl::error& error) {
    throw_environment_error("oneDNN can't multiply in bf16 on this processor ({}); set the precision to fp32",
                            error.what());
  }
}

bool has_bf16_products() {
  try {
    compile({16, 16, 16, nullptr, 16, 1, nullptr, 16, 1, nullptr, 16, false});
    return true;
  } catch (const dnnl::error&) {
    return false;
  }
}

}  // namespace sixfold
