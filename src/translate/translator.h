#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/attention_kind.h"
#include "model/generation_config.h"
#include "model/weight_type.h"
#include "translate/translation.h"

namespace sixfold {

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
  /// All that is known of each line, handed out as soon as it and all before it are ready, one at a time and in
  /// order, though from several threads. An exception of `emit` ends the work and comes out here.
  void translate(const std::vector<std::string>& lines, const TranslateOptions& options,
                 const TranslatedLineReceiver& emit) const;
  /// The same for a stream. Lines are taken in at most 4,096 ahead of what went out. An exception of `next`
  /// comes out when all lines before it have been handed out. What a line gives depends on nothing but itself:
  /// neither on its neighbours, nor on batches or threads.
  void translate(const LineSource& next, const TranslateOptions& options,
                 const TranslatedLineReceiver& emit) const;

  /// What the model makes of given translations: the same as for its own. Of `options`, those of search have no
  /// meaning. Throws an input error for different numbers of lines.
  std::vector<Translation> score(std::span<const std::string> sources, std::span<const std::string> targets,
                                 const TranslateOptions& options = {}) const;

  /// Attention of a layer (negative: counted from the last) while `target` (none: the translation) is said for
  /// `source`. A row of cross-attention's weights is what the model looked at to choose that target piece; both
  /// sides of self-attention are the pieces that the encoder, or the decoder with its start, reads.
  SentenceAttention attention(const std::string& source, std::optional<std::string> target = {}, int layer = -1,
                              AttentionKind kind = AttentionKind::cross) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace sixfold
