// Scaled dot-product attention (section 3.2.1) on a textbook example: four keys with values, and three queries.
// A query in the direction of a key returns that key's value; a query between two keys returns the mean of
// their values.
#include <sixfold/extend/ops/ops.h>

#include <cmath>
#include <cstdio>

using sixfold::Tensor;

static double tidy(double x) { return std::round(x * 1e9) / 1e9; }

int main() {
  const std::shared_ptr<sixfold::Backend> backend = sixfold::make_backend({.device = "reference"});
  sixfold::Context context(backend, std::make_shared<sixfold::Arena>(backend));
  const auto matrix = [&](int64_t rows, int64_t cols, const std::vector<double>& values) {
    Tensor tensor = context.tensor(rows, cols, sixfold::DType::f64);
    tensor.copy_from(*backend, values);
    return tensor;
  };
  const Tensor keys = matrix(4, 3, {10, 0, 0, 0, 10, 0, 0, 0, 10, 0, 0, 10});
  const Tensor values = matrix(4, 3, {1, 0, 1, 10, 0, 2, 100, 5, 0, 1000, 6, 0});
  const Tensor queries = matrix(3, 3, {0, 10, 0, 0, 0, 10, 10, 10, 0});

  sixfold::Ragged query_rows, key_rows;  // one sequence of three queries, one of four keys
  query_rows.add(3);
  key_rows.add(4);
  const auto everything = sixfold::ops::attention_pattern(context, query_rows, key_rows, /*causal=*/false);
  const auto out = sixfold::ops::attention(context, {queries, keys, values}, everything).to_doubles(*backend);
  for (size_t q = 0; q < 3; ++q)
    std::printf("query %zu -> [%g, %g, %g]\n", q, tidy(out[3 * q]), tidy(out[3 * q + 1]), tidy(out[3 * q + 2]));
}
