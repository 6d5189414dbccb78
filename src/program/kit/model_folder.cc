#include "program/kit/model_folder.h"

#include <algorithm>

#include "base/error.h"
#include "base/threads.h"
#include "model_folder/binding.h"
#include "model_folder/model_folder.h"
#include "program/kit/value_option.h"

namespace sixfold::cli {

ModelFolder load_model_folder(const std::string& folder) {
  const ModelConfig config = load_model_config(folder);
  return {config, load_bound_tokenizers(folder, config)};
}

ModelFolder load_text_model(const std::string& folder) {
  ModelFolder opened = load_model_folder(folder);
  require(opened.tokenizers.source != nullptr, "{}: has no tokenizer", folder);
  return opened;
}

void add_model_argument(CLI::App& command, std::string& folder) {
  command.add_option("model", folder, "model folder, as made by 'sixfold train'")
      ->type_name("MODEL")
      ->required();
}

void GenerationOverrides::add_options(CLI::App& command) {
  add_override_options(command, OptionVisitor::AnyOptions(values_), given_,
                       {.except = {"beam_size", "start_before_text", "alignment_layer"},
                        .flags = {{"max_new_tokens", "--max-length"}, {"min_new_tokens", "--min-length"}}});
}

bool GenerationOverrides::has(std::string_view name) const {
  return std::ranges::any_of(given_.children, [&](const auto& setting) { return setting.first == name; });
}

std::optional<GenerationConfig> GenerationOverrides::apply_to(const GenerationConfig& of_model) const {
  if (given_.children.empty()) return {};
  GenerationConfig settings = of_model;
  read_options(given_, settings);
  return settings;
}

void add_runtime_options(CLI::App& command, RuntimeOptions& runtime) {
  add_field_options(command, OptionVisitor::AnyOptions(runtime), {.only = {"precision"}});
  add_threads_option(command, runtime.threads);
}

void add_ensemble_options(CLI::App& command, RuntimeOptions& runtime) {
  add_field_options(command, OptionVisitor::AnyOptions(runtime),
                    {.only = {"ensemble", "ensemble_weights", "ensemble_mean"}});
  command.get_option("--ensemble")->allow_extra_args()->type_name("MODEL");
}

std::vector<std::string> with_ensemble(std::vector<std::string> inputs, const RuntimeOptions& runtime) {
  inputs.insert(inputs.end(), runtime.ensemble.begin(), runtime.ensemble.end());
  return inputs;
}

void add_threads_option(CLI::App& command, int& threads) {
  const auto set = [&threads](const std::string& text) {
    int asked = 0;
    const OptionNode node{.kind = OptionNode::Kind::assigned, .text = text};
    try {
      read_value(OptionSource{node, "", between(0, 1024)}, asked);
    } catch (const Error& error) {
      throw CLI::ValidationError("--threads", error.what());
    }
    threads = asked == 0 ? 0 : usable_threads(asked, "--threads");
  };
  command.add_option_function<std::string>("--threads", set, "number of threads; 0: all that are available")
      ->type_name("N")
      ->default_str("0");
}

}  // namespace sixfold::cli
