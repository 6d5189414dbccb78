#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "model/weight_type.h"
#include "model_folder/shortlist.h"
#include "search/scorer.h"
#include "text/tokenizers.h"

namespace sixfold {

/// A line as ids.
struct EncodedLine {
  std::vector<int32_t> ids;
  size_t tokens_cut = 0;  ///< number of tokens removed from its end because of the limit

  /// Logs a warning if tokens were cut. `place` names the line: "line 7".
  void warn(const std::string& place) const;
};

/// A model folder in memory, shared by all translations with it. Safe to share between threads.
class LoadedModel {
 public:
  /// Throws an input error if the folder is not a complete model.
  LoadedModel(const std::string& folder, WeightType type);

  const Transformer& model() const { return *model_; }
  const ModelConfig& config() const { return model_->config(); }
  const Tokenizer& source() const { return *tokenizers_.source; }
  const Tokenizer& target() const { return *tokenizers_.target; }

  /// Returns the token that selects a target language, ">>deu<<" for "deu", or nothing for an empty string.
  /// Throws an input error that lists the languages if the model does not have this one.
  std::string language_token(const std::string& language) const;
  /// Returns the ids of a line, preceded by `language_token` and followed by the end token; none for a line
  /// without visible characters. At most `longest` tokens are kept, not counting the end token.
  EncodedLine encode(const std::string& language_token, const std::string& line, int longest) const;
  /// The number of tokens that a thread should decode at once. Each step reads all weights of the decoder, so
  /// more tokens share this cost. But with more tokens, less of their keys and values stays in the processor's
  /// cache. In measurements (docs/benchmarks.md) the best number grows with the size of the weights.
  int64_t batch_tokens() const;
  /// Returns the index of a decoder layer; a negative `layer` counts from the last. Throws an input error if
  /// there is no such layer.
  int decoder_layer(int layer) const;
  /// Aligns words by this decoder layer. Throws as `decoder_layer`. To be called before other threads use the
  /// model.
  void set_alignment_layer(int layer);

  /// Returns the shortlist in a file, which is loaded once, or null for an empty path.
  std::shared_ptr<const Shortlist> shortlist(const std::string& path);

  /// Creates a workspace for one thread.
  DecodeWorkspace workspace() const { return {model(), model().backend()->sibling()}; }
  struct GiveBack {
    LoadedModel* owner;
    void operator()(DecodeWorkspace* workspace) const noexcept;
  };
  using BorrowedWorkspace = std::unique_ptr<DecodeWorkspace, GiveBack>;
  /// Returns an unused workspace. When the pointer is destroyed, the workspace can be borrowed again, with its
  /// buffers already allocated.
  BorrowedWorkspace borrow();

 private:
  std::unique_ptr<Transformer> model_;
  Tokenizers tokenizers_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<DecodeWorkspace>> idle_;  // with room for all workspaces that there are
  size_t workspaces_ = 0;
  std::map<std::string, std::shared_ptr<const Shortlist>> shortlists_;
};

}  // namespace sixfold
