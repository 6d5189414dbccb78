#pragma once
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/api.h"
#include "formats/image.h"
#include "model/generation_config.h"
#include "runtime/predictor.h"
#include "search/hypothesis.h"

namespace sixfold {

class OptionVisitor;

/// A caption of an image.
struct Caption {
  std::string text;            ///< empty if there is an error
  double score = 0;            ///< `log_probability`, normalized as in the generation settings
  double log_probability = 0;  ///< sum over all tokens, including the end token
  FinishReason reason = FinishReason::end_token;  ///< anything else: the maximum length was reached
  std::optional<std::string> error;               ///< why there is no caption, such as an image of another size
};

struct CaptionOptions {
  std::optional<int> beam_size = {};  ///< default: that of `generation`
  /// Settings of the search and of the scores. Default: those of the model (`Predictor::generation`).
  std::optional<GenerationConfig> generation = {};
  /// Number of patches, times beam size, decoded at once by each thread; 0: depends on the model's size.
  int64_t batch_tokens = 0;
  std::stop_token cancel = {};  ///< when stop is requested, the call soon throws `Cancelled`
};
void visit(OptionVisitor& v, CaptionOptions& o);

/// The attention of each token of a caption over the patches of its image, in one layer of the decoder.
struct ImageAttention {
  std::string caption;
  std::vector<std::string> tokens;  ///< of the caption, including the end token unless it was cut
  int rows = 0, columns = 0;        ///< of the grid of patches
  int patch = 0, stride = 0;        ///< in pixels
  int layer = 0, heads = 0;
  std::vector<float> weights;  ///< [heads, tokens, rows * columns], the weights used to predict each token;
                               ///< without those of a class token
};

/// Captions images with the model in a model folder. Safe to share between threads.
class SIXFOLD_API Captioner final : public Predictor {
 public:
  /// Throws an input error if the model is not one that captions images.
  explicit Captioner(std::shared_ptr<ModelRuntime> model);
  /// The same for a model folder. Throws as `open_model` as well.
  explicit Captioner(const std::string& model_folder, const RuntimeOptions& options = {})
      : Captioner(open_model(model_folder, options)) {}

  /// The size of the images that the model reads.
  ImageSize size() const;
  int decoder_layers() const;

  /// Returns the caption of each image, in their order. An image has the same caption whatever other images
  /// there are, and with any number of threads. An image of another size than those of the training data has an
  /// error; the others have results. Concurrent calls share the threads.
  std::vector<Caption> caption(std::span<const Image> images, const CaptionOptions& options = {}) const;

  /// Captions an image, and returns the cross-attention over its patches in a layer of the decoder (negative:
  /// counted from the last). Throws an input error if the image has another size than the model reads, or if
  /// there is no such layer.
  ImageAttention attention(const Image& image, int layer = -1, const CaptionOptions& options = {}) const;
};

}  // namespace sixfold
