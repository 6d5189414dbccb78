#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "model/shortlist.h"
#include "model/weight_type.h"
#include "search/search.h"
#include "text/tokenizers.h"

namespace sixfold {

/// A model folder in memory, shared by all who translate with it.
class LoadedModel {
 public:
  LoadedModel(const std::string& folder, WeightType type);

  const Transformer& model() const { return *model_; }
  const ModelConfig& config() const { return model_->config(); }
  const Tokenizer& source() const { return *tokenizers_.source; }
  const Tokenizer& target() const { return *tokenizers_.target; }

  /// What asks for that language before a source: ">>deu<<", or nothing for none. Throws an input error with
  /// the languages there are.
  std::string language_symbol(const std::string& language) const;
  /// `language_symbol`, a line's pieces and end symbol, or nothing where there is nothing to see. More than
  /// `longest` pieces are cut, with a warning that names the `place`: "line 7".
  std::vector<int32_t> encode(const std::string& language_symbol, const std::string& line, int longest,
                              const std::function<std::string()>& place) const;
  /// The tokens that a thread should decode at once. Every step reads all weights of the decoder, which many
  /// tokens share; but the more there are, the less of their keys and values stays in a processor's cache.
  /// Measured (docs/benchmarks.md), the best number grows with the weights.
  int64_t batch_tokens() const;
  /// A decoder layer, given from the first or, negative, from the last on. Throws an input error.
  int decoder_layer(int layer) const;

  /// The shortlist of a file, opened once; none for no file.
  std::shared_ptr<const Shortlist> shortlist(const std::string& path);

  /// What a thread decodes with. Once let go, it is the next one's: its buffers are warm.
  std::shared_ptr<DecodeWorkspace> borrow();

 private:
  std::unique_ptr<Transformer> model_;
  Tokenizers tokenizers_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<DecodeWorkspace>> idle_;
  std::map<std::string, std::shared_ptr<const Shortlist>> shortlists_;
};

}  // namespace sixfold
