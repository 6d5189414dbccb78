#include "model/decoding_state.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace sixfold {
namespace {

/// The rows of the keys and values of the encoder's output in each layer of the decoder.
std::vector<RowShape> source_shapes(const Transformer& model) {
  if (!model.config().has_encoder()) return {};
  const Architecture a = model.config().of_decoder();
  const int64_t heads = a.key_value_heads();
  return std::vector<RowShape>(static_cast<size_t>(a.decoder_layers),
                               {{heads * a.key_width(), heads * a.value_width()}, model.key_value_dtype()});
}

/// The rows of the layers that retain this many tokens; without parts for the others.
std::vector<RowShape> target_shapes(const Transformer& model, int retain) {
  std::vector<RowShape> shapes;
  for (const StateShape& layer : model.decoder_state())
    shapes.push_back({layer.retain == retain ? layer.widths : std::vector<int64_t>(),
                      layer.keys_and_values ? model.key_value_dtype() : model.dtype()});
  return shapes;
}

/// Returns the index of the first extension after `begin` that belongs to another request.
size_t end_of_request(std::span<const Extension> extensions, size_t begin) {
  size_t end = begin;
  while (end < extensions.size() && extensions[end].request == extensions[begin].request) ++end;
  return end;
}

}  // namespace

/// The data of one call of `extend`: the extensions, and the hypotheses created from them.
class DecodingState::Step final : public SequenceState {
 public:
  Step(DecodingState& state, std::span<const Extension> extensions, Context& context);

  const TokenRows& rows() const { return rows_; }
  const std::vector<int32_t>& ids() const { return ids_; }
  StateRows before(int layer) override;
  StateRows append(int layer, std::span<const Tensor> parts) override;
  /// Releases the rows that no mixer needs any more.
  void trim();

 private:
  using Pattern = std::shared_ptr<const ops::AttentionPattern>;
  struct Stored {
    Tensor new_rows;
    Pattern before, after;
  };
  Pattern pattern(size_t store, bool include_new) const;
  Stored& stored(int layer) { return stored_[state_.store_of_[static_cast<size_t>(layer)]]; }
  RowStore& store(int layer) { return state_.target_[state_.store_of_[static_cast<size_t>(layer)]]; }
  int count(size_t i) const { return rows_.ragged.length(static_cast<int>(i)); }

  DecodingState& state_;
  Context& context_;
  std::vector<Hypothesis*> hypotheses_;  // one for each extension
  TokenRows rows_;
  std::vector<int32_t> ids_;
  std::vector<Stored> stored_;  // one for each store
};

DecodingState::Step::Step(DecodingState& state, std::span<const Extension> extensions, Context& context)
    : state_(state), context_(context), stored_(state.target_.size()) {
  std::vector<int32_t> samples, positions;
  size_t place = 0;
  for (size_t i = 0; i < extensions.size(); ++i) {
    const Extension& extension = extensions[i];
    place = i > 0 && extensions[i - 1].request == extension.request ? place + 1 : 0;
    Hypothesis& hypothesis = state.at(extension.request).hypotheses[place];
    hypotheses_.push_back(&hypothesis);
    rows_.ragged.add(static_cast<int>(extension.tokens.size()));
    for (const int32_t id : extension.tokens) {
      ids_.push_back(id);
      samples.push_back(extension.request);
      positions.push_back(hypothesis.length++);
    }
    rows_.longest = std::max(rows_.longest, hypothesis.length);
  }
  rows_.sentence = context.indices(samples);
  rows_.position = context.indices(positions);
  for (size_t s = 0; s < stored_.size(); ++s) {
    std::vector<int32_t> rows;
    state.allocate(s, rows_.ragged.tokens(), rows);
    for (size_t i = 0; i < hypotheses_.size(); ++i) {
      const auto begin = rows.begin() + rows_.ragged.begin(static_cast<int>(i));
      auto& own = hypotheses_[i]->rows[s];
      own.insert(own.end(), begin, begin + count(i));
    }
    stored_[s] = {context.indices(rows), nullptr, pattern(s, true)};
  }
}

/// Each token attends to the rows of its hypothesis, either including the new tokens up to itself or without
/// new tokens.
DecodingState::Step::Pattern DecodingState::Step::pattern(size_t store, bool include_new) const {
  std::vector<AttentionSpan> spans;
  std::vector<int32_t> places;
  bool several = false;
  for (size_t i = 0; i < hypotheses_.size(); ++i) {
    const auto& rows = hypotheses_[i]->rows[store];
    const auto end = rows.end() - (include_new ? 0 : count(i));
    spans.push_back({rows_.ragged.begin(static_cast<int>(i)), count(i), static_cast<int32_t>(places.size()),
                     static_cast<int32_t>(end - rows.begin())});
    several = several || count(i) > 1;
    places.insert(places.end(), rows.begin(), end);
  }
  return ops::attention_pattern(context_, std::move(spans), /*causal=*/include_new && several, places);
}

StateRows DecodingState::Step::before(int layer) {
  Stored& at = stored(layer);
  if (!at.before) at.before = pattern(state_.store_of_[static_cast<size_t>(layer)], false);
  return {store(layer).parts(layer), at.before};
}

StateRows DecodingState::Step::append(int layer, std::span<const Tensor> parts) {
  const Stored& at = stored(layer);
  store(layer).put(layer, at.new_rows, parts);
  return {store(layer).parts(layer), at.after};
}

void DecodingState::Step::trim() {
  for (size_t s = 0; s < stored_.size(); ++s)
    for (Hypothesis* hypothesis : hypotheses_) {
      auto& rows = hypothesis->rows[s];
      const auto old = std::ssize(rows) - state_.retained_[s];
      if (old <= 0) continue;
      state_.target_[s].release(std::span(rows).first(static_cast<size_t>(old)));
      rows.erase(rows.begin(), rows.begin() + old);
    }
}

DecodingState::DecodingState(const Transformer& model, std::shared_ptr<Backend> backend)
    : model_(model), source_(source_shapes(model), backend) {
  require(model.config().has_decoder(), "decoding: the model has no decoder (decoder_layers is 0)");
  for (const StateShape& layer : model.decoder_state()) {
    const auto known = std::find(retained_.begin(), retained_.end(), layer.retain);
    store_of_.push_back(static_cast<size_t>(known - retained_.begin()));
    if (known != retained_.end()) continue;
    retained_.push_back(layer.retain);
    target_.emplace_back(target_shapes(model, layer.retain), backend);
  }
}

bool DecodingState::keeps_all_tokens(const Transformer& model) {
  return std::ranges::all_of(model.decoder_state(),
                             [](const StateShape& layer) { return layer.retain == StateShape::all; });
}

DecodingState::Request& DecodingState::at(int request) {
  require(request >= 0 && request < std::ssize(requests_) &&
              !requests_[static_cast<size_t>(request)].hypotheses.empty(),
          "decoding: there is no request {}", request);
  return requests_[static_cast<size_t>(request)];
}

/// All steps that may fail come before the first change of the state.
void DecodingState::enter(std::span<const int> requests, const IdBatch& sources, Context& context) {
  check_entering(requests, sources);
  std::vector<Request> entering(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    entering[i].source_rows.reserve(static_cast<size_t>(sources.rows.length(static_cast<int>(i))));
    entering[i].hypotheses.resize(1);
    entering[i].hypotheses.front().rows.resize(target_.size());
  }
  if (const auto largest = std::max_element(requests.begin(), requests.end());
      largest != requests.end() && *largest >= std::ssize(requests_))
    requests_.resize(static_cast<size_t>(*largest) + 1);
  const std::vector<int32_t> rows = store_sources(sources, context);
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto begin = rows.begin() + sources.rows.begin(static_cast<int>(i));
    entering[i].source_rows.assign(begin, begin + sources.rows.length(static_cast<int>(i)));
    requests_[static_cast<size_t>(requests[i])] = std::move(entering[i]);
  }
}

void DecodingState::check_entering(std::span<const int> requests, const IdBatch& sources) const {
  require(sources.rows.sequences() == std::ssize(requests), "decoding: {} sources for {} requests",
          sources.rows.sequences(), requests.size());
  const bool has_encoder = model_.config().has_encoder();
  for (int i = 0; i < sources.rows.sequences(); ++i) {
    const int request = requests[static_cast<size_t>(i)];
    require(request >= 0, "decoding: {} is not the number of a request", request);
    const bool in_use =
        request < std::ssize(requests_) && !requests_[static_cast<size_t>(request)].hypotheses.empty();
    require(!in_use && std::ranges::count(requests.first(static_cast<size_t>(i)), request) == 0,
            "decoding: request {} exists already", request);
    if (has_encoder)
      require(sources.rows.length(i) > 0, "decoding: the source of request {} has no token", request);
    else
      require(sources.rows.length(i) == 0, "decoding: the model has no encoder, so that sources must be empty");
  }
}

/// Encodes the sources, and stores the keys and values of cross-attention. Returns their rows. If it throws,
/// no row is in use.
std::vector<int32_t> DecodingState::store_sources(const IdBatch& sources, Context& context) {
  std::vector<int32_t> rows;
  if (!model_.config().has_encoder()) return rows;
  const TokenRows tokens = context.token_rows(sources.rows);
  const auto memory = model_.project_memory(model_.encode(sources, tokens, context), nullptr, context);
  source_.allocate(sources.rows.tokens(), rows);
  try {
    const Tensor places = context.indices(rows);
    for (size_t layer = 0; layer < memory.size(); ++layer) {
      const std::array parts{memory[layer].keys, memory[layer].values};
      source_.put(static_cast<int>(layer), places, parts);
    }
  } catch (...) {
    source_.release(rows);
    throw;
  }
  return rows;
}

std::pair<int64_t, int64_t> DecodingState::bytes_per_token(const Transformer& model) {
  const auto bytes = [](const std::vector<RowShape>& shapes) {
    int64_t sum = 0;
    for (const auto& [widths, dtype] : shapes)
      sum += std::accumulate(widths.begin(), widths.end(), int64_t{0}) * static_cast<int64_t>(size_of(dtype));
    return sum;
  };
  return {bytes(source_shapes(model)), bytes(target_shapes(model, StateShape::all))};
}

void DecodingState::leave(int request) {
  Request& leaving = at(request);
  source_.release(leaving.source_rows);
  for (const Hypothesis& hypothesis : leaving.hypotheses) release(hypothesis.rows);
  leaving = {};
}

DecodingState::Hypothesis DecodingState::copy(const Hypothesis& hypothesis) {
  for (size_t s = 0; s < target_.size(); ++s) target_[s].share(hypothesis.rows[s]);
  return hypothesis;
}

void DecodingState::release(const std::vector<std::vector<int32_t>>& rows) {
  for (size_t s = 0; s < target_.size(); ++s) target_[s].release(rows[s]);
}

/// Appends the numbers of `count` rows. Gives up kept beginnings before the store grows.
void DecodingState::allocate(size_t store, int count, std::vector<int32_t>& rows) {
  while (target_[store].free_rows() < count && !beginnings_.empty()) give_up_oldest_beginning();
  target_[store].allocate(count, rows);
}

size_t DecodingState::shareable(std::span<const int32_t> tokens, std::span<const int32_t> other) {
  constexpr size_t left = kernel::Attention::few_queries + 1, worthwhile = 16;
  if (tokens.size() < left + worthwhile) return 0;
  const auto common = std::ranges::mismatch(tokens.first(tokens.size() - left), other).in1 - tokens.begin();
  return static_cast<size_t>(common) < worthwhile ? 0 : static_cast<size_t>(common);
}

/// Returns the index of the kept beginning that shares most with the tokens, and how much it shares.
std::pair<size_t, size_t> DecodingState::best_beginning(std::span<const int32_t> tokens) const {
  std::pair<size_t, size_t> best{0, 0};
  for (size_t i = 0; i < beginnings_.size(); ++i)
    if (const size_t shared = shareable(tokens, beginnings_[i].ids); shared > best.second) best = {i, shared};
  return best;
}

size_t DecodingState::share_beginning(int request, std::span<const int32_t> tokens) {
  const auto [index, length] = best_beginning(tokens);
  if (length == 0) return 0;
  const auto from = beginnings_.begin() + static_cast<std::ptrdiff_t>(index);
  Hypothesis hypothesis{.length = static_cast<int32_t>(length)};
  for (size_t s = 0; s < target_.size(); ++s) {
    const auto& rows = from->rows[s];
    hypothesis.rows.emplace_back(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(length));
    target_[s].share(hypothesis.rows[s]);
  }
  std::rotate(from, from + 1, beginnings_.end());
  Request& sharing = at(request);
  for (const Hypothesis& old : sharing.hypotheses) release(old.rows);
  sharing.hypotheses.clear();
  sharing.hypotheses.push_back(std::move(hypothesis));
  return length;
}

void DecodingState::give_up_oldest_beginning() {
  release(beginnings_.front().rows);
  beginnings_.erase(beginnings_.begin());
}

void DecodingState::keep_beginning(int request, std::span<const int32_t> tokens) {
  constexpr size_t max_kept = 256;
  const auto begins = [](std::span<const int32_t> sequence, std::span<const int32_t> beginning) {
    return sequence.size() >= beginning.size() &&
           std::ranges::equal(sequence.first(beginning.size()), beginning);
  };
  require(at(request).hypotheses.size() == 1,
          "decoding: request {} has several hypotheses, and no beginning that can be kept", request);
  const Hypothesis& hypothesis = at(request).hypotheses.front();
  require(hypothesis.length == std::ssize(tokens), "decoding: request {} has read {} tokens, not {}", request,
          hypothesis.length, tokens.size());
  for (const Beginning& known : beginnings_)
    if (begins(known.ids, tokens)) return;
  std::erase_if(beginnings_, [&](const Beginning& known) {  // those that begin the new one are part of it
    if (!begins(tokens, known.ids)) return false;
    release(known.rows);
    return true;
  });
  if (beginnings_.size() == max_kept) give_up_oldest_beginning();
  beginnings_.push_back({{tokens.begin(), tokens.end()}, copy(hypothesis).rows});
}

/// Forgets the newest tokens of a hypothesis.
void DecodingState::discard(Hypothesis& hypothesis, int tokens) {
  if (tokens == 0) return;
  hypothesis.length -= tokens;
  for (size_t s = 0; s < target_.size(); ++s) {
    auto& rows = hypothesis.rows[s];
    target_[s].release(std::span(rows).last(static_cast<size_t>(tokens)));
    rows.resize(rows.size() - static_cast<size_t>(tokens));
  }
}

/// Replaces the hypotheses of a request by their children. The last child of each parent takes over the
/// parent's rows without copying.
void DecodingState::branch(std::span<const Extension> siblings) {
  Request& request = at(siblings.front().request);
  require(request.last_extended != extend_calls_, "decoding: the extensions of request {} are not adjacent",
          siblings.front().request);
  request.last_extended = extend_calls_;
  auto& parents = request.hypotheses;
  std::vector<int> children(parents.size());
  for (const Extension& extension : siblings) {
    require(extension.parent >= 0 && extension.parent < std::ssize(parents),
            "decoding: request {} has no hypothesis {}; it has {}", extension.request, extension.parent,
            parents.size());
    require(!extension.tokens.empty(), "decoding: an extension of request {} has no token", extension.request);
    require(extension.discarded == 0 ||
                (!extension.new_sequence && keeps_all_tokens(model_) &&
                 extension.discarded <= parents[static_cast<size_t>(extension.parent)].length),
            "decoding: an extension of request {} can't discard {} tokens", extension.request,
            extension.discarded);
    if (!extension.new_sequence) ++children[static_cast<size_t>(extension.parent)];
  }
  for (size_t parent = 0; parent < parents.size(); ++parent)
    if (children[parent] == 0) release(parents[parent].rows);
  std::vector<Hypothesis> next;
  next.reserve(siblings.size());
  for (const Extension& extension : siblings) {
    const auto parent = static_cast<size_t>(extension.parent);
    if (extension.new_sequence)
      next.emplace_back().rows.resize(target_.size());
    else
      next.push_back(--children[parent] > 0 ? copy(parents[parent]) : std::move(parents[parent]));
    if (!extension.new_sequence) discard(next.back(), extension.discarded);
  }
  parents = std::move(next);
}

Tensor DecodingState::extend(std::span<const Extension> extensions, Context& context,
                             AttentionObserver* observer) {
  ++extend_calls_;
  for (size_t begin = 0, end = 0; begin < extensions.size(); begin = end) {
    end = end_of_request(extensions, begin);
    branch(extensions.subspan(begin, end - begin));
  }
  Step step(*this, extensions, context);
  const std::vector<KeyValues> memory = source_memory(extensions, context);
  Tensor states = model_.decode(step.ids(), {step.rows(), step, memory}, context, observer);
  step.trim();
  return states;
}

/// Returns the keys and values of the sources for each layer. The new tokens of a request are adjacent, and one
/// span lets all of them attend to its source.
std::vector<KeyValues> DecodingState::source_memory(std::span<const Extension> extensions,
                                                    Context& context) const {
  if (!model_.config().has_encoder()) return {};
  std::vector<AttentionSpan> spans;
  std::vector<int32_t> places;
  int32_t tokens = 0;
  for (size_t begin = 0, end = 0; begin < extensions.size(); begin = end) {
    end = end_of_request(extensions, begin);
    int32_t count = 0;
    for (size_t i = begin; i < end; ++i) count += static_cast<int32_t>(extensions[i].tokens.size());
    const auto& seen = requests_[static_cast<size_t>(extensions[begin].request)].source_rows;
    spans.push_back({tokens, count, static_cast<int32_t>(places.size()), static_cast<int32_t>(seen.size())});
    places.insert(places.end(), seen.begin(), seen.end());
    tokens += count;
  }
  const auto pattern = ops::attention_pattern(context, std::move(spans), /*causal=*/false, places);
  std::vector<KeyValues> memory;
  for (int layer = 0; layer < model_.config().decoder_layers; ++layer) {
    const auto parts = source_.parts(layer);
    memory.push_back({parts[0], parts[1], pattern});
  }
  return memory;
}

}  // namespace sixfold
