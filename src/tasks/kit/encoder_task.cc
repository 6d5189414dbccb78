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
  const std::string why = fmt::format("{} has no decoder", what);
  refuse_key(root, "model.decoder_layers", "0", why);
  refuse_key(root, "model.decoder_mixer", "attention", why);
  refuse_key(root, "model.decoder_start_token", "-1", why);
  refuse_second_tokenizer(root, why, TokenizerOptions());
}

void check_frozen_parts(const StartOptions& start, std::string_view what) {
  for (const ModelPart part : start.freeze) {
    require(part != ModelPart::decoder, "start.freeze: {} has no decoder", what);
    require(part != ModelPart::head,
            "start.freeze: the head, which {} adds to an encoder, can't be frozen: it may be new", what);
  }
}

void require_encoder_only(const Architecture& model, std::string_view what) {
  require(model.encoder_layers > 0, "model.encoder_layers: is 0; {} needs at least 1", what);
  require(model.decoder_layers == 0, "model.decoder_layers: is {}, but {} has no decoder; set it to 0",
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

int context_tokens_of(const ModelConfig& config, int asked, int around) {
  if (!config.limits_length() || config.max_positions - around >= asked) return asked;
  const int most = config.max_positions - around;
  require(most > 0, "the model has {} positions, which are too few for a text", config.max_positions);
  log_info("the model reads at most {} of a text instead of data.max_tokens, {}: it has {} positions",
           counted(most, "token"), asked, config.max_positions);
  return most;
}

namespace {

/// Copies what both have in common. Returns the names of the others.
std::vector<std::string> take_common_weights(const std::string& folder, Transformer& model) {
  const ModelConfig theirs = load_model_config(folder);
  const ModelConfig& ours = model.config();
  // Rows of another output are those of other tokens or labels.
  const bool same_output =
      theirs.head.kind == ours.head.kind &&
      (ours.head.kind != OutputHead::classes || to_json(theirs.settings) == to_json(ours.settings)) &&
      (ours.head.kind != OutputHead::vocabulary || theirs.target_tokenizer_hash == ours.target_tokenizer_hash);
  const ops::OutputWeights& output = model.output();
  const auto wanted = [&](const Parameter& parameter) {
    if (same_output || parameter.use == ParameterUse::lookup_and_product) return true;
    const bool projects = parameter.tensor.same_as(output.weight) || parameter.tensor.same_as(output.bias);
    return parameter.part != ModelPart::head && !projects;
  };
  std::vector<std::string> kept;
  const int64_t copied = load_weights_of_same_shape(folder, model, wanted, kept);
  require(copied > 0, "{}: none of its weights have the names and shapes of the new model's", folder);
  return kept;
}

}  // namespace

void load_common_weights(const std::string& folder, Transformer& model) {
  const std::vector<std::string> kept = take_common_weights(folder, model);
  if (!kept.empty()) log_info("new weights, which {} does not have: {}", folder, join(kept));
}

std::vector<std::string> weights_not_in(const std::string& folder, const ModelConfig& config) {
  Transformer model(config, std::make_shared<MetaBackend>(), DType::f32, std::nullopt);
  std::vector<std::string> names = take_common_weights(folder, model);
  for (const Parameter& buffer : model.buffers()) std::erase(names, buffer.name);
  return names;
}

}  // namespace sixfold
