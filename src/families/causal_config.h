#pragma once
#include "families/generation_config.h"
#include "model/layers/architecture.h"

namespace sixfold {

class JsonKeys;

/// What the config.json of a GPT-2, Llama or Mistral of Hugging Face says.
struct CausalConfig {
  bool gpt2 = false;
  Architecture architecture;
  bool attention_bias = false;  ///< of a Llama
  int context_tokens = 0;       ///< of the longest text
  SpecialIds usual;             ///< of a config without the keys
};

/// Reads the keys of a config.json whose model_type `is_causal_model_type` knows. Throws an input error that
/// names the key that is missing, wrong or not supported.
CausalConfig causal_config_of(const JsonKeys& keys);

}  // namespace sixfold
