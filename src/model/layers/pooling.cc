#include "model/layers/pooling.h"

#include <vector>

#include "base/error.h"
#include "ops/ops.h"

namespace sixfold {
namespace {

/// The first or the last row of each sequence of x.
Tensor row_of_each_sequence(Context& context, const Tensor& x, const Ragged& rows, bool last) {
  std::vector<int32_t> from, inverse(static_cast<size_t>(rows.tokens()), -1);
  for (int i = 0; i < rows.sequences(); ++i) {
    from.push_back(last ? rows.begin(i) + rows.length(i) - 1 : rows.begin(i));
    inverse[static_cast<size_t>(from.back())] = i;
  }
  return ops::gather_rows(context, x, context.indices(from), context.indices(inverse));
}

/// As many sequences as `rows` has, each of this length.
Ragged sequences_of_length(int length, const Ragged& rows) {
  Ragged all;
  for (int i = 0; i < rows.sequences(); ++i) all.add(length);
  return all;
}

}  // namespace

SequencePooling::SequencePooling(ParameterBuilder make, Pooling kind, int d_model) : kind_(kind) {
  if (kind == Pooling::attention) query_ = make.vector("query", d_model, Initial::zeros);
}

/// The query is the same for all sequences. Its initial value is zero, for which attention gives the mean.
Tensor SequencePooling::attend(const Tensor& states, const TokenRows& rows, Context& context) const {
  const Ragged queries = sequences_of_length(1, rows.ragged);
  const std::vector<int32_t> first(static_cast<size_t>(queries.sequences()), 0);
  const Tensor query =
      ops::embed(context, {.table = query_}, context.indices(first), context.token_rows(queries));
  return ops::attention(context, {.query = query, .key = states, .value = states},
                        ops::attention_pattern(context, queries, rows.ragged, /*causal=*/false));
}

/// Computes the average of the states up to each token; that at the last token is the mean of the sequence.
Tensor SequencePooling::average(const Tensor& states, const TokenRows& rows, Context& context) const {
  const auto no_history =
      ops::attention_pattern(context, rows.ragged, sequences_of_length(0, rows.ragged), /*causal=*/false);
  const Tensor averages = ops::linear_recurrence(context, states, {}, rows, {{}, no_history});
  return row_of_each_sequence(context, averages, rows.ragged, /*last=*/true);
}

Tensor SequencePooling::operator()(const Tensor& states, const TokenRows& rows, Context& context) const {
  switch (kind_) {
    case Pooling::first:
      return row_of_each_sequence(context, states, rows.ragged, /*last=*/false);
    case Pooling::mean:
      return average(states, rows, context);
    case Pooling::attention:
      return attend(states, rows, context);
  }
  throw_unknown("pooling", kind_);
}

}  // namespace sixfold
