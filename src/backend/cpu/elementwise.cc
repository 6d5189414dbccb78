#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/elementwise.cc"
#include <hwy/foreach_target.h>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/simd.h"
#include "base/bf16.h"

HWY_BEFORE_NAMESPACE();
namespace sixfold::HWY_NAMESPACE {

/// Rounds floats to the nearest bf16, ties to even. NaN stays NaN.
HWY_INLINE void round_to_bf16(const float* from, int64_t n, uint16_t* to) {
  const Words d;
  const hn::Rebind<uint16_t, Words> halves;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto x = hn::LoadU(Floats(), from + i);
    const auto bits = hn::BitCast(d, x);
    const auto even = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
    const auto rounded = hn::Add(bits, hn::Add(even, hn::Set(d, 0x7FFF)));
    const auto kept =
        hn::IfThenElse(hn::RebindMask(d, hn::IsNaN(x)), hn::Or(bits, hn::Set(d, 0x400000)), rounded);
    hn::StoreU(hn::TruncateTo(halves, hn::ShiftRight<16>(kept)), halves, to + i);
  }
  for (; i < n; ++i) to[i] = to_bf16(from[i]);
}

void copy_rows(const kernel::CopyRows& k, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    const View from = k.x.slice_rows(r, 1), to = k.out.slice_rows(k.rows.data[r], 1);
    if (from.dtype == to.dtype)
      std::memcpy(to.data, from.data, static_cast<size_t>(from.extent()));
    else
      round_to_bf16(from.as<float>(), from.cols, to.as<uint16_t>());
  }
}

void add_rows(const kernel::Add& k, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    float *to = k.out.row<float>(r), *x = k.a.row<float>(r), *y = k.b.row<float>(r);
    over_vectors(k.out.cols, [&](int64_t i, const auto& load, const auto& store)
                                 HWY_ATTR { store(hn::Add(load(x + i), load(y + i)), to + i); });
  }
}

void multiply_rows(const kernel::Multiply& k, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    float *to = k.out.row<float>(r), *x = k.a.row<float>(r), *y = k.b.row<float>(r);
    over_vectors(k.out.cols, [&](int64_t i, const auto& load, const auto& store)
                                 HWY_ATTR { store(hn::Mul(load(x + i), load(y + i)), to + i); });
  }
}

void scale_rows(const kernel::Scale& k, int64_t begin, int64_t end) {
  const auto factor = hn::Set(Floats(), static_cast<float>(k.factor));
  for (int64_t r = begin; r < end; ++r) {
    float *to = k.out.row<float>(r), *x = k.x.row<float>(r);
    over_vectors(k.out.cols, [&](int64_t i, const auto& load, const auto& store)
                                 HWY_ATTR { store(hn::Mul(load(x + i), factor), to + i); });
  }
}

/// With s = -sine in features 2i and sine in features 2i + 1, out = x * cosine + swapped(x) * s, where
/// `swapped` exchanges the features of each pair.
void rotate_rows(const kernel::Rotate& k, int64_t begin, int64_t end) {
  const Floats d;
  const int64_t width = k.angles.cols;
  const auto sign = hn::Set(d, k.inverse ? -1.0f : 1.0f);
  for (int64_t r = begin; r < end; ++r) {
    const float* angles = k.angles.row<float>(k.position.data[r]);
    for (int64_t head = 0; head < k.x.cols; head += width) {
      const float* x = k.x.row<float>(r) + head;
      float* out = k.out.row<float>(r) + head;
#if HWY_TARGET == HWY_SCALAR
      for (int64_t i = 0; i < width; i += 2) {
        const float sine = (k.inverse ? -1.0f : 1.0f) * angles[i], a = x[i], b = x[i + 1];
        out[i] = a * angles[i + 1] - b * sine;
        out[i + 1] = a * sine + b * angles[i + 1];
      }
      (void)sign;
#else
      over_vectors(width, [&](int64_t i, const auto& load, const auto& store) HWY_ATTR {
        const auto v = load(x + i), both = load(angles + i);
        const auto sine = hn::Mul(hn::DupEven(both), sign), cosine = hn::DupOdd(both);
        const auto swapped = hn::Reverse2(d, v);
        store(hn::MulAdd(v, cosine, hn::Mul(swapped, hn::OddEven(sine, hn::Neg(sine)))), out + i);
      });
#endif
    }
  }
}

void dropout_rows(const kernel::ApplyDropout& k, int64_t begin, int64_t end, uint16_t* bits) {
  const View& out = k.out;
  const Dropout& dropout = k.dropout;
  const float keep = static_cast<float>(dropout.keep_scale());
  for (int64_t r = begin; r < end; ++r) {
    float *to = out.row<float>(r), *x = k.x.row<float>(r);
    dropout_bits(dropout, r, dropout.module, out.cols, bits);
    over_vectors(out.cols, [&](int64_t i, const auto& load, const auto& store) HWY_ATTR {
      store(hn::Mul(load(x + i), keep_factor(bits + i, dropout.threshold, keep)), to + i);
    });
  }
}

/// Sums columns [begin, end). Each sum adds the rows in order.
void sum_columns(const kernel::ColumnSum& k, int64_t begin, int64_t end) {
  const Floats d;
  const View& x = k.x;
  float* to = k.out.as<float>();
  if (!k.accumulate) std::fill(to + begin, to + end, 0.0f);
  // The sums of a strip of columns stay in registers.
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

void embed_rows(const kernel::Embed& e, int64_t begin, int64_t end, uint16_t* bits) {
  const auto factor = hn::Set(Floats(), static_cast<float>(e.scale));
  const float keep = static_cast<float>(e.dropout.keep_scale());
  for (int64_t r = begin; r < end; ++r) {
    const int64_t row = e.table_row(r);
    const bool bytes = e.table.dtype == DType::i8;
    const float* embedding = row < 0 || bytes ? nullptr : e.table.row<float>(row);
    const int8_t* int8_embedding = row < 0 || !bytes ? nullptr : e.table.row<int8_t>(row);
    const auto int8_factor =
        hn::Set(Floats(), int8_embedding ? e.table.scales.data[row] * static_cast<float>(e.scale) : 0.0f);
    const float* position = e.positions ? e.positions.row<float>(e.position.data[r]) : nullptr;
    float* to = e.out.row<float>(r);
    if (e.dropout) dropout_bits(e.dropout, r, e.dropout.module, e.out.cols, bits);
    over_vectors(e.out.cols, [&](int64_t i, const auto& load, const auto& store) HWY_ATTR {
      auto v = position ? load(position + i) : hn::Zero(Floats());
      if (embedding) v = hn::MulAdd(load(embedding + i), factor, v);
      if (int8_embedding)
        v = hn::MulAdd(load_bytes(int8_embedding + i, std::min<int64_t>(lanes, e.out.cols - i)), int8_factor,
                       v);
      if (e.dropout) v = hn::Mul(v, keep_factor(bits + i, e.dropout.threshold, keep));
      store(v, to + i);
    });
  }
}

/// Processes columns [begin, end) of every row, in the order of the rows; begin is a multiple of 8 vectors.
void embed_gradient_columns(const kernel::EmbedGradient& e, int64_t begin, int64_t end, uint16_t* bits) {
  const auto factor = hn::Set(Floats(), static_cast<float>(e.scale));
  const float keep = static_cast<float>(e.dropout.keep_scale());
  for (int64_t r = 0; r < e.grad_out.rows; ++r) {
    const int64_t row = e.table_row(r);
    if (row < 0) continue;
    const float* from = e.grad_out.row<float>(r);
    float* to = e.grad_table.row<float>(row);
    if (e.dropout) dropout_bits(e.dropout, r, e.dropout.module, end, bits);
    over_vectors(end - begin, [&](int64_t j, const auto& load, const auto& store) HWY_ATTR {
      const int64_t i = begin + j;
      auto v = load(from + i);
      if (e.dropout) v = hn::Mul(v, keep_factor(bits + i, e.dropout.threshold, keep));
      store(hn::MulAdd(v, factor, load(to + i)), to + i);
    });
  }
}

}  // namespace sixfold::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sixfold {
namespace {

HWY_EXPORT(copy_rows);
HWY_EXPORT(add_rows);
HWY_EXPORT(multiply_rows);
HWY_EXPORT(scale_rows);
HWY_EXPORT(rotate_rows);
HWY_EXPORT(dropout_rows);
HWY_EXPORT(sum_columns);
HWY_EXPORT(embed_rows);
HWY_EXPORT(embed_gradient_columns);

constexpr int64_t column_block = 64;  // floats; four cache lines

}  // namespace

void CpuBackend::compute(const kernel::Fill& k) {
  split(k.out.rows, k.out.cols, [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r)
      std::fill_n(k.out.row<float>(r), k.out.cols, static_cast<float>(k.value));
  });
}

void CpuBackend::compute(const kernel::Add& k) {
  split(k.out.rows, k.out.cols, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(add_rows)(k, begin, end);
  });
}

void CpuBackend::compute(const kernel::Multiply& k) {
  split(k.out.rows, k.out.cols, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(multiply_rows)(k, begin, end);
  });
}

void CpuBackend::compute(const kernel::Scale& k) {
  split(k.out.rows, k.out.cols, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(scale_rows)(k, begin, end);
  });
}

void CpuBackend::compute(const kernel::Rotate& k) {
  split(k.x.rows, k.x.cols, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(rotate_rows)(k, begin, end);
  });
}

void CpuBackend::compute(const kernel::ApplyDropout& k) {
  split(k.out.rows, k.out.cols * 2, [&](int64_t begin, int64_t end, int thread) {
    HWY_DYNAMIC_DISPATCH(dropout_rows)(k, begin, end, bits_buffer(thread, k.out.cols));
  });
}

void CpuBackend::compute(const kernel::CopyRows& k) {
  split(k.x.rows, k.x.cols, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(copy_rows)(k, begin, end);
  });
}

void CpuBackend::compute(const kernel::ColumnSum& k) {
  const int64_t cols = k.x.cols;
  split((cols + column_block - 1) / column_block, k.x.rows * column_block,
        [&](int64_t begin, int64_t end, int) {
          HWY_DYNAMIC_DISPATCH(sum_columns)(k, begin * column_block, std::min(cols, end * column_block));
        });
}

void CpuBackend::compute(const kernel::Embed& k) {
  split(k.out.rows, k.out.cols * 2, [&](int64_t begin, int64_t end, int thread) {
    HWY_DYNAMIC_DISPATCH(embed_rows)(k, begin, end, bits_buffer(thread, k.out.cols));
  });
}

void CpuBackend::compute(const kernel::EmbedGradient& k) {
  const int64_t cols = k.grad_out.cols;
  split((cols + column_block - 1) / column_block, k.grad_out.rows * column_block,
        [&](int64_t begin, int64_t end, int thread) {
          HWY_DYNAMIC_DISPATCH(embed_gradient_columns)
          (k, begin * column_block, std::min(cols, end * column_block), bits_buffer(thread, cols));
        });
}

}  // namespace sixfold
#endif
