#include <algorithm>

#include "backend/dropout.h"
#include "backend/reference/reference_backend.h"

namespace sixfold {
namespace {

/// out[r][c] = compute(r, c)
template <class T, class Compute>
void set_each(View out, Compute compute) {
  for (int64_t r = 0; r < out.rows; ++r)
    for (int64_t c = 0; c < out.cols; ++c) out.row<T>(r)[c] = compute(r, c);
}

}  // namespace

void ReferenceBackend::fill(View out, double value) {
  with_type(out.dtype,
            [&]<class T>(T) { set_each<T>(out, [&](int64_t, int64_t) { return static_cast<T>(value); }); });
}

void ReferenceBackend::add(View out, View a, View b) {
  with_type(out.dtype, [&]<class T>(T) {
    set_each<T>(out, [&](int64_t r, int64_t c) { return a.row<T>(r)[c] + b.row<T>(r)[c]; });
  });
}

void ReferenceBackend::scale(View out, View a, double factor) {
  with_type(out.dtype, [&]<class T>(T) {
    set_each<T>(out, [&](int64_t r, int64_t c) { return a.row<T>(r)[c] * static_cast<T>(factor); });
  });
}

void ReferenceBackend::dropout(View out, View x, const Dropout& dropout) {
  with_type(out.dtype, [&]<class T>(T) {
    set_each<T>(out, [&](int64_t r, int64_t c) { return apply_dropout(dropout, r, c, x.row<T>(r)[c]); });
  });
}

void ReferenceBackend::copy_rows(View out, const int32_t* out_rows, View x) {
  with_type(out.dtype, [&]<class T>(T) {
    for (int64_t r = 0; r < x.rows; ++r) std::copy_n(x.row<T>(r), x.cols, out.row<T>(out_rows[r]));
  });
}

void ReferenceBackend::column_sum(View out, View x, bool accumulate) {
  if (!accumulate) fill(out, 0);
  with_type(out.dtype, [&]<class T>(T) {
    for (int64_t r = 0; r < x.rows; ++r)
      for (int64_t c = 0; c < x.cols; ++c) out.as<T>()[c] += x.row<T>(r)[c];
  });
}

double ReferenceBackend::sum_of_squares(View x) {
  double sum = 0;
  with_type(x.dtype, [&]<class T>(T) {
    for (int64_t r = 0; r < x.rows; ++r)
      for (int64_t c = 0; c < x.cols; ++c) {
        const double element = x.row<T>(r)[c];
        sum += element * element;
      }
  });
  return sum;
}

std::unique_ptr<Backend> make_reference_backend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace sixfold
