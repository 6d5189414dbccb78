#include "tasks/kit/task_config.h"

#include <algorithm>

#include "backend/meta_backend.h"
#include "base/error.h"
#include "model/transformer.h"
#include "model_folder/binding.h"
#include "model_folder/model_folder.h"
#include "train/replica.h"

namespace sixfold {
namespace {

constexpr std::string_view effective_keys[] = {"model.dropout", "model.attention_dropout", "data.shortlist",
                                               "model.activation_dropout"};
constexpr std::string_view input_file_keys[] = {
    "data.train",       "data.valid",       "data.pair_weights",        "data.alignments",
    "tokenizer.source", "tokenizer.target", "validation.bleu.spm_model"};
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

void require_projections(const ModelConfig& config, const StartOptions& start) {
  if (start.lora_rank == 0) return;
  const Transformer model(with_adapters(config, adapters_of(start)), std::make_shared<MetaBackend>(),
                          DType::f32, std::nullopt);
}

void report_error(std::string id, const std::string& prefix, std::vector<Finding>& findings,
                  const std::function<void()>& check) {
  try {
    check();
  } catch (const Error& error) {
    findings.push_back({std::move(id), Severity::error, prefix + error.what(), {}});
  }
}

std::string encoded_data_of(const TaskStart& start) { return start.run + "/encoded-text"; }

}  // namespace sixfold
