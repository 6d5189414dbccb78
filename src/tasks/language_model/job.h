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

/// The tokens of a prompt, or why the model can't continue it.
struct EncodedPrompt {
  std::vector<int32_t> ids = {};
  std::optional<std::string> refusal = {};
};

EncodedPrompt encode_prompt(const ModelRuntime& model, const Prompt& prompt);

/// How a model reads conversations. Throws an input error if that is not known, or if its tokenizer lacks the
/// control tokens.
const ChatFormat& chat_format_of(const ModelRuntime& model);

/// `Generator::max_tokens_after`.
int tokens_after(const ModelConfig& config, size_t prompt_tokens);

/// How texts are generated: options, and where they do not say it, what is stored with the model.
struct GenerationPlan {
  int beam_size = 0;
  int min_tokens = 0;
  int no_repeat_ngram = 0;
  DrawOptions draw;
  std::vector<int32_t> more_ends;  ///< tokens besides that of the model that end a text
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
  /// A request: one text, or with beam search all texts of a prompt.
  struct Wanted {
    size_t prompt = 0, sample = 0;
    std::shared_ptr<const std::vector<int32_t>> ids = {};  ///< of the prompt
    std::unique_ptr<TextStream> stream = {};
    std::unique_ptr<ChosenTokens> chosen = {};  ///< null: not wanted
    int64_t shown = 0;                          ///< characters of the pieces
  };
  int max_tokens(size_t prompt_tokens) const;
  std::shared_ptr<SamplingPlan> sampling_plan() const;
  std::shared_ptr<BeamPlan> beam_plan() const;
  GenerationConfig rules() const;
  std::unique_ptr<Strategy> strategy(const Wanted& wanted) const;
  void complete(size_t index, const DecodeWorkspace& workspace, std::vector<Hypothesis> best_first) override;
  void queue_prompt(size_t prompt);
  void show(Wanted& wanted, const std::string& piece, bool all) const;
  GeneratedText text_of(const Wanted& wanted, const Hypothesis& hypothesis) const;
  static std::vector<int32_t> with_prompt(const Wanted& wanted, std::span<const int32_t> ids);

  const ModelRuntime& model_;
  std::span<const Prompt> prompts_;
  const GenerateOptions& options_;
  const TextReceiver& receive_;
  const GenerationPlan how_;
  const StopStrings stops_;
  std::shared_ptr<const SamplingPlan> sampling_;  // one of them is null
  std::shared_ptr<const BeamPlan> beam_;
  size_t per_prompt_;  // number of requests for each prompt
  std::vector<Wanted> wanted_;
  std::vector<GeneratedTexts> results_;
};

}  // namespace sixfold
