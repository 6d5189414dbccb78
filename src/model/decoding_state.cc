#include "model/decoding_state.h"

#include <algorithm>
#include <numeric>

namespace sixfold {
namespace {

/// The history of a step: new tokens go into their rows of the cache, and see those before them there.
class StoredTarget final : public KVSource {
 public:
  StoredTarget(KVStore& pool, Tensor rows, std::shared_ptr<const ops::AttentionPattern> pattern)
      : pool_(pool), rows_(std::move(rows)), pattern_(std::move(pattern)) {}
  KeyValues extend(int layer, const KeyValues& tokens) override {
    pool_.put(layer, rows_, tokens);
    return pool_.at(layer, pattern_);
  }

 private:
  KVStore& pool_;
  Tensor rows_;
  std::shared_ptr<const ops::AttentionPattern> pattern_;
};

/// As rows of a batch the tokens are sequences of one, each with the position that it has in its hypothesis.
TokenRows batch_rows(std::span<const DecodingState::NextToken> tokens, Context& context) {
  TokenRows rows;
  std::vector<int32_t> sentences, positions;
  for (const auto& token : tokens) {
    rows.ragged.add(1);
    sentences.push_back(token.sentence);
    positions.push_back(static_cast<int32_t>(token.rows->size()) - 1);
    rows.longest = std::max(rows.longest, positions.back() + 1);
  }
  rows.sentence = context.indices(sentences);
  rows.position = context.indices(positions);
  return rows;
}

/// Each token sees its hypothesis, itself included.
std::shared_ptr<const ops::AttentionPattern> see_hypothesis(std::span<const DecodingState::NextToken> tokens,
                                                            Context& context) {
  auto pattern = std::make_shared<ops::AttentionPattern>();
  std::vector<int32_t> rows;
  for (const auto& token : tokens) {
    pattern->spans.push_back({static_cast<int32_t>(pattern->spans.size()), 1, static_cast<int32_t>(rows.size()),
                              static_cast<int32_t>(token.rows->size())});
    rows.insert(rows.end(), token.rows->begin(), token.rows->end());
  }
  pattern->key_rows = context.indices(rows);
  return pattern;
}

}  // namespace

KVStore::KVStore(const ModelConfig& config, std::shared_ptr<Backend> backend, DType dtype)
    : backend_(std::move(backend)),
      memory_(lasting_memory(backend_)),
      dtype_(dtype),
      key_width_(int64_t{config.heads} * config.key_width()),
      value_width_(int64_t{config.heads} * config.value_width()),
      layers_(static_cast<size_t>(config.decoder_layers)) {}

void KVStore::allocate(int count, std::vector<int32_t>& rows) {
  if (free_rows() < count) grow(std::max({fewest_rows, 2 * rows_, rows_ + count}));
  rows.insert(rows.end(), free_.end() - count, free_.end());
  free_.resize(free_.size() - static_cast<size_t>(count));
}

void KVStore::free(std::span<const int32_t> rows) { free_.insert(free_.end(), rows.begin(), rows.end()); }

void KVStore::put(int layer, const Tensor& rows, const KeyValues& tokens) {
  const Layer& to = layers_[static_cast<size_t>(layer)];
  backend_->copy_rows(to.keys.view(), rows.ids(), tokens.keys.view());
  backend_->copy_rows(to.values.view(), rows.ids(), tokens.values.view());
}

KeyValues KVStore::at(int layer, std::shared_ptr<const ops::AttentionPattern> pattern) const {
  const Layer& from = layers_[static_cast<size_t>(layer)];
  return {from.keys, from.values, std::move(pattern)};
}

void KVStore::grow(int64_t rows) {
  std::vector<int32_t> old_places(static_cast<size_t>(rows_));
  std::iota(old_places.begin(), old_places.end(), 0);
  const Tensor places(memory_, 1, rows_, DType::i32);
  backend_->copy_in(places.view().data, old_places.data(), places.bytes());
  for (Layer& layer : layers_) {
    layer.keys = grown(layer.keys, rows, key_width_, places);
    layer.values = grown(layer.values, rows, value_width_, places);
  }
  for (int64_t row = rows; row-- > rows_;) free_.push_back(static_cast<int32_t>(row));
  rows_ = rows;
}

Tensor KVStore::grown(const Tensor& old, int64_t rows, int64_t cols, const Tensor& places) const {
  Tensor larger(memory_, rows, cols, dtype_);
  if (old) backend_->copy_rows(larger.view(), places.ids(), old.view());
  return larger;
}

DecodingState::DecodingState(const Transformer& model, std::shared_ptr<Backend> backend)
    : model_(model),
      source_(model.config(), backend, model.dtype()),
      target_(model.config(), backend, model.dtype()) {
  require_encoder_and_decoder(model.config(), "decoding");
}

std::vector<int> DecodingState::enter(const IdBatch& sources, Context& context) {
  const TokenRows tokens = context.token_rows(sources.rows);
  const auto memory = model_.project_memory(model_.encode(sources, tokens, context), nullptr, context);
  std::vector<int32_t> rows;
  source_.allocate(sources.rows.tokens(), rows);
  const Tensor places = context.indices(rows);
  for (size_t layer = 0; layer < memory.size(); ++layer)
    source_.put(static_cast<int>(layer), places, memory[layer]);

  std::vector<int> numbers;
  for (int i = 0; i < sources.rows.sequences(); ++i) {
    if (free_sentences_.empty()) {
      free_sentences_.push_back(static_cast<int>(sentences_.size()));
      sentences_.emplace_back();
    }
    numbers.push_back(free_sentences_.back());
    free_sentences_.pop_back();
    sentences_[static_cast<size_t>(numbers.back())].source_rows.assign(
        rows.begin() + sources.rows.begin(i), rows.begin() + sources.rows.begin(i + 1));
  }
  return numbers;
}

void DecodingState::leave(int sentence) {
  Sentence& leaving = sentences_[static_cast<size_t>(sentence)];
  source_.free(leaving.source_rows);
  target_.free(leaving.target_rows);
  leaving = {};
  free_sentences_.push_back(sentence);
}

Tensor DecodingState::step(std::span<const NextToken> tokens, Context& context) {
  const Tensor new_rows = context.indices(allocate_rows(tokens));
  StoredTarget history(target_, new_rows, see_hypothesis(tokens, context));
  const TokenRows rows = batch_rows(tokens, context);
  const auto sources = see_source(tokens, context);
  std::vector<KeyValues> memory;
  for (int layer = 0; layer < model_.config().decoder_layers; ++layer)
    memory.push_back(source_.at(layer, sources));
  std::vector<int32_t> ids;
  for (const NextToken& token : tokens) ids.push_back(token.id);
  return model_.decode(ids, {rows, history, memory}, context);
}

std::vector<int32_t> DecodingState::allocate_rows(std::span<const NextToken> tokens) {
  std::vector<int32_t> rows;
  target_.allocate(static_cast<int>(tokens.size()), rows);
  for (size_t i = 0; i < tokens.size(); ++i) {
    tokens[i].rows->push_back(rows[i]);
    sentences_[static_cast<size_t>(tokens[i].sentence)].target_rows.push_back(rows[i]);
  }
  return rows;
}

/// The tokens of a sentence, side by side, see its source together.
std::shared_ptr<const ops::AttentionPattern> DecodingState::see_source(std::span<const NextToken> tokens,
                                                                       Context& context) const {
  auto pattern = std::make_shared<ops::AttentionPattern>();
  std::vector<int32_t> rows;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0 && tokens[i].sentence == tokens[i - 1].sentence) {
      ++pattern->spans.back().query_count;
      continue;
    }
    const auto& seen = sentences_[static_cast<size_t>(tokens[i].sentence)].source_rows;
    pattern->spans.push_back(
        {static_cast<int32_t>(i), 1, static_cast<int32_t>(rows.size()), static_cast<int32_t>(seen.size())});
    rows.insert(rows.end(), seen.begin(), seen.end());
  }
  pattern->key_rows = context.indices(rows);
  return pattern;
}

}  // namespace sixfold
