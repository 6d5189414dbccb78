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

class OptionVisitor;

/// A token that may stand in the place of a mask.
struct MaskCandidate {
  std::string text;  ///< of the token, as within a text: with the space before it, if it has one
  double probability = 0;
};

/// A text whose masks are filled.
struct FilledText {
  std::string text;  ///< with the likeliest token in the place of each mask; empty if there is an error
  std::vector<std::vector<MaskCandidate>> masks;  ///< for each mask the likeliest tokens, best first
  size_t tokens_cut = 0;                          ///< tokens at the end of the text that the model did not read
  std::optional<std::string> error;  ///< why the masks are not filled, such as a text without a mask
};

struct FillOptions {
  int candidates = 5;           ///< for each mask, at least 1; fewer if the vocabulary has fewer
  std::stop_token cancel = {};  ///< when stop is requested, the call soon throws `Cancelled`
};
void visit(OptionVisitor& v, FillOptions& o);

/// Fills the masks of texts with the masked language model in a model folder (Devlin et al. 2019). A mask is
/// written `<mask>` and stands for one token. The masks of a text are filled independently of each other. Safe
/// to share between threads.
class SIXFOLD_API MaskFiller final : public Predictor {
 public:
  /// Throws an input error if the model is not a masked language model.
  explicit MaskFiller(std::shared_ptr<ModelRuntime> model);
  /// The same for a model folder. Throws as `open_model` as well.
  explicit MaskFiller(const std::string& model_folder, const RuntimeOptions& options = {})
      : MaskFiller(open_model(model_folder, options)) {}

  /// Returns the filled texts, in their order. A text is filled alike whatever other texts there are, and with
  /// any number of threads. A text has an error if it has no mask or is not valid UTF-8, if a mask is beyond
  /// the tokens that the model reads, or if a mask and the text next to it would be one token; the others have
  /// results. Throws an input error if `candidates` is below 1.
  std::vector<FilledText> fill(std::span<const std::string> texts, const FillOptions& options = {}) const;
};

}  // namespace sixfold
