#include "runtime/search.h"

#include "base/error.h"
#include "base/hash.h"
#include "runtime/running_batch.h"

namespace sixfold {
namespace {

/// Calls a function for each result and keeps the first error.
class FunctionSink final : public ResultSink {
 public:
  FunctionSink(const SearchResult& function, std::stop_source& stop) : function_(function), stop_(stop) {}
  void done(size_t index, const DecodeWorkspace&, std::vector<Hypothesis> best_first) override {
    function_(index, std::move(best_first));
  }
  void failed(size_t, std::exception_ptr error) noexcept override {
    if (!error_) error_ = std::move(error);
    stop_.request_stop();
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  const SearchResult& function_;
  std::stop_source& stop_;
  std::exception_ptr error_;
};

/// If outputs are drawn, the beam size is their number.
std::shared_ptr<const BeamPlan> beam_plan(const ModelConfig& model, const SearchOptions& options) {
  require_encoder_and_decoder(model, "search");
  GenerationConfig rules = options.rules;
  if (options.drawn) rules.beam_size = options.n_best;
  return std::make_shared<BeamPlan>(model, rules, options.n_best);
}

std::shared_ptr<const SamplingPlan> sampling_plan(const ModelConfig& model, const SearchOptions& options) {
  const GenerationConfig& rules = options.rules;
  require(rules.coverage_penalty == 0,
          "coverage_penalty is {}, but outputs that are drawn are scored without it; set it to 0",
          rules.coverage_penalty);
  DrawOptions draw = options.drawn->draw;
  draw.repetition_penalty = rules.repetition_penalty;
  return std::make_shared<SamplingPlan>(model, rules, draw, options.drawn->seed);
}

}  // namespace

void visit_search_fields(OptionVisitor& v, std::optional<int>& beam_size, int64_t& batch_tokens) {
  v.field("beam_size", beam_size,
          "number of hypotheses kept in each step; 1: greedy search [as stored with the model]",
          between(1, 1000));
  v.field("batch_tokens", batch_tokens,
          "maximum number of tokens in a batch of one thread; 0: depends on the size of the model",
          at_least(0));
}

SearchRequests::SearchRequests(const ModelConfig& model, const SearchOptions& options)
    : beam_plan_(beam_plan(model, options)),
      sampling_plan_(options.drawn ? sampling_plan(model, options) : nullptr),
      ids_per_row_(model.source_ids_per_row()),
      batch_tokens_(options.batch_tokens),
      shortlist_(options.shortlist),
      cancel_(options.cancel) {
  require(batch_tokens_ >= 1, "batch_tokens is {}; it must be at least 1", batch_tokens_);
}

std::unique_ptr<Request> SearchRequests::make(std::vector<int32_t> source, ResultSink& sink, size_t index,
                                              const LexicalConstraints& constraints,
                                              SearchObserver* observer) const {
  auto request = std::make_unique<Request>();
  const int tokens = static_cast<int>(source.size()) / ids_per_row_;
  request->shortlist = allowed(source, constraints);
  request->source = std::move(source);
  request->read_tokens = tokens;
  request->tokens =
      int64_t{tokens} *
      (sampling_plan_ ? beam_plan_->n_best : Beam::width(beam_plan_->rules, PhraseSet(constraints.phrases)));
  request->strategy = strategy(request->source, tokens, constraints, observer);
  request->batch_tokens = batch_tokens_;
  request->cancel = cancel_;
  request->sink = &sink;
  request->index = index;
  return request;
}

std::unique_ptr<Strategy> SearchRequests::strategy(const std::vector<int32_t>& source, int tokens,
                                                   const LexicalConstraints& constraints,
                                                   SearchObserver* observer) const {
  if (!sampling_plan_) return std::make_unique<BeamSearch>(beam_plan_, tokens, constraints, observer);
  require(constraints.phrases.empty() && constraints.banned_phrases.empty() && !observer,
          "outputs are drawn, so that no phrases can be asked for or be banned, and there are no steps of a "
          "search; leave them out, or do not draw");
  const LexicalConstraints completed = beam_plan_->completed(constraints);
  std::vector<uint64_t> samples;
  for (int i = 0; i < beam_plan_->n_best; ++i)
    samples.push_back(hash_of(std::as_bytes(std::span(source)), static_cast<uint64_t>(i)));
  return std::make_unique<Samples>(sampling_plan_, beam_plan_->rules, completed.prefix,
                                   beam_plan_->longest_with(tokens, completed) - 1, samples);
}

std::vector<int32_t> SearchRequests::allowed(const std::vector<int32_t>& source,
                                             const LexicalConstraints& constraints) const {
  return shortlist_ ? beam_plan_->complete(shortlist_->targets(source), constraints) : std::vector<int32_t>();
}

void search(const DecodeWorkspace& decoding, const std::vector<std::vector<int32_t>>& sources,
            const SearchOptions& options, const SearchResult& done) {
  std::stop_source stop;  // an error requests stop, which ends the search
  const std::stop_callback cancel(options.cancel, [&] { stop.request_stop(); });
  SearchOptions stoppable = options;
  stoppable.cancel = stop.get_token();
  const SearchRequests requests(decoding.model.config(), stoppable);
  FunctionSink sink(done, stop);
  RequestQueue queue;
  for (size_t i = 0; i < sources.size(); ++i)
    if (sources[i].empty())
      done(i, {Hypothesis()});
    else
      queue.push(requests.make(sources[i], sink, i));
  RunningBatch batch(decoding, queue);
  while (batch.step() || !queue.empty()) {
  }
  sink.rethrow();
  if (options.cancel.stop_requested()) throw Cancelled();
}

}  // namespace sixfold
