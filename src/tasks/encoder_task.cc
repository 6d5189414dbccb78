#include "tasks/encoder_task.h"

#include "base/error.h"
#include "base/join.h"
#include "base/log.h"
#include "model/model_dir.h"

namespace sixfold {

void set_encoder_defaults(ModelOptions& model) { model.decoder_layers = 0; }

void refuse_keys_of_a_decoder(OptionNode& root, std::string_view what) {
  const auto refuse = [&](const char* path, std::string_view allowed) {
    const OptionNode* const value = root.find_path(path);
    if (value && value->text != allowed)
      throw_input_error("{}: {}: {} has no decoder; remove the key", value->where, path, what);
  };
  refuse("model.decoder_layers", "0");
  refuse("model.decoder_mixer", "attention");
  refuse("model.decoder_start_token", "-1");
  refuse("tokenizer.joint", "true");
  refuse("tokenizer.target", "");
  const OptionNode* const normalization = root.find_path("tokenizer.normalization");
  refuse("tokenizer.target_normalization", normalization ? normalization->text : "identity");
}

void normalize_alike(TokenizerOptions& tokenizer) { tokenizer.target_normalization = tokenizer.normalization; }

void require_encoder_only(const Architecture& model, std::string_view what) {
  require(model.encoder_layers > 0, "model.encoder_layers: is 0; {} needs at least 1", what);
  require(model.decoder_layers == 0, "model.decoder_layers: is {}, but {} has no decoder; set it to 0",
          model.decoder_layers, what);
}

void keep_encoder(ModelConfig& config, const std::string& where) {
  require(config.has_encoder(), "{}: has no encoder (encoder_layers is 0); start from a model with one", where);
  config.decoder_layers = 0;
  config.decoder_mixer = MixerKind::attention;
  config.decoder_start_token = Architecture::zero_start;
  config.generation = {};
}

void load_common_weights(const std::string& folder, Transformer& model) {
  std::vector<std::string> kept;
  const int64_t copied = load_weights_of_same_shape(folder + "/model.safetensors", model, kept);
  require(copied > 0, "{}: none of its weights have the names and shapes of the new model's", folder);
  if (!kept.empty()) log_info("new weights, which {} does not have: {}", folder, join(kept));
}

}  // namespace sixfold
