#include "translate/loaded_model.h"

#include <algorithm>

#include "base/error.h"
#include "base/join.h"
#include "base/log.h"
#include "model/model_dir.h"
#include "text/utf8.h"
#include "translate/binding.h"

namespace sixfold {

LoadedModel::LoadedModel(const std::string& folder, WeightType type)
    : model_(load_model(folder, make_cpu_backend(1), DType::f32, type)),
      tokenizers_(load_bound_tokenizers(folder, model_->config())) {
  require_encoder_and_decoder(config(), folder);
  model_->pack();
}

std::shared_ptr<const Shortlist> LoadedModel::shortlist(const std::string& path) {
  if (path.empty()) return nullptr;
  const std::lock_guard lock(mutex_);
  auto& open = shortlists_[path];
  if (!open) open = std::make_shared<const Shortlist>(load_shortlist(path, config()));
  return open;
}

std::string LoadedModel::language_symbol(const std::string& language) const {
  if (language.empty()) return {};
  const std::string symbol = fmt::format(">>{}<<", language);
  const auto known = source().language_symbols();
  require(!known.empty(), "target language {}: the model has no symbols for languages, it translates to one",
          language);
  if (std::find(known.begin(), known.end(), symbol) == known.end())
    throw_input_error("target language {}: the model knows {}", language, join(known, " "));
  return symbol;
}

std::vector<int32_t> LoadedModel::encode(const std::string& language_symbol, const std::string& line,
                                         int longest, const std::function<std::string()>& place) const {
  if (!has_visible_character(replace_invalid_utf8(line))) return {};
  std::vector<int32_t> ids = source().encode(language_symbol + line);
  if (ids.empty()) return {};
  if (ids.size() > static_cast<size_t>(longest)) {
    log_warning("{}: {} tokens, cut to the first {}", place(), ids.size(), longest);
    ids.resize(static_cast<size_t>(longest));
  }
  ids.push_back(source().eos());
  return ids;
}

int64_t LoadedModel::batch_tokens() const {
  int64_t bytes = 0;
  for (const Parameter& parameter : model_->parameters())
    bytes += static_cast<int64_t>(parameter.tensor.bytes());
  return std::clamp<int64_t>(bytes / 16384, 512, 2048);
}

int LoadedModel::decoder_layer(int layer) const {
  const int layers = config().decoder_layers, chosen = layer < 0 ? layer + layers : layer;
  require(chosen >= 0 && chosen < layers, "layer {}: the model's decoder has layers 0 to {}", layer,
          layers - 1);
  return chosen;
}

std::shared_ptr<DecodeWorkspace> LoadedModel::borrow() {
  const auto give_back = [this](DecodeWorkspace* decoding) {
    const std::lock_guard lock(mutex_);
    idle_.emplace_back(decoding);
  };
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return {new DecodeWorkspace(model(), make_cpu_backend(1)), give_back};
  std::shared_ptr<DecodeWorkspace> decoding(idle_.back().release(), give_back);
  idle_.pop_back();
  return decoding;
}

}  // namespace sixfold
