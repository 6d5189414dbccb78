#include "families/families.h"
#include "families/json/llama_like.h"

// Llama and Mistral of Hugging Face, which differ in their defaults and in a window of attention.

namespace sixfold {
namespace {

constexpr LlamaKind llama{.class_name = "LlamaForCausalLM", .type = "llama", .feed_forward_biases = true};

/// The window of a Mistral without the key is 4096 tokens; a value of null means that there is none.
constexpr LlamaKind mistral{
    .class_name = "MistralForCausalLM",
    .type = "mistral",
    .context = 131072,
    .kv_heads = 8,
    .biases = AttentionBiases::none,
    .window = [](const JsonKeys& keys, int) { return sliding_window(keys, 4096); },
};

}  // namespace

Family llama_family() {
  return {.program = &hugging_face,
          .name = llama.type,
          .class_name = llama.class_name,
          .title = "Llama",
          .recognizes = has_model_type,
          .read = [](const ImportSource& source) { return read_llama_like(source, llama); },
          .exports = "language models with rotary positions",
          .takes = [](const ModelConfig& c) { return is_llama_like(c); },
          .write = [](const ExportSource& source,
                      const std::string& folder) { return write_llama_like(source, folder, llama); }};
}

Family mistral_family() {
  return {.program = &hugging_face,
          .name = mistral.type,
          .class_name = mistral.class_name,
          .title = "Mistral",
          .recognizes = has_model_type,
          .read = [](const ImportSource& source) { return read_llama_like(source, mistral); },
          .exports = "language models with rotary positions and a window of attention",
          .takes =
              [](const ModelConfig& c) {
                return is_llama_like(c) && c.decoder_mixer == MixerKind::restricted_attention &&
                       !c.query_key_norm && c.rotary_features == 0;
              },
          .write = [](const ExportSource& source,
                      const std::string& folder) { return write_llama_like(source, folder, mistral); }};
}

}  // namespace sixfold
