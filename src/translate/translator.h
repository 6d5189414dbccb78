#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/search_rules.h"

namespace sixfold {

struct TranslateOptions {
  std::optional<int> beam_size;  ///< none: as the model says
  int64_t batch_tokens = 4096;   ///< tokens decoded at once by each thread
  int max_source_length = 1024;  ///< tokens; what is beyond is cut, with a warning
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
  /// `threads` 0: all there are. Throws an input error for a folder that is no model.
  explicit Translator(const std::string& model_folder, int threads = 0);
  ~Translator();
  Translator(Translator&&) noexcept;

  /// One line for each line, in order; empty lines stay empty.
  std::vector<std::string> translate(const std::vector<std::string>& lines,
                                     const TranslateOptions& options = {}) const;
  std::string translate(const std::string& line) const;
  /// The same, handing out each line with its index as soon as it and all before it are ready.
  void translate(const std::vector<std::string>& lines, const TranslateOptions& options,
                 const std::function<void(size_t, const std::string&)>& emit) const;

  /// Cross-attention of a layer (negative: counted from the last) while `target` (none: the translation) is
  /// said for `source`.
  SentenceAttention attention(const std::string& source, std::optional<std::string> target = {},
                              int layer = -1) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace sixfold
