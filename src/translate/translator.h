#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/search_rules.h"
#include "model/weight_type.h"

namespace sixfold {

struct TranslateOptions {
  std::optional<int> beam_size;  ///< none: as the model says
  int64_t batch_tokens = 0;      ///< tokens decoded at once by each thread; 0: as many as suit the model's size
  int max_source_length = 1024;  ///< pieces, end symbol not counted; what is beyond is cut, with a warning
  std::string target_language;   ///< "deu" puts the symbol >>deu<< before each source; empty: none is put there
  std::string shortlist;         ///< a file that `sixfold shortlist` made for the model; empty: all symbols
  size_t first_line = 1;         ///< the number that warnings give the first line
};

/// A translation and its score, as the model's rules of search make it of log-probabilities.
struct Translation {
  std::string text;
  double score = 0;
};

/// One sentence's attention, for pictures.
struct SentenceAttention {
  std::vector<std::string> source, target;  ///< pieces, end symbols included
  int heads = 0;
  std::vector<float> weights;  ///< [heads, target, source]
};

/// Text in, text out: a model folder opened for use. Safe to share between threads.
class Translator {
 public:
  /// `threads` 0: all there are. Throws an input error for a folder that is no model, or whose tokenizer is not
  /// the one that the model was trained with.
  explicit Translator(const std::string& model_folder, int threads = 0, WeightType type = WeightType::stored);
  ~Translator();
  Translator(Translator&&) noexcept;

  /// One line for each line, in order; a line without visible characters gives an empty one.
  std::vector<std::string> translate(const std::vector<std::string>& lines,
                                     const TranslateOptions& options = {}) const;
  std::string translate(const std::string& line) const;
  /// The same, handing out each line with its index as soon as it and all before it are ready: one at a time
  /// and in order, though from several threads. An exception of `emit` ends the work and comes out here.
  void translate(const std::vector<std::string>& lines, const TranslateOptions& options,
                 const std::function<void(size_t, const std::string&)>& emit) const;
  /// Of each line the n best, best first, handed out likewise; `n` is at most the beam size.
  void n_best(const std::vector<std::string>& lines, int n, const TranslateOptions& options,
              const std::function<void(size_t, const std::vector<Translation>&)>& emit) const;

  /// Cross-attention of a layer (negative: counted from the last) while `target` (none: the translation) is
  /// said for `source`. A row of weights is what the model looked at to choose that target piece.
  SentenceAttention attention(const std::string& source, std::optional<std::string> target = {},
                              int layer = -1) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace sixfold
