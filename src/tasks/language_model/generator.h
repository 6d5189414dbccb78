#pragma once
#include <functional>
#include <limits>
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

/// Options of a call. Options that are not set have the values stored with the model. `visit` lists those that
/// users may set, with their descriptions and ranges.
struct GenerateOptions {
  /// Maximum number of tokens after the prompt. 0 is only valid with `prompt_tokens`. If neither this nor the
  /// model sets a maximum, it is `usual_max_tokens`.
  std::optional<int> max_tokens = {};
  int default_limit = std::numeric_limits<int>::max();  ///< of that maximum, if `max_tokens` does not set it
  std::optional<int> min_tokens = {};  ///< no end token is chosen before this many tokens after the prompt
  DrawChoice draw = {};                ///< options for sampling each token
  std::optional<int> no_repeat_ngram =
      {};  ///< never complete an n-gram of this size that occurred before; 0: off
  /// Beam size of a search for the likeliest text, with the generation settings of the model; 0: sample. A
  /// number that is stored with the model is used only if no option requires sampling: one of `draw` but the
  /// repetition penalty, `stop`, `likeliest`, or more `samples`.
  std::optional<int> beam_size = {};
  int samples = 1;  ///< number of texts for each prompt
  /// Maximum number of next tokens that are guessed from repetitions in the text and verified in one step
  /// (`RepetitionDraft`). The texts are the same, bit for bit. Not set: 7, or 0 where it is not supported, as
  /// in beam search and for models that do not keep all tokens (recurrent states, windows).
  std::optional<int> draft_tokens = {};
  /// The same seed gives the same texts, with any number of threads and whatever other prompts there are.
  uint64_t seed = 1;
  size_t first_prompt = 0;  ///< number of the first prompt; random numbers depend on it as well
  /// If set, each token of a text is returned with its log-probability and this many of the likeliest
  /// alternatives. Not available with beam search. Texts that are drawn are the same.
  std::optional<int> likeliest = {};
  bool prompt_tokens = false;     ///< with `likeliest`: also return the tokens of the prompt
  std::vector<std::string> stop;  ///< a text ends before the first of these strings
  bool chat = false;              ///< a text also ends where a message of the model's chat format does
  std::string caller = {};  ///< a name for the originator of the call; the engine alternates between callers
  std::stop_token cancel = {};  ///< when stop is requested, the call soon throws `Cancelled`
};
void visit(OptionVisitor& v, GenerateOptions& o);

/// The default of `GenerateOptions::max_tokens` if the model sets no limit.
inline constexpr int usual_max_tokens = 256;

/// What a token adds to a text.
struct AddedText {
  std::string text;
  /// Whether `text` is the name of the token, since it adds no text, or no valid text, as a part of a
  /// character.
  bool is_name = false;

  bool operator==(const AddedText&) const = default;
};

/// A token of a generated text and its likeliest alternatives.
struct ChosenToken {
  AddedText added;
  /// The log-probability under the model, before the options of sampling are applied. The first token of a
  /// prompt has none if the model has no start token before it.
  std::optional<double> log_probability;
  int64_t offset = 0;  ///< number of characters before it in the text
  /// The likeliest alternatives, with log-probabilities, likeliest first.
  std::vector<std::pair<AddedText, double>> likeliest;
};

struct GeneratedText {
  std::string text;  ///< without the prompt and the stop string
  double log_probability = 0;
  size_t tokens = 0;  ///< without the end token
  FinishReason reason = FinishReason::end_token;
  std::vector<ChosenToken> chosen;  ///< only with `GenerateOptions::likeliest`; without the end token
};

/// A prompt to continue: a text or its tokens.
struct Prompt {
  std::string text;
  std::optional<std::vector<int32_t>> ids = {};  ///< instead of `text`
  std::optional<std::string> fault = {};         ///< why there is no prompt; becomes the error of its result
};

/// A prompt and the texts that continue it.
struct GeneratedTexts {
  size_t index = 0;  ///< of the prompt, from 0
  std::vector<GeneratedText> texts;
  size_t prompt_tokens = 0;
  size_t unknown_tokens = 0;         ///< number of tokens of the prompt that are not in the vocabulary
  std::optional<std::string> error;  ///< why there are no texts, such as a prompt that is too long
};

/// A piece of a text that is being generated. Valid during the call.
struct TextPiece {
  size_t prompt = 0, sample = 0;  ///< identify the text
  std::string_view text;          ///< whole characters only
  /// The tokens that begin in this piece, as in `GeneratedText::chosen`. The last piece has all remaining
  /// tokens, even if it has no text.
  std::span<const ChosenToken> chosen = {};
};

/// Receives pieces of texts as they are generated. Called by a thread that decodes; several threads may call it
/// for different texts.
using TextReceiver = std::function<void(const TextPiece& piece)>;

/// The probability of texts under a language model.
struct SIXFOLD_API TextScore {
  double log_probability = 0;  ///< sum over all tokens, natural logarithm
  int64_t tokens = 0;          ///< including the end tokens of texts that end
  int64_t bytes = 0;           ///< of the texts, including line ends
  int64_t unknown = 0;         ///< number of tokens that are not in the vocabulary

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
  /// Long texts are read in windows that move by this many tokens; 0: half of the context length of the model.
  int stride = 0;
  InvalidUtf8 invalid = InvalidUtf8::error;
  /// Receives each token, in order, including the end tokens of texts that end. Called by the calling thread.
  /// May be empty.
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
  /// the model can't continue (`refusal`) has an error; the others have results. Throws an input error if the
  /// options do not fit the model.
  std::vector<GeneratedTexts> generate(std::span<const std::string> prompts,
                                       const GenerateOptions& options = {},
                                       const TextReceiver& receive = {}) const;
  std::vector<GeneratedTexts> generate(std::span<const Prompt> prompts, const GenerateOptions& options = {},
                                       const TextReceiver& receive = {}) const;

  /// Converts a conversation to a prompt, which the assistant's answer continues (`GenerateOptions::chat`).
  /// Special tokens within the contents of messages are read as ordinary text. Throws an input error if the
  /// model has no chat format, or as `chat_text`.
  Prompt chat_prompt(std::span<const ChatMessage> messages) const;

  /// Returns why the model can't continue a prompt: it is not text, or has too many tokens. Empty if it can.
  std::optional<std::string> refusal(const Prompt& prompt, const GenerateOptions& options = {}) const;
  /// The maximum number of tokens after a prompt of this length.
  int max_tokens(size_t prompt_tokens, const GenerateOptions& options) const;
  /// The text of tokens. Throws an input error if one is not in the vocabulary.
  std::string text_of(std::span<const int32_t> ids) const;

  /// Scores the texts of a file. What counts as one text is as in training
  /// (`LanguageModelSettings::text_unit`). Texts longer than the context of the model are read in windows: each
  /// token is predicted from at least `context_tokens - stride` tokens before it, or from all of them if there
  /// are fewer. Throws an input error if there is no text.
  TextScore score(const std::string& path, const ScoreOptions& options = {}) const;
};

}  // namespace sixfold
