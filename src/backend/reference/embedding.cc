#include "backend/dropout.h"
#include "backend/reference/kernels.h"

namespace sixfold::reference {

void compute(const kernel::Embed& e) {
  with_type(e.out.dtype, [&]<class T>(T) {
    const T scale = static_cast<T>(e.scale);
    for (int64_t r = 0; r < e.out.rows; ++r) {
      const int64_t row = e.table_row(r);
      const auto token = [&](int64_t c) {
        if (row < 0) return T{0};
        if (e.table.dtype != DType::i8) return e.table.row<T>(row)[c] * scale;
        return static_cast<T>(e.table.row<int8_t>(row)[c]) * (static_cast<T>(e.table.scales.data[row]) * scale);
      };
      const T* position = e.positions ? e.positions.row<T>(e.position.data[r]) : nullptr;
      for (int64_t c = 0; c < e.out.cols; ++c) {
        const T sum = token(c) + (position ? position[c] : T{0});
        e.out.row<T>(r)[c] = apply_dropout(e.dropout, r, c, sum);
      }
    }
  });
}

void compute(const kernel::EmbedGradient& e) {
  with_type(e.grad_out.dtype, [&]<class T>(T) {
    const T scale = static_cast<T>(e.scale);
    for (int64_t r = 0; r < e.grad_out.rows; ++r) {
      const int64_t row = e.table_row(r);
      if (row < 0) continue;
      T* grad_token = e.grad_table.row<T>(row);
      for (int64_t c = 0; c < e.grad_out.cols; ++c)
        grad_token[c] += apply_dropout(e.dropout, r, c, e.grad_out.row<T>(r)[c]) * scale;
    }
  });
}

}  // namespace sixfold::reference
