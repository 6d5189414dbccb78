#pragma once
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "model/weight_type.h"

namespace sixfold {

/// A token that may stand in the place of a mask.
struct MaskCandidate {
  std::string text;  ///< of the token, as after other text: with the space before it if it has one
  double probability = 0;
};

/// A text whose masks are filled.
struct FilledText {
  std::string text;  ///< with the likeliest token in the place of each mask; empty if there is an error
  std::vector<std::vector<MaskCandidate>> masks;  ///< for each mask the likeliest tokens, best first
  size_t tokens_cut = 0;                          ///< tokens at the end of the text that the model did not read
  std::optional<std::string> error;               ///< why the masks are not filled: there is none, for example
};

struct FillOptions {
  int candidates = 5;           ///< for each mask, at least 1; fewer if the vocabulary has fewer
  std::stop_token cancel = {};  ///< when stop is requested, the call soon throws `Cancelled`
};

/// Fills the masks of texts with the masked language model in a model folder (Devlin et al. 2019). A mask is
/// written `<mask>` and stands for one token. The masks of a text are filled independently of each other. Safe
/// to share between threads.
class MaskFiller {
 public:
  /// `threads` 0: one for each processor core available. Throws an input error if the folder is not a masked
  /// language model, or if its tokenizer is not the one that the model was trained with.
  explicit MaskFiller(const std::string& model_folder, int threads = 0, WeightType type = WeightType::stored);
  ~MaskFiller();
  MaskFiller(MaskFiller&&) noexcept;

  /// Returns the filled texts, in their order. A text is filled alike whatever other texts there are, and with
  /// any number of threads. One without a mask, with a mask beyond the tokens that the model reads or at text
  /// that is one token with it, or that is not valid UTF-8 has an error; the others are served. Throws an input
  /// error if `candidates` is below 1.
  std::vector<FilledText> fill(std::span<const std::string> texts, const FillOptions& options = {}) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace sixfold
