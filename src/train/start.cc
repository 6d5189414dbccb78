#include "train/start.h"

#include <algorithm>

#include "base/error.h"
#include "model/model_dir.h"
#include "translate/binding.h"

namespace sixfold {

ModelConfig model_config(const TrainOptions& options, const std::string& from, const Tokenizers& tokenizers) {
  ModelConfig config;
  static_cast<Architecture&>(config) = options.model;
  config.generation = options.generation;
  if (!from.empty()) {
    config = load_model_config(from);
    require_encoder_and_decoder(config, from);
    config.dropout = options.model.dropout;
    config.attention_dropout = options.model.attention_dropout;
    config.activation_dropout = options.model.activation_dropout;
  }
  bind_tokenizers(config, tokenizers);
  require(config.tied_embeddings != TiedEmbeddings::all || tokenizers.joint,
          "model.tied_embeddings: all three matrices can be one only with a joint vocabulary; set it to "
          "decoder or none, or "
          "tokenizer.joint to true");
  return config;
}

std::vector<Parameter> trained_parameters(Transformer& model, const std::vector<ModelPart>& frozen) {
  std::vector<Parameter> trained;
  for (Parameter& parameter : model.parameters()) {
    const bool fixed = std::find(frozen.begin(), frozen.end(), parameter.part) != frozen.end();
    parameter.tensor.set_requires_grad(!fixed);
    if (!fixed) trained.push_back(parameter);
  }
  return trained;
}

}  // namespace sixfold
