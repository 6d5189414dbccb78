#include "runtime/predictor.h"

#include "model/position_encodings.h"
#include "runtime/model_runtime.h"

namespace sixfold {

std::shared_ptr<ModelRuntime> open_model(const std::string& folder, const RuntimeOptions& options) {
  return std::make_shared<ModelRuntime>(folder, options);
}

Predictor::Predictor(std::shared_ptr<ModelRuntime> model) : model_(std::move(model)) {}

const ModelConfig& Predictor::config() const { return model_->config(); }

std::vector<float> Predictor::position_encodings(int64_t positions) const {
  return sixfold::position_encodings(model_->model(), positions);
}

DecodingCounts Predictor::counts() const { return model_->engine().counts(); }

}  // namespace sixfold
