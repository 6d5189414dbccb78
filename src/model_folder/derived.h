#pragma once
#include <string>
#include <vector>

#include "base/options.h"
#include "model/weight_type.h"

// Functions that make a model folder from model folders. They copy the tokenizers. They write the folder
// `output` atomically, and may replace what `require_new_or_model` allows.

namespace sixfold {

/// Averages the weights of several models of the same architecture and vocabulary (section 6.1; also `sixfold
/// average`). The config and tokenizers are those of the first. The buffers are averaged too: for the running
/// statistics of batch norms this is an estimate, since the states of a model with averaged weights are not the
/// average of the states. Throws an input error if the models differ.
void average_models(const std::vector<std::string>& folders, const std::string& output);

/// Converts the matrices of a model to int8 or int4 (docs/int8.md; also `sixfold quantize`). Throws an input
/// error if they are converted already.
void quantize_model(const std::string& folder, const std::string& output, WeightType type = WeightType::int8);

/// Copies a model with other settings of its task. `step`: the step that `write_provenance` adds to its
/// history.
void copy_with_settings(const std::string& folder, const OptionNode& settings, const std::string& output,
                        const std::string& step);

}  // namespace sixfold
