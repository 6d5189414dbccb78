#pragma once
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/api.h"
#include "formats/image.h"
#include "runtime/predictor.h"
#include "tasks/classification/class_probabilities.h"

namespace sixfold {

/// The label of a text or of an image.
struct Classification {
  std::string label;                 ///< the likeliest; empty if there is an error
  double probability = 0;            ///< of this label
  ClassProbabilities probabilities;  ///< of all labels, in the order of `Classifier::labels`
  size_t tokens_cut = 0;             ///< tokens at the end of the text that the model did not read
  std::optional<std::string>
      error;  ///< why there is no label, such as an empty text or an image of another size
};

struct ClassifyOptions {
  std::stop_token cancel = {};  ///< when stop is requested, the call soon throws `Cancelled`
};

/// Classifies texts or images with the classifier in a model folder. Safe to share between threads.
class SIXFOLD_API Classifier final : public Predictor {
 public:
  /// Throws an input error if the model is not a classifier.
  explicit Classifier(std::shared_ptr<ModelRuntime> model);
  /// The same for a model folder. Throws as `open_model` as well.
  explicit Classifier(const std::string& model_folder, const RuntimeOptions& options = {})
      : Classifier(open_model(model_folder, options)) {}

  const std::vector<std::string>& labels() const { return labels_; }
  /// Whether it classifies images; else it classifies texts.
  bool reads_images() const;

  /// Returns the label of each text, in their order. A text has the same probabilities whatever other texts
  /// there are. A text that has no visible character or is not valid UTF-8 has an error; the others have
  /// results.
  std::vector<Classification> classify(std::span<const std::string> texts,
                                       const ClassifyOptions& options = {}) const;
  /// The same for images. An image of another size than those of the training data has an error. Throws an
  /// input error if the model reads text, and `classify` of texts if it reads images.
  std::vector<Classification> classify_images(std::span<const Image> images,
                                              const ClassifyOptions& options = {}) const;

 private:
  std::vector<std::string> labels_;
};

}  // namespace sixfold
