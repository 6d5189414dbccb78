#include "families/families.h"
#include "families/json/llama_like.h"

// Phi-3 of Hugging Face: a Llama with fused projections, in which only a part of the features of a head may be
// rotated.

namespace sixfold {
namespace {

constexpr LlamaKind phi3{.class_name = "Phi3ForCausalLM",
                         .type = "phi3",
                         .default_ids = {.bos = 1, .eos = 32000},
                         .context = 4096,
                         .biases = AttentionBiases::none,
                         .fused = true,
                         .partly_rotated = true,
                         .window = [](const JsonKeys& keys, int) { return sliding_window(keys, 0); }};

}  // namespace

Family phi3_family() {
  return {.program = &hugging_face,
          .name = phi3.type,
          .class_name = phi3.class_name,
          .title = "Phi-3",
          .recognizes = has_model_type,
          .read = [](const ImportSource& source) { return read_llama_like(source, phi3); },
          .exports = "language models with rotary positions of a part of each head",
          .takes = [](const ModelConfig& c) { return is_llama_like(c) && c.rotary_features > 0; },
          .write = [](const ExportSource& source,
                      const std::string& folder) { return write_llama_like(source, folder, phi3); }};
}

}  // namespace sixfold
