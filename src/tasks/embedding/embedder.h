#pragma once
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/api.h"
#include "runtime/predictor.h"

namespace sixfold {

/// The embedding of a text.
struct TextEmbedding {
  std::vector<float> values;         ///< `Embedder::size` numbers; none if there is an error
  size_t tokens = 0;                 ///< number of tokens that the model read, including special tokens
  size_t tokens_cut = 0;             ///< tokens at the end of the text that the model did not read
  std::optional<std::string> error;  ///< why there is no embedding, such as text that is not valid UTF-8
};

struct EmbedOptions {
  std::stop_token cancel = {};  ///< when stop is requested, the call soon throws `Cancelled`
};

/// Computes embeddings, vectors that stand for texts, with a model folder (Reimers and Gurevych 2019). Safe to
/// share between threads.
class SIXFOLD_API Embedder final : public Predictor {
 public:
  /// Throws an input error if the model does not compute embeddings.
  explicit Embedder(std::shared_ptr<ModelRuntime> model);
  /// The same for a model folder. Throws as `open_model` as well.
  explicit Embedder(const std::string& model_folder, const RuntimeOptions& options = {})
      : Embedder(open_model(model_folder, options)) {}

  /// The number of values of an embedding.
  int size() const;
  /// Whether embeddings have the Euclidean norm 1, except those that are zero.
  bool normalizes() const { return normalizes_; }

  /// Returns the embedding of each text, in their order. A text has the same embedding, bit for bit, whatever
  /// other texts there are, and with any number of threads. An empty text has one too. A text that is not valid
  /// UTF-8 or has a NUL has an error; the others have results.
  std::vector<TextEmbedding> embed(std::span<const std::string> texts, const EmbedOptions& options = {}) const;

 private:
  bool normalizes_;
};

/// The cosine of the angle between two embeddings of the same size, from -1 to 1; 0 if one of them is zero.
SIXFOLD_API double cosine(std::span<const float> a, std::span<const float> b);

}  // namespace sixfold
