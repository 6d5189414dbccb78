#pragma once
#include <string>

#include "model/config.h"

// Human-readable descriptions of a model.

namespace sixfold {

/// The layers and their sizes: "6 encoder and 6 decoder layers, d_model 512, ...".
std::string describe_layers(const ModelConfig& config);
/// Which matrices the embeddings and the output share, or the patches of images.
std::string describe_embeddings(const ModelConfig& config);
/// What differs from the paper's architecture, besides sizes: "norm rms, positions rotary".
std::string describe_variant(const Architecture& architecture);
/// The settings of the search for an output: "beam size 4, scores divided by n^1, ...".
std::string describe_search(const GenerationConfig& rules);

}  // namespace sixfold
