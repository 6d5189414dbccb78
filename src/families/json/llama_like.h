#pragma once
#include "families/json/causal.h"

// Code that the families derived from Llama share. The meaning of keys and tensors is defined in transformers'
// configuration and modeling files of llama, mistral, qwen2, qwen3 and phi3.

namespace sixfold {

/// The projections of attention that have a bias.
enum class AttentionBiases { none, query_key_value, all, as_config_says };

/// The properties of one of these families, besides the keys and tensors that all of them share.
struct LlamaKind {
  std::string_view class_name, type;  ///< "LlamaForCausalLM", "llama"
  SpecialIds default_ids = {.bos = 1, .eos = 2};
  int context = 2048;  ///< `max_position_embeddings` of a config.json without the key
  int kv_heads = 0;    ///< `num_key_value_heads` of a config.json without the key; 0: as many as heads
  int head_dim = 0;    ///< `head_dim` of a config.json without the key; 0: hidden_size / heads
  AttentionBiases biases = AttentionBiases::as_config_says;
  bool query_key_norm = false;
  /// Whether queries, keys and values are one tensor, and gate and input of the feed-forward layer too.
  bool fused = false;
  bool feed_forward_biases = false;  ///< whether `mlp_bias` says that feed-forward layers have biases
  bool partly_rotated = false;       ///< whether `partial_rotary_factor` says that a part of a head is rotated
  /// The size of the attention window, including the token itself; 0: no window. Throws an input error if the
  /// windows of layers differ.
  int (*window)(const JsonKeys& keys, int context) = nullptr;
  /// Whether `use_sliding_window` and `max_window_layers` determine which layers have the window.
  bool window_by_layers = false;
};

Imported read_llama_like(const ImportSource& source, const LlamaKind& kind);
Exported write_llama_like(const ExportSource& source, const std::string& folder, const LlamaKind& kind);

/// Whether a language model has the layers of these families.
bool is_llama_like(const ModelConfig& config);

/// The window in the key `sliding_window`, which may be missing, null or a number of tokens.
int sliding_window(const JsonKeys& keys, int default_value);

}  // namespace sixfold
