#include "tasks/kit/task_config.h"

#include <algorithm>

#include "model_folder/binding.h"
#include "model_folder/model_folder.h"

namespace sixfold {
namespace {

constexpr std::string_view effective_keys[] = {"model.dropout", "model.attention_dropout", "data.shortlist",
                                               "model.activation_dropout"};
constexpr std::string_view input_file_keys[] = {"data.train",      "data.valid",       "data.pair_weights",
                                                "data.alignments", "tokenizer.source", "tokenizer.target"};
// The tokenizer of a run is stored with it, so that its normalization may differ: version 0.2 had other
// defaults.
constexpr std::string_view ignored_keys[] = {"tokenizer.normalization", "tokenizer.target_normalization",
                                             "data.allow_unknown", "data.test", "validation.metric_timeout"};

}  // namespace

OnResume on_resume_of_task(std::string_view key) {
  if (std::ranges::find(effective_keys, key) != std::end(effective_keys)) return OnResume::takes_effect;
  if (std::ranges::find(ignored_keys, key) != std::end(ignored_keys)) return OnResume::ignored;
  return std::ranges::find(input_file_keys, key) != std::end(input_file_keys) ? OnResume::input_file
                                                                              : OnResume::refused;
}

void verify_tokenizers(const std::string& folder) { load_bound_tokenizers(folder, load_model_config(folder)); }

std::string encoded_data_of(const TaskStart& start) { return start.run + "/encoded-text"; }

}  // namespace sixfold
