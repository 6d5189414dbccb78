#include <algorithm>
#include <cstring>

#include "backend/dropout.h"
#include "backend/reference/kernels.h"
#include "base/bf16.h"

namespace sixfold::reference {
namespace {

/// out[r][c] = element(r, c)
template <class T, class Element>
void set_each(View out, Element element) {
  for (int64_t r = 0; r < out.rows; ++r)
    for (int64_t c = 0; c < out.cols; ++c) out.row<T>(r)[c] = element(r, c);
}

/// Returns the sum of f(x[r][c]) in fp64, in order.
template <class T, class F>
double sum_each(View x, F f) {
  double sum = 0;
  for (int64_t r = 0; r < x.rows; ++r)
    for (int64_t c = 0; c < x.cols; ++c) sum += f(static_cast<double>(x.row<T>(r)[c]));
  return sum;
}

}  // namespace

void compute(const kernel::Fill& k) {
  with_type(k.out.dtype,
            [&]<class T>(T) { set_each<T>(k.out, [&](int64_t, int64_t) { return static_cast<T>(k.value); }); });
}

void compute(const kernel::Add& k) {
  with_type(k.out.dtype, [&]<class T>(T) {
    set_each<T>(k.out, [&](int64_t r, int64_t c) { return k.a.row<T>(r)[c] + k.b.row<T>(r)[c]; });
  });
}

void compute(const kernel::Multiply& k) {
  with_type(k.out.dtype, [&]<class T>(T) {
    set_each<T>(k.out, [&](int64_t r, int64_t c) { return k.a.row<T>(r)[c] * k.b.row<T>(r)[c]; });
  });
}

void compute(const kernel::Scale& k) {
  with_type(k.out.dtype, [&]<class T>(T) {
    set_each<T>(k.out, [&](int64_t r, int64_t c) { return k.x.row<T>(r)[c] * static_cast<T>(k.factor); });
  });
}

void compute(const kernel::Rotate& k) {
  with_type(k.out.dtype, [&]<class T>(T) {
    const int64_t d = k.angles.cols;
    for (int64_t r = 0; r < k.x.rows; ++r) {
      const T *x = k.x.row<T>(r), *angles = k.angles.row<T>(k.position.data[r]);
      T* out = k.out.row<T>(r);
      for (int64_t c = 0; c < k.x.cols; c += 2) {
        const T sine = k.inverse ? -angles[c % d] : angles[c % d], cosine = angles[c % d + 1];
        const T a = x[c], b = x[c + 1];
        out[c] = a * cosine - b * sine;
        out[c + 1] = a * sine + b * cosine;
      }
    }
  });
}

void compute(const kernel::PositionFeature& k) {
  with_type(k.out.dtype, [&]<class T>(T) {
    const int64_t last = k.x.cols - 1;
    for (int64_t r = 0; r < k.x.rows; ++r) {
      T* out = k.out.row<T>(r);
      if (out != k.x.row<T>(r)) std::copy_n(k.x.row<T>(r), last, out);
      const T place = k.position ? static_cast<T>(k.position.data[r] + 1) : T{0};
      out[last] = k.lengths ? place / static_cast<T>(k.lengths.data[r]) : place;
    }
  });
}

void compute(const kernel::Swap& k) {
  with_type(k.a.dtype, [&]<class T>(T) {
    for (int64_t r = 0; r < k.a.rows; ++r)
      std::swap_ranges(k.a.row<T>(r), k.a.row<T>(r) + k.a.cols, k.b.row<T>(r));
  });
}

void compute(const kernel::ApplyDropout& k) {
  with_type(k.out.dtype, [&]<class T>(T) {
    set_each<T>(k.out, [&](int64_t r, int64_t c) { return apply_dropout(k.dropout, r, c, k.x.row<T>(r)[c]); });
  });
}

void compute(const kernel::CopyRows& k) {
  for (int64_t r = 0; r < k.x.rows; ++r) {
    const View from = k.x.slice_rows(r, 1), to = k.out.slice_rows(k.rows.data[r], 1);
    if (from.dtype == to.dtype)
      std::memcpy(to.data, from.data, static_cast<size_t>(from.extent()));
    else
      std::transform(from.as<float>(), from.as<float>() + from.cols, to.as<uint16_t>(), to_bf16);
  }
}

void compute(const kernel::GatherRows& k) {
  for (int64_t r = 0; r < k.out.rows; ++r) {
    const View to = k.out.slice_rows(r, 1);
    if (k.rows.data[r] < 0) {
      std::memset(to.data, 0, static_cast<size_t>(to.extent()));
      continue;
    }
    const View from = k.x.slice_rows(k.rows.data[r], 1);
    std::memcpy(to.data, from.data, static_cast<size_t>(from.extent()));
    if (k.x.scales) k.out_scales.data[r] = *from.scales.data;
  }
}

void compute(const kernel::ColumnSum& k) {
  if (!k.accumulate) compute(kernel::Fill{k.out, 0});
  with_type(k.out.dtype, [&]<class T>(T) {
    for (int64_t r = 0; r < k.x.rows; ++r)
      for (int64_t c = 0; c < k.x.cols; ++c) k.out.as<T>()[c] += k.x.row<T>(r)[c];
  });
}

void compute(const kernel::Sum& k) {
  with_type(k.x.dtype, [&]<class T>(T) {
    const double sum = sum_each<T>(k.x, [](double x) { return x; });
    double& out = *k.out.as<double>();
    out = k.accumulate ? out + sum : sum;
  });
}

void compute(const kernel::BlockSquares& k) {
  const int64_t size = k.x.rows * k.x.cols;
  with_type(k.x.dtype, [&]<class T>(T) {
    for (int64_t i = 0; i < k.sums.size; ++i) {
      const int64_t begin = i * k.block, count = std::min(k.block, size - begin);
      const View block{k.x.as<T>() + begin, k.x.dtype, 1, count, count};
      k.sums.data[i] = sum_each<T>(block, [](double x) { return x * x; });
    }
  });
}

}  // namespace sixfold::reference
