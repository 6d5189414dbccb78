#include "cli/model_folder.h"

#include "base/error.h"
#include "model/model_dir.h"

namespace sixfold::cli {
namespace {

void require_sealed(const Tokenizer& tokenizer, const std::string& hash, int vocab, const std::string& where) {
  require(tokenizer.hash() == hash && tokenizer.vocab_size() == vocab,
          "{} tokenizer is not the one that the model was made with; put its own file back", where);
}

}  // namespace

ModelFolder open_model_folder(const std::string& folder) {
  ModelFolder model{load_model_config(folder), load_tokenizers(folder)};
  const ModelConfig& config = model.config;
  require_sealed(*model.tokenizers.source, config.source_tokenizer_hash, config.source_vocab,
                 folder + ": the source's");
  require_sealed(*model.tokenizers.target, config.target_tokenizer_hash, config.target_vocab,
                 folder + ": the target's");
  return model;
}

void add_model_argument(CLI::App& command, std::string& folder) {
  command.add_option("model", folder, "model folder, as train makes it")->type_name("MODEL")->required();
}

}  // namespace sixfold::cli
