#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/api.h"
#include "base/error.h"
#include "runtime/decoding_statistics.h"
#include "runtime/runtime_options.h"

namespace sixfold {

struct GenerationConfig;
struct ModelConfig;
class ModelRuntime;

/// Opens a model folder, for predictors that share it. Throws an input error if the folder is not a complete
/// model, or if its tokenizers are not those that the model was trained with.
SIXFOLD_API std::shared_ptr<ModelRuntime> open_model(const std::string& folder,
                                                     const RuntimeOptions& options = {});

/// The base class of objects that predict with a model. Each task has a derived class with its own functions.
/// Copies share the model. Safe to share between threads.
class SIXFOLD_API Predictor {
 public:
  virtual ~Predictor() = default;

  const ModelConfig& config() const;
  /// The generation settings that are stored with the model.
  const GenerationConfig& generation() const;
  /// The encodings of the first positions (`position_encodings` of model/position_encodings.h).
  std::vector<float> position_encodings(int64_t positions) const;
  /// What the batches of the model have done since it was loaded.
  DecodingCounts counts() const;

 protected:
  explicit Predictor(std::shared_ptr<ModelRuntime> model);
  Predictor(const Predictor&) = default;
  Predictor& operator=(const Predictor&) = default;

  ModelRuntime& model() const { return *model_; }

 private:
  std::shared_ptr<ModelRuntime> model_;
};

}  // namespace sixfold
