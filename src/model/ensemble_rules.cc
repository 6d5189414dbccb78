#include "model/ensemble_rules.h"

#include "base/error.h"
#include "model/config.h"

namespace sixfold {
namespace {

bool translates(const ModelConfig& config) {
  return config.has_encoder() && config.has_decoder() && !config.reads_images();
}

}  // namespace

void require_together(const NamedConfig& first, const NamedConfig& other) {
  for (const NamedConfig& one : {first, other})
    require(translates(one.config), "{}: an ensemble is of models that translate; leave it out", one.folder);
  const ModelConfig &a = first.config, &b = other.config;
  const auto need = [&](bool fits, std::string_view what) {
    require(fits, "{} and {} can't translate together: {}", first.folder, other.folder, what);
  };
  need(a.source_tokenizer_hash == b.source_tokenizer_hash &&
           a.target_tokenizer_hash == b.target_tokenizer_hash && a.source_vocab == b.source_vocab &&
           a.target_vocab == b.target_vocab,
       "their tokenizers differ; train them with the same ones (tokenizer.source and tokenizer.target)");
  need(a.eos == b.eos && a.unk == b.unk && a.decoder_start_token == b.decoder_start_token,
       "their start, end or unknown tokens differ");
  const auto directions = [](const ModelConfig& config) {
    const OptionNode* const node = config.settings.find_path("directions");
    return node && !node->children.empty() ? to_json(*node) : "";
  };
  need(directions(a) == directions(b), "they are for other pairs of languages");
  need(!b.limits_length() || (a.limits_length() && a.max_positions <= b.max_positions),
       "the second has fewer positions; give it first");
}

}  // namespace sixfold
