#include "model/heads/vocabulary_head.h"

namespace sixfold {
namespace {

ops::OutputWeights projection(ParameterBuilder builder, const ModelConfig& c, const Tensor& embedding) {
  const Tensor weight =
      c.shares_output() ? embedding : builder.table("weight", c.target_vocab, c.d_model, ParameterUse::product);
  return {weight, c.output_bias ? builder.vector("bias", c.target_vocab, Initial::zeros) : Tensor()};
}

}  // namespace

VocabularyHead::VocabularyHead(const ParameterBuilder& builder, const ModelConfig& config,
                               const Tensor& embedding)
    : Head(projection(builder.in("output_projection"), config, embedding), config.target_vocab) {}

}  // namespace sixfold
