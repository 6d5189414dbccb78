#include "train/start.h"

#include <algorithm>

#include "base/error.h"
#include "model/model_dir.h"
#include "translate/binding.h"

namespace sixfold {
namespace {

/// Whether a weight of that name stays as it is.
bool is_frozen(const std::string& name, const std::vector<Frozen>& parts) {
  const bool embedding =
      name.starts_with("shared.") || name.find("embed_") != name.npos || name.starts_with("output_projection.");
  return std::any_of(parts.begin(), parts.end(), [&](Frozen part) {
    switch (part) {
      case Frozen::embeddings:
        return embedding;
      case Frozen::encoder:
        return !embedding && name.starts_with("encoder.");
      case Frozen::decoder:
        return !embedding && name.starts_with("decoder.");
    }
    return false;
  });
}

}  // namespace

ModelConfig model_config(const TrainOptions& options, const std::string& from, const Tokenizers& tokenizers) {
  ModelConfig config;
  static_cast<Architecture&>(config) = options.model;
  if (!from.empty()) {
    config = load_model_config(from);
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

std::vector<Parameter> trained_parameters(const Transformer& model, const std::vector<Frozen>& frozen) {
  std::vector<Parameter> trained;
  for (const Parameter& parameter : model.parameters()) {
    const bool fixed = is_frozen(parameter.name, frozen);
    parameter.tensor.set_requires_grad(!fixed);
    if (!fixed) trained.push_back(parameter);
  }
  return trained;
}

}  // namespace sixfold
