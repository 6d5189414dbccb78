#include <algorithm>
#include <utility>

#include "families/families.h"
#include "families/json/llama_like.h"

// Qwen 2 and Qwen 3 of Hugging Face: Llamas with biases of queries, keys and values, or with norms of queries
// and keys.

namespace sixfold {
namespace {

/// The window of all layers. Layers have a window from `max_window_layers` on, or if `layer_types` says so;
/// either all or none must have it.
int qwen_window(const JsonKeys& keys, int) {
  const bool used = keys.get("use_sliding_window", false);
  const int window = used ? sliding_window(keys, 4096) : 0, layers = keys.size("num_hidden_layers");
  if (window == 0) return 0;
  int with_window = std::max(0, layers - keys.count("max_window_layers", 28));
  if (keys.has("layer_types")) {
    const nlohmann::json& types = keys.at("layer_types");
    require(types.is_array() && std::cmp_equal(types.size(), layers),
            "{}: layer_types is not a list of {} texts", keys.path(), layers);
    with_window = static_cast<int>(std::ranges::count(types, nlohmann::json("sliding_attention")));
  }
  require(with_window == 0 || with_window == layers,
          "{}: {} of {} layers have a sliding window; only all or none of them is supported", keys.path(),
          with_window, layers);
  return with_window > 0 ? window : 0;
}

constexpr LlamaKind qwen2{.class_name = "Qwen2ForCausalLM",
                          .type = "qwen2",
                          .default_ids = {.bos = 151643, .eos = 151643},
                          .context = 32768,
                          .kv_heads = 32,
                          .biases = AttentionBiases::query_key_value,
                          .window = qwen_window,
                          .window_by_layers = true};

constexpr LlamaKind qwen3{.class_name = "Qwen3ForCausalLM",
                          .type = "qwen3",
                          .default_ids = {.bos = 151643, .eos = 151643},
                          .context = 32768,
                          .kv_heads = 32,
                          .head_dim = 128,
                          .query_key_norm = true,
                          .window = qwen_window,
                          .window_by_layers = true};

}  // namespace

Family qwen2_family() {
  return {.program = &hugging_face,
          .name = qwen2.type,
          .class_name = qwen2.class_name,
          .title = "Qwen 2",
          .recognizes = has_model_type,
          .read = [](const ImportSource& source) { return read_llama_like(source, qwen2); },
          .exports = "language models with rotary positions, a window of attention and biases",
          .takes =
              [](const ModelConfig& c) {
                return is_llama_like(c) && c.decoder_mixer == MixerKind::restricted_attention &&
                       c.attention_bias && !c.query_key_norm && c.rotary_features == 0;
              },
          .write = [](const ExportSource& source,
                      const std::string& folder) { return write_llama_like(source, folder, qwen2); }};
}

Family qwen3_family() {
  return {.program = &hugging_face,
          .name = qwen3.type,
          .class_name = qwen3.class_name,
          .title = "Qwen 3",
          .recognizes = has_model_type,
          .read = [](const ImportSource& source) { return read_llama_like(source, qwen3); },
          .exports = "language models with rotary positions and norms of queries and keys",
          .takes = [](const ModelConfig& c) { return is_llama_like(c) && c.query_key_norm; },
          .write = [](const ExportSource& source,
                      const std::string& folder) { return write_llama_like(source, folder, qwen3); }};
}

}  // namespace sixfold
