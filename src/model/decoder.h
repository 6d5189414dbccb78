#pragma once
#include <vector>

#include "model/attention.h"

namespace sixfold {

/// What the decoder's self-attention sees. In training the whole target is there at once and each token sees
/// those before it; in decoding a cache holds the tokens so far. This is the only difference between the two.
class KVSource {
 public:
  virtual ~KVSource() = default;
  /// Takes the keys and values of the tokens at hand, returns all that these tokens may see.
  virtual KeyValues extend(int layer, const KeyValues& tokens) = 0;
};

/// The history of whole target sequences.
class TeacherForcing final : public KVSource {
 public:
  explicit TeacherForcing(const Ragged& target)
      : pattern_(
            std::make_shared<ops::AttentionPattern>(ops::attention_pattern(target, target, /*causal=*/true))) {}
  KeyValues extend(int, const KeyValues& tokens) override { return {tokens.keys, tokens.values, pattern_}; }

 private:
  std::shared_ptr<const ops::AttentionPattern> pattern_;
};

/// What the decoder decodes from, besides the tokens themselves.
struct DecoderInput {
  const TokenRows& rows;  ///< of the target tokens
  KVSource& history;
  const std::vector<KeyValues>& memory;  ///< the encoder's output, projected for each layer's cross-attention
};

/// Figure 1 right, one layer: masked self-attention, attention over the encoder's output, feed-forward; each in
/// its connection.
class DecoderLayer {
 public:
  DecoderLayer(ParameterBuilder& make, const Architecture& a, int index);
  /// x: [target tokens, d_model].
  Tensor operator()(const Tensor& x, const DecoderInput& input, Context& context) const;
  /// The encoder's output [source tokens, d_model] as keys and values of this layer's cross-attention.
  KeyValues project_memory(const Tensor& encoder_output, std::shared_ptr<const ops::AttentionPattern> pattern,
                           Context& context) const;

  Tensor self_attention_weights(const Tensor& x, const DecoderInput& input, Context& context) const;
  Tensor cross_attention_weights(const Tensor& x, const DecoderInput& input, Context& context) const;

 private:
  Tensor attend_to_history(const Tensor& x, const DecoderInput& input, Context& context) const;

  int index_;
  MultiHeadAttention self_attention_;
  SublayerConnection self_connection_;
  MultiHeadAttention cross_attention_;
  SublayerConnection cross_connection_;
  FeedForward feed_forward_;
  SublayerConnection feed_forward_connection_;
};

/// Section 3.1: a stack of identical layers over the embedded target.
class Decoder {
 public:
  Decoder(ParameterBuilder& make, const Architecture& a);
  int layers() const { return static_cast<int>(layers_.size()); }

  /// The encoder's output projected once for all layers; `pattern` says what target tokens see of it.
  std::vector<KeyValues> project_memory(const Tensor& encoder_output,
                                        const std::shared_ptr<const ops::AttentionPattern>& pattern,
                                        Context& context) const;
  /// embedded: [target tokens, d_model] -> states [target tokens, d_model].
  Tensor operator()(const Tensor& embedded, const DecoderInput& input, Context& context) const;

  Tensor self_attention_weights(const Tensor& embedded, const DecoderInput& input, int layer,
                                Context& context) const;
  Tensor cross_attention_weights(const Tensor& embedded, const DecoderInput& input, int layer,
                                 Context& context) const;

 private:
  Tensor run(Tensor x, const DecoderInput& input, int layers, Context& context) const;

  ProcessSequence postprocess_embedding_;
  std::vector<DecoderLayer> layers_;
  ProcessSequence postprocess_top_;
};

}  // namespace sixfold
