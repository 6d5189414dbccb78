#include "search/search.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "model/cache.h"
#include "search/beam.h"

namespace sixfold {
namespace {

void check_options(const ModelConfig& config, const SearchOptions& options) {
  const SearchRules& rules = options.rules;
  require(rules.beam_size >= 1, "beam_size is {}; it must be at least 1", rules.beam_size);
  require(options.n_best >= 1 && options.n_best <= rules.beam_size,
          "n_best is {}; it must be at least 1 and no more than the beam size, {}", options.n_best,
          rules.beam_size);
  require(options.batch_tokens >= 1, "batch_tokens is {}; it must be at least 1", options.batch_tokens);
  const auto is_symbol = [&](int id) { return id >= 0 && id < config.target_vocab; };
  require(rules.decoder_start == SearchRules::zero_start || is_symbol(rules.decoder_start),
          "decoder_start is {}, but the vocabulary has {} symbols", rules.decoder_start, config.target_vocab);
  for (const int id : rules.banned_symbols)
    require(is_symbol(id), "banned_symbols has {}, but the vocabulary has {} symbols", id, config.target_vocab);
}

/// The start symbol marks no place but the first, so it is never put out.
std::vector<int32_t> banned_symbols(const ModelConfig& config, const SearchRules& rules) {
  std::vector<int32_t> banned(rules.banned_symbols.begin(), rules.banned_symbols.end());
  if (config.bos >= 0 && config.bos != config.eos) banned.push_back(config.bos);
  return banned;
}

/// The sources that one thread decodes at a time, each with its own beam and at its own position.
class BatchSearch {
 public:
  BatchSearch(const Decoding& decoding, SourceQueue& queue, const SearchOptions& options,
              const SearchResult& done)
      : decoding_(decoding),
        queue_(queue),
        options_(options),
        done_(done),
        banned_(banned_symbols(decoding.model.config(), options.rules)),
        candidates_(std::min(Beam::candidates(options.rules), decoding.model.config().target_vocab)),
        cache_(decoding.model, decoding.backend) {}

  void run() {
    while (enter() || !sentences_.empty()) {
      if (options_.cancel.stop_requested()) throw Cancelled();
      if (sentences_.empty()) continue;
      step();
      leave();
    }
    if (options_.cancel.stop_requested()) throw Cancelled();  // the queue may have ended for that
  }

 private:
  /// The output layer that a shortlist leaves a sentence.
  struct Outputs {
    std::vector<int32_t> ids;     // of its symbols, in order
    std::vector<int32_t> banned;  // places in `ids`
    ops::OutputWeights weights;
    std::vector<int32_t> places_of(const std::vector<int32_t>& symbols) const;
  };
  struct Sentence {
    size_t index;    // in the queue
    int64_t tokens;  // of the source
    int number;      // in the cache
    Beam beam;
    std::optional<Outputs> outputs;
  };

  bool enter();
  void step();
  void extend(Pass& pass, const Tensor& states);
  void extend_by_shortlist(Pass& pass, const Tensor& states);
  Outputs select_outputs(const std::vector<int32_t>& source) const;
  void leave();

  const Decoding& decoding_;
  SourceQueue& queue_;
  const SearchOptions& options_;
  const SearchResult& done_;
  std::vector<int32_t> banned_;
  int candidates_;
  DecoderCache cache_;
  std::vector<Sentence> sentences_;
  std::vector<DecoderCache::NextToken> next_tokens_;
};

/// Waits until there is room for some, so that few sources are not encoded alone. Returns whether it took any.
bool BatchSearch::enter() {
  const int64_t budget = options_.batch_tokens / options_.rules.beam_size;
  int64_t room = budget;
  for (const Sentence& sentence : sentences_) room -= sentence.tokens;
  if (4 * room < budget) return false;
  const auto taken = queue_.take(room, sentences_.empty());
  IdBatch batch;
  std::vector<const SourceQueue::Source*> entering;
  for (const auto& source : taken) {
    if (source.ids.empty()) {
      done_(source.index, {Hypothesis()});
      continue;
    }
    entering.push_back(&source);
    batch.add(source.ids);
  }
  if (entering.empty()) return !taken.empty();
  Pass pass(decoding_.backend, decoding_.arena);
  const std::vector<int> numbers = cache_.enter(batch, pass);
  const ModelConfig& config = decoding_.model.config();
  for (size_t i = 0; i < entering.size(); ++i) {
    const int tokens = batch.rows.length(static_cast<int>(i));
    const int longest = longest_output(options_.rules, tokens);
    sentences_.push_back({entering[i]->index,
                          tokens,
                          numbers[i],
                          Beam(options_.rules, {config.eos, longest, options_.n_best}),
                          {}});
    if (options_.shortlist) sentences_.back().outputs = select_outputs(entering[i]->ids);
  }
  return true;
}

void BatchSearch::step() {
  next_tokens_.clear();
  for (Sentence& sentence : sentences_)
    for (LiveHypothesis& live : sentence.beam.live())
      next_tokens_.push_back(
          {sentence.number, live.ids.empty() ? options_.rules.decoder_start : live.ids.back(), &live.rows});
  Pass pass(decoding_.backend, decoding_.arena);
  const Tensor states = cache_.step(next_tokens_, pass);  // [live hypotheses, d_model]
  if (options_.shortlist)
    extend_by_shortlist(pass, states);
  else
    extend(pass, states);
}

/// Places of those of the symbols that are there.
std::vector<int32_t> BatchSearch::Outputs::places_of(const std::vector<int32_t>& symbols) const {
  std::vector<int32_t> places;
  for (const int32_t id : symbols)
    if (const auto found = std::lower_bound(ids.begin(), ids.end(), id); found != ids.end() && *found == id)
      places.push_back(static_cast<int32_t>(found - ids.begin()));
  return places;
}

/// The shortlist's symbols, the end symbol always, and as many others, from the lowest, as it takes to have
/// enough.
BatchSearch::Outputs BatchSearch::select_outputs(const std::vector<int32_t>& source) const {
  const ModelConfig& config = decoding_.model.config();
  Outputs outputs{options_.shortlist->targets(source), {}, {}};
  std::vector<int32_t>& ids = outputs.ids;
  const auto add = [&](int32_t id) {
    const auto place = std::lower_bound(ids.begin(), ids.end(), id);
    if (place == ids.end() || *place != id) ids.insert(place, id);
  };
  add(config.eos);
  const auto enough = std::min(static_cast<size_t>(config.target_vocab), candidates_ + banned_.size());
  for (int32_t id = 0; ids.size() < enough; ++id) add(id);
  outputs.banned = outputs.places_of(banned_);
  outputs.weights = ops::select_outputs(decoding_.backend, decoding_.model.output(), ids);
  return outputs;
}

/// As `extend`, with each sentence's own output layer.
void BatchSearch::extend_by_shortlist(Pass& pass, const Tensor& states) {
  int64_t row = 0;
  for (Sentence& sentence : sentences_) {
    const Outputs& outputs = *sentence.outputs;
    const auto rows = std::ssize(sentence.beam.live());
    const Tensor own = states.slice_rows(row, rows);
    row += rows;
    if (sentence.beam.must_end()) {
      std::vector<float> end(static_cast<size_t>(rows), 0.0f);
      if (options_.rules.at_longest == AtLongest::end_symbol) {
        const std::vector<int32_t> eos(static_cast<size_t>(rows),
                                       outputs.places_of({decoding_.model.config().eos})[0]);
        end = ops::log_probability(pass, own, outputs.weights, pass.indices(eos)).to_floats(pass.backend());
      }
      sentence.beam.end(end);
      continue;
    }
    ops::Candidates best = ops::top_k(pass, own, outputs.weights, candidates_, outputs.banned);
    for (int32_t& id : best.ids) id = outputs.ids[static_cast<size_t>(id)];
    sentence.beam.extend(best.ids, best.log_probs);
  }
}

/// What a sentence needs to know is read from the rows of its hypotheses: the likeliest next symbols, or, at
/// its longest length, the probability of the end symbol.
void BatchSearch::extend(Pass& pass, const Tensor& states) {
  const ops::OutputWeights& output = decoding_.model.output();
  const auto must_end = [](const Sentence& sentence) { return sentence.beam.must_end(); };
  std::vector<float> end(next_tokens_.size(), 0.0f);  // certain, unless the model says how likely
  if (options_.rules.at_longest == AtLongest::end_symbol &&
      std::any_of(sentences_.begin(), sentences_.end(), must_end)) {
    const std::vector<int32_t> eos(next_tokens_.size(), decoding_.model.config().eos);
    end = ops::log_probability(pass, states, output, pass.indices(eos)).to_floats(pass.backend());
  }
  ops::Candidates best;
  if (!std::all_of(sentences_.begin(), sentences_.end(), must_end))
    best = ops::top_k(pass, states, output, candidates_, banned_);
  size_t row = 0;
  for (Sentence& sentence : sentences_) {
    const size_t rows = sentence.beam.live().size(), k = static_cast<size_t>(best.k);
    if (sentence.beam.must_end())
      sentence.beam.end(std::span(end).subspan(row, rows));
    else
      sentence.beam.extend(std::span(best.ids).subspan(row * k, rows * k),
                           std::span(best.log_probs).subspan(row * k, rows * k));
    row += rows;
  }
}

void BatchSearch::leave() {
  for (Sentence& sentence : sentences_) {
    if (!sentence.beam.done()) continue;
    cache_.leave(sentence.number);
    std::vector<Hypothesis> best = sentence.beam.take_best();
    require(!best.empty(), "the model gives probabilities that are no numbers; its weights must be broken");
    done_(sentence.index, std::move(best));
  }
  std::erase_if(sentences_, [](Sentence& sentence) { return sentence.beam.done(); });
}

void score_batch(const Decoding& decoding, const PairBatch& batch, const std::vector<int32_t>& wanted,
                 std::vector<std::vector<double>>& scores) {
  Pass pass(decoding.backend, decoding.arena);
  const Tensor states = decoding.model.states(batch, pass);
  const std::vector<double> all =
      ops::log_probability(pass, states, decoding.model.output(), pass.indices(wanted))
          .to_doubles(pass.backend());
  for (int i = 0; i < batch.target.rows.sequences(); ++i)
    scores.emplace_back(all.begin() + batch.target.rows.begin(i), all.begin() + batch.target.rows.begin(i + 1));
}

}  // namespace

std::vector<SourceQueue::Source> FixedSources::take(int64_t room, bool wait) {
  const std::lock_guard lock(mutex_);
  std::vector<Source> taken;
  for (int64_t sum = 0; next_ < sources_.size(); ++next_) {
    const int64_t tokens = std::ssize(sources_[next_]);
    if (sum + tokens > room && !(wait && sum == 0)) break;
    sum += tokens;
    taken.push_back({next_, sources_[next_]});
  }
  return taken;
}

void search(const Decoding& decoding, SourceQueue& queue, const SearchOptions& options,
            const SearchResult& done) {
  check_options(decoding.model.config(), options);
  BatchSearch(decoding, queue, options, done).run();
}

void search(const Decoding& decoding, const std::vector<std::vector<int32_t>>& sources,
            const SearchOptions& options, const SearchResult& done) {
  FixedSources queue(sources);
  search(decoding, queue, options, done);
}

std::vector<std::vector<double>> score_targets(const Decoding& decoding,
                                               const std::vector<std::vector<int32_t>>& sources,
                                               const std::vector<std::vector<int32_t>>& targets,
                                               int64_t batch_tokens) {
  require(sources.size() == targets.size(), "{} sources and {} targets to score", sources.size(),
          targets.size());
  const ModelConfig& config = decoding.model.config();
  std::vector<std::vector<double>> scores;
  PairBatch batch;
  std::vector<int32_t> wanted;
  const auto flush = [&] {
    if (!wanted.empty()) score_batch(decoding, batch, wanted, scores);
    batch = {};
    wanted.clear();
  };
  for (size_t i = 0; i < sources.size(); ++i) {
    require(!sources[i].empty(), "source {} to score is empty; it must have its end symbol at least", i);
    const int64_t tokens = static_cast<int64_t>(sources[i].size() + targets[i].size()) + 1;
    if (batch.source.rows.tokens() + batch.target.rows.tokens() + tokens > batch_tokens) flush();
    batch.source.add(sources[i]);
    std::vector<int32_t> input{config.search.decoder_start};
    input.insert(input.end(), targets[i].begin(), targets[i].end());
    batch.target.add(input);
    wanted.insert(wanted.end(), targets[i].begin(), targets[i].end());
    wanted.push_back(config.eos);
  }
  flush();
  return scores;
}

}  // namespace sixfold
