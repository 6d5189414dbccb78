#include "backend/dropout.h"
#include "backend/reference/reference_backend.h"

namespace sixfold {

void ReferenceBackend::embed(const Embed& e) {
  with_type(e.out.dtype, [&]<class T>(T) {
    const T scale = static_cast<T>(e.scale);
    for (int64_t r = 0; r < e.out.rows; ++r) {
      const T* token = e.table.row<T>(e.ids[r]);
      const T* position = e.positions.row<T>(e.position[r]);
      for (int64_t c = 0; c < e.out.cols; ++c)
        e.out.row<T>(r)[c] = apply_dropout(e.dropout, r, c, token[c] * scale + position[c]);
    }
  });
}

void ReferenceBackend::embed_gradient(const Embed& forward, View grad_out, View grad_table) {
  with_type(grad_out.dtype, [&]<class T>(T) {
    const T scale = static_cast<T>(forward.scale);
    for (int64_t r = 0; r < grad_out.rows; ++r) {
      T* grad_token = grad_table.row<T>(forward.ids[r]);
      for (int64_t c = 0; c < grad_out.cols; ++c)
        grad_token[c] += apply_dropout(forward.dropout, r, c, grad_out.row<T>(r)[c]) * scale;
    }
  });
}

}  // namespace sixfold
