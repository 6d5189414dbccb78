#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/elementwise.cc"
#include <hwy/foreach_target.h>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace sixfold::HWY_NAMESPACE {

void add_rows(const View& out, const View& a, const View& b, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    float *to = out.row<float>(r), *x = a.row<float>(r), *y = b.row<float>(r);
    over_vectors(out.cols, [&](int64_t i, const auto& load, const auto& store)
                               HWY_ATTR { store(hn::Add(load(x + i), load(y + i)), to + i); });
  }
}

void scale_rows(const View& out, const View& a, float factor, int64_t begin, int64_t end) {
  const auto by = hn::Set(Floats(), factor);
  for (int64_t r = begin; r < end; ++r) {
    float *to = out.row<float>(r), *x = a.row<float>(r);
    over_vectors(out.cols, [&](int64_t i, const auto& load, const auto& store)
                               HWY_ATTR { store(hn::Mul(load(x + i), by), to + i); });
  }
}

void dropout_rows(const View& out, const View& a, const Dropout& dropout, int64_t begin, int64_t end,
                  uint16_t* bits) {
  const float keep = static_cast<float>(dropout.keep_scale());
  for (int64_t r = begin; r < end; ++r) {
    float *to = out.row<float>(r), *x = a.row<float>(r);
    dropout_bits(dropout, r, dropout.module, out.cols, bits);
    over_vectors(out.cols, [&](int64_t i, const auto& load, const auto& store) HWY_ATTR {
      store(hn::Mul(load(x + i), keep_factor(bits + i, dropout.threshold, keep)), to + i);
    });
  }
}

/// Columns [begin, end): each sum runs down the rows in order.
void sum_columns(const View& out, const View& x, bool accumulate, int64_t begin, int64_t end) {
  const Floats d;
  float* to = out.as<float>();
  if (!accumulate) std::fill(to + begin, to + end, 0.0f);
  // A strip of columns at a time stays in registers.
  constexpr int strip = 8;
  int64_t c = begin;
  for (; c + strip * lanes <= end; c += strip * lanes) {
    Vector sum[strip];
    for (int s = 0; s < strip; ++s) sum[s] = hn::LoadU(d, to + c + s * lanes);
    for (int64_t r = 0; r < x.rows; ++r) {
      const float* from = x.row<float>(r) + c;
      for (int s = 0; s < strip; ++s) sum[s] = hn::Add(sum[s], hn::LoadU(d, from + s * lanes));
    }
    for (int s = 0; s < strip; ++s) hn::StoreU(sum[s], d, to + c + s * lanes);
  }
  if (c == end) return;
  for (int64_t r = 0; r < x.rows; ++r) {
    const float* from = x.row<float>(r) + c;
    over_vectors(end - c, [&](int64_t i, const auto& load, const auto& store)
                              HWY_ATTR { store(hn::Add(load(to + c + i), load(from + i)), to + c + i); });
  }
}

/// The first `count` bytes at p as floats.
HWY_INLINE Vector load_bytes(const int8_t* p, int64_t count) {
  const hn::Rebind<int8_t, Floats> bytes;
  const hn::RebindToSigned<Words> ints;
  HWY_ALIGN int8_t first[lanes] = {};
  std::memcpy(first, p, static_cast<size_t>(count));
  return hn::ConvertTo(Floats(), hn::PromoteTo(ints, hn::Load(bytes, first)));
}

void embed_rows(const Embed& e, int64_t begin, int64_t end, uint16_t* bits) {
  const auto by = hn::Set(Floats(), static_cast<float>(e.scale));
  const float keep = static_cast<float>(e.dropout.keep_scale());
  for (int64_t r = begin; r < end; ++r) {
    const int64_t row = e.table_row(r);
    const bool bytes = e.table.dtype == DType::i8;
    const float* word = row < 0 || bytes ? nullptr : e.table.row<float>(row);
    const int8_t* small_word = row < 0 || !bytes ? nullptr : e.table.row<int8_t>(row);
    const auto small_by =
        hn::Set(Floats(), small_word ? e.table.scales[row] * static_cast<float>(e.scale) : 0.0f);
    const float* position = e.positions ? e.positions.row<float>(e.position[r]) : nullptr;
    float* to = e.out.row<float>(r);
    if (e.dropout) dropout_bits(e.dropout, r, e.dropout.module, e.out.cols, bits);
    over_vectors(e.out.cols, [&](int64_t i, const auto& load, const auto& store) HWY_ATTR {
      auto v = position ? load(position + i) : hn::Zero(Floats());
      if (word) v = hn::MulAdd(load(word + i), by, v);
      if (small_word)
        v = hn::MulAdd(load_bytes(small_word + i, std::min<int64_t>(lanes, e.out.cols - i)), small_by, v);
      if (e.dropout) v = hn::Mul(v, keep_factor(bits + i, e.dropout.threshold, keep));
      store(v, to + i);
    });
  }
}

/// Columns [begin, end) of every row, rows in order; begin is a multiple of 8 vectors.
void embed_gradient_columns(const Embed& e, const View& grad_out, const View& grad_table, int64_t begin,
                            int64_t end, uint16_t* bits) {
  const auto by = hn::Set(Floats(), static_cast<float>(e.scale));
  const float keep = static_cast<float>(e.dropout.keep_scale());
  for (int64_t r = 0; r < grad_out.rows; ++r) {
    const int64_t row = e.table_row(r);
    if (row < 0) continue;
    const float* from = grad_out.row<float>(r);
    float* to = grad_table.row<float>(row);
    if (e.dropout) dropout_bits(e.dropout, r, e.dropout.module, end, bits);
    over_vectors(end - begin, [&](int64_t j, const auto& load, const auto& store) HWY_ATTR {
      const int64_t i = begin + j;
      auto v = load(from + i);
      if (e.dropout) v = hn::Mul(v, keep_factor(bits + i, e.dropout.threshold, keep));
      store(hn::MulAdd(v, by, load(to + i)), to + i);
    });
  }
}

}  // namespace sixfold::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sixfold {
namespace {

HWY_EXPORT(add_rows);
HWY_EXPORT(scale_rows);
HWY_EXPORT(dropout_rows);
HWY_EXPORT(sum_columns);
HWY_EXPORT(embed_rows);
HWY_EXPORT(embed_gradient_columns);

constexpr int64_t column_piece = 64;  // a cache line of floats, four times

}  // namespace

void CpuBackend::fill(View out, double value) {
  split(out.rows, out.cols, [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r) std::fill_n(out.row<float>(r), out.cols, static_cast<float>(value));
  });
}

void CpuBackend::add(View out, View a, View b) {
  split(out.rows, out.cols, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(add_rows)(out, a, b, begin, end);
  });
}

void CpuBackend::scale(View out, View a, double factor) {
  split(out.rows, out.cols, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(scale_rows)(out, a, static_cast<float>(factor), begin, end);
  });
}

void CpuBackend::dropout(View out, View x, const Dropout& dropout) {
  split(out.rows, out.cols * 2, [&](int64_t begin, int64_t end, int thread) {
    HWY_DYNAMIC_DISPATCH(dropout_rows)(out, x, dropout, begin, end, bits_of(thread, out.cols));
  });
}

void CpuBackend::copy_rows(View out, const int32_t* out_rows, View x) {
  split(x.rows, x.cols, [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r) std::copy_n(x.row<float>(r), x.cols, out.row<float>(out_rows[r]));
  });
}

void CpuBackend::column_sum(View out, View x, bool accumulate) {
  split((x.cols + column_piece - 1) / column_piece, x.rows * column_piece,
        [&](int64_t begin, int64_t end, int) {
          HWY_DYNAMIC_DISPATCH(sum_columns)
          (out, x, accumulate, begin * column_piece, std::min(x.cols, end * column_piece));
        });
}

void CpuBackend::embed(const Embed& e) {
  split(e.out.rows, e.out.cols * 2, [&](int64_t begin, int64_t end, int thread) {
    HWY_DYNAMIC_DISPATCH(embed_rows)(e, begin, end, bits_of(thread, e.out.cols));
  });
}

void CpuBackend::embed_gradient(const Embed& forward, View grad_out, View grad_table) {
  const int64_t cols = grad_out.cols;
  split((cols + column_piece - 1) / column_piece, grad_out.rows * column_piece,
        [&](int64_t begin, int64_t end, int thread) {
          HWY_DYNAMIC_DISPATCH(embed_gradient_columns)
          (forward, grad_out, grad_table, begin * column_piece, std::min(cols, end * column_piece),
           bits_of(thread, cols));
        });
}

}  // namespace sixfold
#endif
