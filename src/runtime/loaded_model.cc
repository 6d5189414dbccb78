#include "runtime/loaded_model.h"

#include <algorithm>

#include "base/error.h"
#include "base/join.h"
#include "base/log.h"
#include "model_folder/binding.h"
#include "model_folder/model_folder.h"
#include "text/utf8.h"

namespace sixfold {

LoadedModel::LoadedModel(const std::string& folder, WeightType type)
    : model_(load_packed_model(folder, make_backend(), type)),
      tokenizers_(load_bound_tokenizers(folder, model_->config())) {}

std::shared_ptr<const Shortlist> LoadedModel::shortlist(const std::string& path) {
  if (path.empty()) return nullptr;
  const std::lock_guard lock(mutex_);
  auto& open = shortlists_[path];
  if (!open) open = std::make_shared<const Shortlist>(load_shortlist(path, config()));
  return open;
}

std::string LoadedModel::language_token(const std::string& language) const {
  if (language.empty()) return {};
  std::string token = fmt::format(">>{}<<", language);
  const auto known = source().language_tokens();
  require(!known.empty(),
          "target language {}: the model has no language tokens; it translates into one language only",
          language);
  if (std::find(known.begin(), known.end(), token) == known.end())
    throw_input_error("target language {}: unknown to the model, which has {}", language, join(known, " "));
  return token;
}

EncodedLine LoadedModel::encode(const std::string& language_token, const std::string& line, int longest) const {
  EncodedLine encoded;
  if (!has_visible_character(replace_invalid_utf8(line))) return encoded;
  encoded.ids = source().encode(language_token + line);
  if (encoded.ids.empty()) return encoded;
  if (const auto most = static_cast<size_t>(longest); encoded.ids.size() > most) {
    encoded.tokens_cut = encoded.ids.size() - most;
    encoded.ids.resize(most);
  }
  encoded.ids.push_back(source().eos());
  return encoded;
}

void EncodedLine::warn(const std::string& place) const {
  const size_t kept = ids.size() - 1;
  if (tokens_cut > 0)
    log_warning("{}: has {} tokens and was cut to the first {}", place, kept + tokens_cut, kept);
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

void LoadedModel::set_alignment_layer(int layer) {
  GenerationConfig generation = config().generation;
  generation.alignment_layer = decoder_layer(layer);
  model_->set_generation(std::move(generation));
}

LoadedModel::BorrowedWorkspace LoadedModel::borrow() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) {
    auto created = std::make_unique<DecodeWorkspace>(workspace());
    idle_.reserve(++workspaces_);
    return {created.release(), GiveBack{this}};
  }
  BorrowedWorkspace borrowed(idle_.back().release(), GiveBack{this});
  idle_.pop_back();
  return borrowed;
}

void LoadedModel::GiveBack::operator()(DecodeWorkspace* workspace) const noexcept {
  const std::lock_guard lock(owner->mutex_);
  owner->idle_.emplace_back(workspace);
}

}  // namespace sixfold
