#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/api.h"
#include "data/lines.h"
#include "runtime/predictor.h"
#include "search/draw.h"
#include "search/hypothesis.h"
#include "text/chat_format.h"

namespace sixfold {

class OptionVisitor;

/// Options of a call. What is not set is as stored with the model. `visit` lists those that users may set, with
/// their texts and ranges.
struct GenerateOptions {
  /// Most tokens after the prompt; 0: with `prompt_tokens` alone. Without it and without a number that is
  /// stored with the model, `usual_max_tokens`.
  std::optional<int> max_tokens = {};
  std::optional<int> min_tokens = {};  ///< no end token is chosen before this many tokens after the prompt
  DrawChoice draw = {};                ///< how each token is drawn
  std::optional<int> no_repeat_ngram =
      {};  ///< never complete an n-gram of this size that occurred before; 0: off
  /// Beam search for the likeliest text instead of drawing, as the model's generation settings say; 0: draw. A
  /// number that is stored with the model counts if the options have nothing that belongs to drawing.
  std::optional<int> beam_size = {};
  int samples = 1;  ///< number of texts for each prompt
  /// The same seed gives the same texts, with any number of threads and whatever other prompts there are.
  uint64_t seed = 1;
  size_t first_prompt = 0;  ///< number of the first prompt, on which the random numbers depend too
  /// With a number: each token of a text is returned with its log-probability and this many of the likeliest
  /// tokens in its place. Not with beam search. The texts are the same.
  std::optional<int> likeliest = {};
  bool prompt_tokens = false;     ///< with `likeliest`: the tokens of the prompt come before those of the text
  std::vector<std::string> stop;  ///< a text ends before the first of these strings
  bool chat = false;              ///< a text also ends where a message of the model's chat format does
  std::string caller = {};        ///< the name of the client that the call serves; clients are served in turn
  std::stop_token cancel = {};    ///< when stop is requested, the call soon throws `Cancelled`
};
void visit(OptionVisitor& v, GenerateOptions& o);

/// `GenerateOptions::max_tokens` if neither the options nor the model say more.
inline constexpr int usual_max_tokens = 256;

/// A token of a generated text, and what else was likely.
struct ChosenToken {
  /// What it adds to the text; the token's own name if it adds nothing, as a part of a character does.
  std::string text;
  /// Under the model itself, whatever the options of drawing. The first token of a prompt has none if the model
  /// reads no token before it.
  std::optional<double> log_probability;
  int64_t offset = 0;  ///< number of characters of the text before it
  /// Likeliest first, with log-probabilities.
  std::vector<std::pair<std::string, double>> likeliest;
};

struct GeneratedText {
  std::string text;  ///< without the prompt and the stop string
  double log_probability = 0;
  size_t tokens = 0;  ///< without the end token
  FinishReason reason = FinishReason::end_token;
  std::vector<ChosenToken> chosen;  ///< only with `GenerateOptions::likeliest`; without the end token
};

/// What a text continues: a text, or the tokens of one.
struct Prompt {
  std::string text;
  std::optional<std::vector<int32_t>> ids = {};  ///< instead of `text`
  std::optional<std::string> fault = {};         ///< why there is nothing to continue, which is its result then
};

/// A prompt and the texts that continue it.
struct GeneratedTexts {
  size_t index = 0;  ///< of the prompt, from 0
  std::vector<GeneratedText> texts;
  size_t prompt_tokens = 0;
  size_t unknown_tokens = 0;         ///< of the prompt: not in the vocabulary
  std::optional<std::string> error;  ///< why there are none: the prompt is too long
};

/// A piece of a text that is being generated. Valid during the call.
struct TextPiece {
  size_t prompt = 0, sample = 0;  ///< which text it is
  std::string_view text;          ///< whole characters only
  /// The tokens that begin in it, as `GeneratedText::chosen`. The last piece has all that are left, even if it
  /// has no text.
  std::span<const ChosenToken> chosen = {};
};

/// Receives pieces of texts as they come. Called by a thread that decodes; several threads may call it for
/// different texts.
using TextReceiver = std::function<void(const TextPiece& piece)>;

/// The probability of texts under a language model.
struct SIXFOLD_API TextScore {
  double log_probability = 0;  ///< sum over all tokens, natural logarithm
  int64_t tokens = 0;          ///< with the end tokens of texts that end
  int64_t bytes = 0;           ///< of the texts, with line ends
  int64_t unknown = 0;  ///< tokens that are not in the vocabulary, whose texts the model can't tell apart

  double loss_per_token() const;
  double perplexity() const;
  double bits_per_byte() const;
};

/// A token of a text that is scored. Valid during the call.
struct ScoredToken {
  int64_t text = 0;  ///< number of the text that it is in, from 0
  std::string_view token;
  double log_probability = 0;
};

struct ScoreOptions {
  /// Long texts are read in windows that move by this many tokens; 0: half of what the model reads at once.
  int stride = 0;
  InvalidUtf8 invalid = InvalidUtf8::error;
  /// Receives each token, in order, with the end tokens of texts that end. Called by the calling thread; empty:
  /// none.
  std::function<void(const ScoredToken&)> token = {};
  std::stop_token cancel = {};  ///< when stop is requested, the call soon throws `Cancelled`
};

/// Generates text with the language model in a model folder. Safe to share between threads.
class SIXFOLD_API Generator final : public Predictor {
 public:
  /// Throws an input error if the model is not a language model.
  explicit Generator(std::shared_ptr<ModelRuntime> model);
  /// The same for a model folder. Throws as `open_model` as well.
  explicit Generator(const std::string& model_folder, const RuntimeOptions& options = {})
      : Generator(open_model(model_folder, options)) {}

  /// Continues each prompt, which may be empty. Returns the results in the order of the prompts. A prompt that
  /// the model can't continue (`refusal`) has an error; the others are served. Throws an input error if the
  /// options do not fit the model.
  std::vector<GeneratedTexts> generate(std::span<const std::string> prompts,
                                       const GenerateOptions& options = {},
                                       const TextReceiver& receive = {}) const;
  std::vector<GeneratedTexts> generate(std::span<const Prompt> prompts, const GenerateOptions& options = {},
                                       const TextReceiver& receive = {}) const;

  /// A conversation as a prompt, which the assistant's answer continues (`GenerateOptions::chat`). Special
  /// tokens in contents are text. Throws an input error if the model has no chat format, or as `chat_text`.
  Prompt chat_prompt(std::span<const ChatMessage> messages) const;

  /// Why the model can't continue a prompt: it is not text, or has too many tokens. Nothing if it can.
  std::optional<std::string> refusal(const Prompt& prompt) const;
  /// The most tokens after a prompt of so many tokens, if the options do not set it: as stored with the model.
  int max_tokens_after(size_t prompt_tokens) const;
  /// The text of tokens. Throws an input error if one is not in the vocabulary.
  std::string text_of(std::span<const int32_t> ids) const;

  /// Scores the texts of a file, which are of the kind that the model was trained on
  /// (`ModelConfig::text_unit`). Texts longer than the model reads at once are read in windows: each token but
  /// the first is predicted from at least `context_tokens - stride` tokens before it, if there are so many.
  /// Throws an input error if there is no text.
  TextScore score(const std::string& path, const ScoreOptions& options = {}) const;
};

}  // namespace sixfold
