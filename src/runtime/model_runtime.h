#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "runtime/engine.h"
#include "runtime/runtime_options.h"
#include "search/ensemble.h"
#include "text/tokenizers.h"

namespace sixfold {

/// The number of tokens that a thread should decode at once, for weights of this size. Each step reads all
/// weights of the decoder, so more tokens share this cost. But with more tokens, less of their keys and values
/// stays in the processor's cache. In measurements (docs/benchmarks.md) the best number grows with the weights.
int64_t fitting_batch_tokens(int64_t weight_bytes);
/// The same for a search that keeps `hypotheses` of each source, whose tokens count as often: not more than
/// those whose keys and values take little memory beside the weights. `bytes_per_token`: of a source and of a
/// hypothesis (`DecodingState::bytes_per_token`).
int64_t fitting_batch_tokens(int64_t weight_bytes, std::pair<int64_t, int64_t> bytes_per_token, int hypotheses);

/// A model folder, opened: weights, tokenizers, and the engine that decodes for all calls. Predictors share it.
/// Safe to share between threads.
class ModelRuntime {
 public:
  /// Throws an input error if the folder is not a complete model, if its tokenizers are not those that the
  /// model was trained with, or if the other models of an ensemble do not fit it.
  explicit ModelRuntime(const std::string& folder, const RuntimeOptions& options = {});

  const Transformer& model() const { return *model_; }
  const ModelConfig& config() const { return model_->config(); }
  /// Whether searches use an ensemble of models, of which `model` is the first (`RuntimeOptions::ensemble`).
  bool is_ensemble() const { return !ensemble_.models.empty(); }
  const std::string& folder() const { return folder_; }
  /// Throw an input error if the model has no tokenizer.
  const Tokenizer& source() const { return *required(tokenizers_.source); }
  const Tokenizer& target() const { return *required(tokenizers_.target); }
  Engine& engine() { return engine_; }

  /// The number of tokens of a batch that fits the model.
  int64_t batch_tokens() const { return fitting_batch_tokens(weight_bytes()); }
  /// The same for a search, or what the options of a call request instead, unless that is 0. Throws an input
  /// error if it is negative.
  int64_t batch_tokens(int64_t requested, int hypotheses) const;
  /// Returns the index of a decoder layer; a negative `layer` counts from the last. Throws an input error if
  /// there is no such layer.
  int decoder_layer(int layer) const;

  /// Makes a borrowed workspace available again.
  struct ReturnWorkspace {
    ModelRuntime* owner;
    void operator()(DecodeWorkspace* workspace) const noexcept;
  };
  using BorrowedWorkspace = std::unique_ptr<DecodeWorkspace, ReturnWorkspace>;
  /// Returns an unused workspace. When the pointer is destroyed, the workspace can be borrowed again, with its
  /// buffers already allocated.
  BorrowedWorkspace borrow();
  /// Calls `task(i, workspace)` for each i in [0, count), on this thread and the engine's threads, in any
  /// order, as `Engine::run`. Throws `Cancelled` if stop is requested before all have begun.
  void run(size_t count, const std::stop_token& cancel,
           const std::function<void(size_t i, const DecodeWorkspace& workspace)>& task);

 private:
  const Tokenizer* required(const std::shared_ptr<const Tokenizer>& tokenizer) const;
  DecodeWorkspace workspace() const {
    return {model(), model().backend()->sibling(), is_ensemble() ? &ensemble_ : nullptr};
  }
  /// The models that searches use: one, or all of an ensemble.
  std::vector<const Transformer*> models() const;
  int64_t weight_bytes() const;
  void load_ensemble(const RuntimeOptions& options);

  std::string folder_;
  std::unique_ptr<Transformer> model_;
  std::vector<std::unique_ptr<Transformer>> others_;
  Ensemble ensemble_;  // has no models if there is only `model_`
  Tokenizers tokenizers_;
  std::mutex mutex_;
  // Has capacity for all workspaces, so that returning one allocates no memory.
  std::vector<std::unique_ptr<DecodeWorkspace>> idle_;
  size_t workspaces_ = 0;
  Engine engine_;
};

}  // namespace sixfold
