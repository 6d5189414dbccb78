#pragma once
#include <string>
#include <vector>

#include "runtime/model_runtime.h"
#include "runtime/request_group.h"
#include "search/beam_search.h"
#include "search/sampling.h"
#include "tasks/language_model/chosen_tokens.h"
#include "tasks/language_model/generator.h"
#include "tasks/language_model/text_stream.h"

namespace sixfold {

/// The tokens of a prompt, or the reason why the model can't continue it.
struct EncodedPrompt {
  std::vector<int32_t> ids = {};
  std::optional<std::string> refusal = {};
};

EncodedPrompt encode_prompt(const ModelRuntime& model, const Prompt& prompt, const GenerateOptions& options);

/// How a model reads conversations. Throws an input error if that is not known, or if its tokenizer lacks the
/// control tokens.
const ChatFormat& chat_format_of(const ModelRuntime& model);

/// The maximum number of tokens after a prompt of this length.
int max_tokens_after(const ModelConfig& config, size_t prompt_tokens, const GenerateOptions& options);

/// The settings of a call: those of its options, or else those stored with the model.
struct GenerationPlan {
  int beam_size = 0;
  int min_tokens = 0;
  int no_repeat_ngram = 0;
  DrawOptions draw;
  std::vector<int32_t> more_ends;  ///< tokens that end a text, besides the end token of the model
};

/// The generation of texts for a list of prompts.
class GenerationJob final : public RequestGroup {
 public:
  GenerationJob(ModelRuntime& model, std::span<const Prompt> prompts, const GenerateOptions& options,
                const TextReceiver& receive);
  /// Returns when all texts are complete. Rethrows the first error.
  std::vector<GeneratedTexts> run();

  void settled(size_t index, std::span<const int32_t> tokens) override;

 private:
  /// The state of a request for one text or, with beam search, for all texts of a prompt.
  struct RequestState {
    size_t prompt = 0, sample = 0;
    std::shared_ptr<const std::vector<int32_t>> ids = {};  ///< of the prompt
    std::unique_ptr<TextStream> stream = {};
    std::unique_ptr<ChosenTokens> chosen = {};  ///< null: not requested
    size_t settled = 0;                         ///< number of tokens, with the prompt, that the stream has
    int64_t shown = 0;                          ///< number of characters of the pieces so far
  };
  int max_tokens(size_t prompt_tokens) const;
  int draft_tokens() const;
  std::shared_ptr<SamplingPlan> sampling_plan() const;
  std::shared_ptr<BeamPlan> beam_plan() const;
  GenerationConfig rules() const;
  std::unique_ptr<Strategy> strategy(const RequestState& request) const;
  void complete(size_t index, const DecodeWorkspace& workspace, std::vector<Hypothesis> best_first) override;
  void queue_prompt(size_t prompt);
  void show(RequestState& request, const std::string& piece, bool all) const;
  GeneratedText text_of(const RequestState& request, const Hypothesis& hypothesis) const;
  static std::vector<int32_t> with_prompt(const RequestState& request, std::span<const int32_t> ids);

  const ModelRuntime& model_;
  std::span<const Prompt> prompts_;
  const GenerateOptions& options_;
  const TextReceiver& receive_;
  const GenerationPlan plan_;
  const StopStrings stops_;
  std::shared_ptr<const SamplingPlan> sampling_;  // one of the two plans is null
  std::shared_ptr<const BeamPlan> beam_;
  size_t requests_per_prompt_;
  std::vector<RequestState> requests_;
  std::vector<GeneratedTexts> results_;
};

}  // namespace sixfold
