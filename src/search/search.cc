#include "search/search.h"

#include <algorithm>

#include "base/error.h"
#include "model/decoding_state.h"
#include "search/beam.h"
#include "search/restricted_output.h"

namespace sixfold {
namespace {

void check_options(const ModelConfig& config, const SearchOptions& options) {
  const GenerationConfig& rules = options.rules;
  require(rules.beam_size >= 1, "beam_size is {}; it must be at least 1", rules.beam_size);
  require(options.n_best >= 1 && options.n_best <= rules.beam_size,
          "n_best is {}; it must be at least 1 and no more than the beam size, {}", options.n_best,
          rules.beam_size);
  require(options.batch_tokens >= 1, "batch_tokens is {}; it must be at least 1", options.batch_tokens);
  const auto is_symbol = [&](int id) { return id >= 0 && id < config.target_vocab; };
  for (const int id : rules.suppress_tokens)
    require(is_symbol(id), "suppress_tokens has {}, but the vocabulary has {} symbols", id,
            config.target_vocab);
}

/// The sources that one thread decodes at a time, each with its own beam and at its own position.
class BatchSearch {
 public:
  BatchSearch(const DecodeWorkspace& decoding, SourceQueue& queue, const SearchOptions& options,
              const SearchResult& done)
      : decoding_(decoding),
        queue_(queue),
        options_(options),
        done_(done),
        all_(std::make_shared<RestrictedOutput>(decoding.model.config(), options.rules, decoding.model.output(),
                                                decoding.backend)),
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
  struct Sentence {
    size_t index;    // in the queue
    int64_t tokens;  // of the source
    int number;      // in the cache
    Beam beam;
    std::shared_ptr<const RestrictedOutput> output;
  };

  bool enter();
  void step();
  void extend(Context& context, const Tensor& states);
  void extend_alike(std::span<Sentence> sentences, Context& context, const Tensor& states);
  std::shared_ptr<const RestrictedOutput> output_for(const std::vector<int32_t>& source) const;
  void leave();

  const DecodeWorkspace& decoding_;
  SourceQueue& queue_;
  const SearchOptions& options_;
  const SearchResult& done_;
  std::shared_ptr<const RestrictedOutput> all_;
  int candidates_;
  DecodingState cache_;
  std::vector<Sentence> sentences_;
  std::vector<DecodingState::NextToken> next_tokens_;
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
  Context context(decoding_.backend, decoding_.arena);
  const std::vector<int> numbers = cache_.enter(batch, context);
  const ModelConfig& config = decoding_.model.config();
  for (size_t i = 0; i < entering.size(); ++i) {
    const int tokens = batch.rows.length(static_cast<int>(i));
    const int longest = longest_output(options_.rules, tokens);
    sentences_.push_back({entering[i]->index, tokens, numbers[i],
                          Beam(options_.rules, {config.eos, longest, options_.n_best}),
                          output_for(entering[i]->ids)});
  }
  return true;
}

void BatchSearch::step() {
  next_tokens_.clear();
  for (Sentence& sentence : sentences_)
    for (LiveHypothesis& live : sentence.beam.live())
      next_tokens_.push_back({sentence.number,
                              live.ids.empty() ? decoding_.model.config().decoder_start_token : live.ids.back(),
                              &live.rows});
  Context context(decoding_.backend, decoding_.arena);
  const Tensor states = cache_.step(next_tokens_, context);  // [live hypotheses, d_model]
  extend(context, states);
}

std::shared_ptr<const RestrictedOutput> BatchSearch::output_for(const std::vector<int32_t>& source) const {
  if (!options_.shortlist) return all_;
  const Transformer& model = decoding_.model;
  return std::make_shared<RestrictedOutput>(model.config(), options_.rules, model.output(), decoding_.backend,
                                            options_.shortlist->targets(source), candidates_);
}

/// Neighbours whose hypotheses may be followed by the same tokens are extended together.
void BatchSearch::extend(Context& context, const Tensor& states) {
  const auto alike = [](const Sentence& a, const Sentence& b) {
    return a.output == b.output && a.beam.must_end() == b.beam.must_end() &&
           a.output->same(a.beam.length(), b.beam.length());
  };
  int64_t row = 0;
  for (size_t begin = 0, end = 0; begin < sentences_.size(); begin = end) {
    int64_t rows = 0;
    for (; end < sentences_.size() && alike(sentences_[begin], sentences_[end]); ++end)
      rows += std::ssize(sentences_[end].beam.live());
    extend_alike(std::span(sentences_).subspan(begin, end - begin), context, states.slice_rows(row, rows));
    row += rows;
  }
}

/// What a sentence needs to know is read from the rows of its hypotheses: the likeliest next symbols, or, at
/// its longest length, the probability of the end symbol.
void BatchSearch::extend_alike(std::span<Sentence> sentences, Context& context, const Tensor& states) {
  const Sentence& first = sentences.front();
  std::vector<float> end;
  ops::Candidates best;
  if (!first.beam.must_end())
    best = first.output->top_k(context, states, candidates_, first.beam.length());
  else if (options_.rules.at_longest == AtLongest::end_symbol)
    end = first.output->log_probability_of_end(context, states);
  else
    end.assign(static_cast<size_t>(states.rows()), 0.0f);  // certain
  size_t row = 0;
  for (Sentence& sentence : sentences) {
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

void score_batch(const DecodeWorkspace& decoding, const Batch& batch,
                 std::vector<std::vector<double>>& scores) {
  Context context(decoding.backend, decoding.arena);
  const Tensor states = decoding.model.states(batch, context);
  const std::vector<double> all =
      ops::log_probability(context, states, decoding.model.output(), context.indices(batch.labels))
          .to_doubles(context.backend());
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

void search(const DecodeWorkspace& decoding, SourceQueue& queue, const SearchOptions& options,
            const SearchResult& done) {
  check_options(decoding.model.config(), options);
  BatchSearch(decoding, queue, options, done).run();
}

void search(const DecodeWorkspace& decoding, const std::vector<std::vector<int32_t>>& sources,
            const SearchOptions& options, const SearchResult& done) {
  FixedSources queue(sources);
  search(decoding, queue, options, done);
}

std::vector<std::vector<double>> score_targets(const DecodeWorkspace& decoding,
                                               const std::vector<std::vector<int32_t>>& sources,
                                               const std::vector<std::vector<int32_t>>& targets,
                                               int64_t batch_tokens) {
  require(sources.size() == targets.size(), "{} sources and {} targets to score", sources.size(),
          targets.size());
  const ModelConfig& config = decoding.model.config();
  require_encoder_and_decoder(config, "scoring");
  std::vector<std::vector<double>> scores;
  BatchBuilder builder;
  const auto flush = [&] {
    if (builder.batch().size() > 0) score_batch(decoding, builder.take(), scores);
  };
  for (size_t i = 0; i < sources.size(); ++i) {
    require(!sources[i].empty(), "source {} to score is empty; it must have its end symbol at least", i);
    const int64_t tokens = static_cast<int64_t>(sources[i].size() + targets[i].size()) + 1;
    if (builder.batch().tokens() + tokens > batch_tokens) flush();
    builder.source(sources[i]).teacher_forced(targets[i], config.target_ends());
  }
  flush();
  return scores;
}

}  // namespace sixfold
