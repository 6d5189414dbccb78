#include "runtime/predictor.h"

#include "base/file.h"
#include "model/position_encodings.h"
#include "runtime/model_runtime.h"

namespace sixfold {

std::shared_ptr<ModelRuntime> open_model(const std::string& folder, const RuntimeOptions& options) try {
  return std::make_shared<ModelRuntime>(folder, options);
} catch (...) {
  rethrow_as_error();
}

Predictor::Predictor(std::shared_ptr<ModelRuntime> model) : model_(std::move(model)) {}

const ModelConfig& Predictor::config() const { return model_->config(); }
const GenerationConfig& Predictor::generation() const { return config().generation; }

std::vector<float> Predictor::position_encodings(int64_t positions) const {
  return sixfold::position_encodings(model_->model(), positions);
}

DecodingCounts Predictor::counts() const { return model_->engine().counts(); }

}  // namespace sixfold
