#pragma once
#include <string_view>
#include <utility>

#include "base/options.h"
#include "model/layers/parameters.h"
#include "ops/context.h"

namespace sixfold {

/// How the states of a sequence are combined into one.
enum class Pooling {
  first,      ///< the state of the first token, as BERT does (Devlin et al. 2019)
  mean,       ///< their mean
  attention,  ///< a learned query attends to them (Yang et al. 2016)
};

template <>
struct EnumNames<Pooling> {
  static constexpr std::pair<Pooling, std::string_view> names[] = {
      {Pooling::first, "first"}, {Pooling::mean, "mean"}, {Pooling::attention, "attention"}};
};

/// Pools the states of packed sequences. Immutable; may be called from several threads.
class SequencePooling {
 public:
  /// Attention has a weight, named within `make`'s scope; the others have none.
  SequencePooling(ParameterBuilder make, Pooling kind, int d_model);

  /// states [tokens, d_model] -> [sequences, d_model].
  Tensor operator()(const Tensor& states, const TokenRows& rows, Context& context) const;

 private:
  Tensor attend(const Tensor& states, const TokenRows& rows, Context& context) const;
  Tensor average(const Tensor& states, const TokenRows& rows, Context& context) const;

  Pooling kind_;
  Tensor query_;  // [1, d_model], for attention
};

}  // namespace sixfold
