#pragma once
#include "families/json/causal.h"

// What the families that derive from Llama share. The meaning of keys and tensors is defined in transformers'
// configuration and modeling files of llama, mistral, qwen2, qwen3 and phi3.

namespace sixfold {

/// The projections of attention that have a bias.
enum class AttentionBiases { none, query_key_value, all, as_config_says };

/// What a family says of itself, beside the keys and tensors that all of them have.
struct LlamaKind {
  std::string_view class_name, type;  ///< "LlamaForCausalLM", "llama"
  SpecialIds usual = {.bos = 1, .eos = 2};
  int context = 2048;  ///< `max_position_embeddings` of a config.json without the key
  int kv_heads = 0;    ///< `num_key_value_heads` of one without it; 0: as many as heads
  int head_dim = 0;    ///< `head_dim` of one without it; 0: hidden_size / heads
  AttentionBiases biases = AttentionBiases::as_config_says;
  bool query_key_norm = false;
  bool fused =
      false;  ///< queries, keys and values are one tensor, and so are gate and input of the other layer
  /// Number of tokens that a token attends to, itself included; 0: all. Throws an input error if layers differ.
  int (*window)(const JsonKeys& keys, int context) = nullptr;
  bool window_by_layers = false;  ///< `use_sliding_window` and `max_window_layers` say which layers have it
};

Imported read_llama_like(const ImportSource& source, const LlamaKind& kind);
Exported write_llama_like(const ExportSource& source, const std::string& folder, const LlamaKind& kind);

/// Whether a language model has the layers that these families have.
bool is_llama_like(const ModelConfig& config);

/// The window of a key that may be missing, null or a number of tokens.
int sliding_window(const JsonKeys& keys, int usual);

}  // namespace sixfold
