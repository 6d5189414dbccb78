#include "tasks/kit/task_config.h"

#include <algorithm>

#include "model_folder/binding.h"
#include "model_folder/model_folder.h"

namespace sixfold {
namespace {

constexpr std::string_view taking_effect[] = {"model.dropout", "model.attention_dropout",
                                              "model.activation_dropout"};
constexpr std::string_view input_files[] = {"data.train",      "data.valid",       "data.pair_weights",
                                            "data.alignments", "tokenizer.source", "tokenizer.target"};
// The tokenizer that a run has made is stored with it. Version 0.2 made it with other normalizations by
// default.
constexpr std::string_view without_influence[] = {"tokenizer.normalization", "tokenizer.target_normalization",
                                                  "data.allow_unknown", "data.test",
                                                  "validation.metric_timeout"};

}  // namespace

OnResume on_resume_of_task(std::string_view key) {
  if (std::ranges::find(taking_effect, key) != std::end(taking_effect)) return OnResume::takes_effect;
  if (std::ranges::find(without_influence, key) != std::end(without_influence)) return OnResume::ignored;
  return std::ranges::find(input_files, key) != std::end(input_files) ? OnResume::input_file
                                                                      : OnResume::refused;
}

void verify_tokenizers(const std::string& folder) { load_bound_tokenizers(folder, load_model_config(folder)); }

std::string encoded_data_of(const TaskStart& start) { return start.run + "/encoded-text"; }

}  // namespace sixfold
