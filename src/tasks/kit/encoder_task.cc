#include "tasks/kit/encoder_task.h"

#include <algorithm>

#include "backend/meta_backend.h"
#include "base/error.h"
#include "base/join.h"
#include "base/log.h"
#include "base/plural.h"
#include "model_folder/model_folder.h"
#include "tasks/kit/task_options.h"

namespace sixfold {

void set_encoder_defaults(ModelOptions& model) { model.decoder_layers = 0; }

void refuse_keys_of_a_decoder(OptionNode& root, std::string_view what) {
  const std::string reason = fmt::format("{} has no decoder", what);
  refuse_key(root, "model.decoder_layers", "0", reason);
  refuse_key(root, "model.decoder_mixer", "attention", reason);
  refuse_key(root, "model.decoder_start_token", "-1", reason);
  refuse_second_tokenizer(root, reason, TokenizerOptions());
}

void check_frozen_parts(const StartOptions& start, std::string_view what) {
  for (const ModelPart part : start.freeze) {
    require(part != ModelPart::decoder, "start.freeze: {} has no decoder", what);
    require(part != ModelPart::head,
            "start.freeze: the head, which {} adds to an encoder, can't be frozen: it may be new", what);
  }
}

void require_encoder_only(const Architecture& model, std::string_view what) {
  require(model.encoder_layers > 0, "model.encoder_layers is 0; {} needs at least 1", what);
  require(model.decoder_layers == 0, "model.decoder_layers is {}, but {} has no decoder; set it to 0",
          model.decoder_layers, what);
}

void keep_encoder(ModelConfig& config, const std::string& where, std::string_view task) {
  require(config.has_encoder(), "{}: has no encoder (encoder_layers is 0); start from a model with one", where);
  require(!config.reads_images(), "{}: reads images, not text; start from a model with an encoder of text",
          where);
  config.decoder_layers = 0;
  if (config.task != task) {
    config.head = {};
    config.settings = {};
  }
  config.decoder_mixer = MixerKind::attention;
  config.decoder_start_token = Architecture::zero_start;
  config.generation = {};
}

int context_tokens_of(const ModelConfig& config, int max_tokens, int special_tokens) {
  if (!config.limits_length() || config.max_positions - special_tokens >= max_tokens) return max_tokens;
  const int available = config.max_positions - special_tokens;
  require(available > 0, "the model has {} positions, which are too few for a text", config.max_positions);
  log_info("the model reads at most {} of a text instead of data.max_tokens, {}: it has {} positions",
           counted(available, "token"), max_tokens, config.max_positions);
  return available;
}

namespace {

/// Copies the weights that the folder and the model have in common. Returns the names of the others in the
/// model.
std::vector<std::string> copy_common_weights(const std::string& folder, Transformer& model) {
  const ModelConfig source = load_model_config(folder);
  const ModelConfig& config = model.config();
  // The rows of an output layer belong to its tokens or labels.
  const bool same_output =
      source.head.kind == config.head.kind &&
      (config.head.kind != OutputHead::classes || to_json(source.settings) == to_json(config.settings)) &&
      (config.head.kind != OutputHead::vocabulary ||
       source.target_tokenizer_hash == config.target_tokenizer_hash);
  const ops::OutputWeights& output = model.output();
  const auto is_copied = [&](const Parameter& parameter) {
    if (same_output || parameter.use == ParameterUse::lookup_and_product) return true;
    const bool projects = parameter.tensor.same_as(output.weight) || parameter.tensor.same_as(output.bias);
    return parameter.part != ModelPart::head && !projects;
  };
  std::vector<std::string> kept;
  const int64_t copied = load_weights_of_same_shape(folder, model, is_copied, kept);
  require(copied > 0, "{}: none of its weights have the names and shapes of the new model's", folder);
  return kept;
}

}  // namespace

void load_common_weights(const std::string& folder, Transformer& model) {
  const std::vector<std::string> kept = copy_common_weights(folder, model);
  if (!kept.empty()) log_info("new weights, which {} does not have: {}", folder, join(kept));
}

std::vector<std::string> weights_not_in(const std::string& folder, const ModelConfig& config) {
  Transformer model(config, std::make_shared<MetaBackend>(), DType::f32, std::nullopt);
  std::vector<std::string> names = copy_common_weights(folder, model);
  for (const Parameter& buffer : model.buffers()) std::erase(names, buffer.name);
  return names;
}

}  // namespace sixfold
