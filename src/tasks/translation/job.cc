#include "tasks/translation/job.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>

#include "base/error.h"
#include "base/options.h"
#include "runtime/poll.h"
#include "tasks/translation/confidence.h"
#include "tasks/translation/extra_outputs.h"
#include "tasks/translation/minimum_bayes_risk.h"
#include "tasks/translation/unknown_words.h"
#include "text/utf8.h"
#include "text/words.h"

namespace sixfold {
namespace {

constexpr size_t max_read_ahead = 4096;  // lines read but not emitted yet

/// Throws an input error for settings that an ensemble does not support.
void check_ensemble(const TranslateOptions& o, const GenerationConfig& rules) {
  require(rules.repetition_penalty == 1 || (!o.sample && rules.beam_size > 1),
          "repetition_penalty is {}, but in samples and greedy search it changes logits, which an ensemble "
          "does not "
          "have; set it to 1",
          rules.repetition_penalty);
}

/// Throws an input error for options of sampling and of the search that contradict each other. `settings`:
/// those of the model.
void check_sampling(const TranslateOptions& o, const GenerationConfig& settings) {
  if (o.generation) check_normalization(*o.generation, settings);
  require(o.mbr == 0 || o.n_best <= o.mbr,
          "n_best is {}, but mbr chooses among {} translations; make mbr at least n_best", o.n_best, o.mbr);
  if (o.sample) {
    require(!o.beam_size, "sample draws translations, so that beam_size has no effect; leave one of them out");
    require(!o.retry || o.retry->beam_size == o.settings(settings).beam_size ||
                o.retry->beam_size == settings.beam_size,
            "retry: sample draws translations, so that beam_size has no effect; leave it out");
    const auto require_same = [&](std::string_view name, auto GenerationConfig::*setting) {
      for (const auto* given : {&o.generation, &o.retry})
        require(!*given || **given.*setting == settings.*setting,
                "sample draws translations, so that {} has no effect; leave it out", name);
    };
    require_same("stopping_criterion", &GenerationConfig::stopping_criterion);
    require_same("finished_keeps_slot", &GenerationConfig::finished_keeps_slot);
    require_same("at_longest", &GenerationConfig::at_longest);
    require_same("renormalize_logits", &GenerationConfig::renormalize_logits);
    require(!o.details.search, "sample draws translations, so that there are no steps of a search to show");
    require(!o.glossary, "sample draws translations, so that a glossary can't be kept; leave one of them out");
    return;
  }
  require(o.mbr <= o.beam_size.value_or(o.mbr),
          "mbr is {}, but beam_size is {}, and a search finds no more; leave beam_size out", o.mbr,
          o.beam_size.value_or(0));
  std::vector<std::string> drawing = differing_keys(write_options(o.draw), write_options(DrawOptions()));
  if (o.seed != TranslateOptions().seed) drawing.emplace_back("seed");
  require(drawing.empty(), "{} has no effect, since translations are searched for; leave it out, or set sample",
          drawing.empty() ? "" : drawing[0]);
}

/// The options of a search with `rules`, which are the generation settings of a call or of its `retry`.
SearchOptions search_options(const ModelRuntime& model, const TranslateOptions& options,
                             const GenerationConfig& rules, const PairLayout& layout,
                             const Shortlist* shortlist) {
  SearchOptions result{.rules = rules,
                       .n_best = options.candidates(),
                       .batch_tokens = model.batch_tokens(
                           options.batch_tokens, options.sample ? options.candidates() : rules.beam_size),
                       .shortlist = shortlist};
  if (options.sample) result.drawn = DrawnOutputs{options.draw, options.seed};
  if (model.is_ensemble()) check_ensemble(options, result.rules);
  if (layout.target_language >= 0) {
    const int first = result.rules.forced_first_token;
    require(
        first == model.config().generation.forced_first_token || first == layout.target_language,
        "forced_first_token is {}, but outputs of this model begin with the token of their language; leave it "
        "out, and choose target_language",
        first);
    result.rules.forced_first_token = layout.target_language;
  }
  if (options.replace_unknown) result.rules.allow_unk = true;
  if (options.details.layer) result.rules.alignment_layer = model.decoder_layer(*options.details.layer);
  return result;
}

SearchOptions first_search(const ModelRuntime& model, const TranslateOptions& options, const PairLayout& layout,
                           const Shortlist* shortlist) {
  check_ranges(options);
  check_sampling(options, model.config().generation);
  check_layer(options, model.config().generation);
  return search_options(model, options, options.settings(model.config().generation), layout, shortlist);
}

/// The index of the request that translates a line for the first time, or again as a retry.
size_t request_index(size_t line, bool is_retry) { return 2 * line + (is_retry ? 1 : 0); }

}  // namespace

void TranslationJob::SearchRecord::see(std::span<const SearchCandidate> candidates) {
  std::vector<SearchedHypothesis>& step = steps_.emplace_back();
  std::vector<int> continuing;
  for (size_t rank = 0; rank < candidates.size(); ++rank) {
    const SearchCandidate& one = candidates[rank];
    if (one.fate == CandidateFate::dropped && rank >= 2 * static_cast<size_t>(beam_size_)) continue;
    if (one.fate == CandidateFate::continues) continuing.push_back(static_cast<int>(step.size()));
    step.push_back({.parent = continued_.empty() ? -1 : continued_[static_cast<size_t>(one.parent)],
                    .token = tokenizer_.token_text(one.id),
                    .log_probability = one.log_probability,
                    .score = one.score,
                    .fate = one.fate});
  }
  continued_ = std::move(continuing);
}

TranslationJob::TranslationJob(ModelRuntime& model, const SourceEncoder& encoder, const Shortlist* shortlist,
                               const LineSource& next, const TranslateOptions& options, bool keeps_symbols,
                               const TranslatedLineReceiver& emit, const Paragraphs* paragraphs)
    : RequestGroup(model.engine(), options.caller),
      model_(model),
      next_line_(next),
      options_(options),
      emit_(emit),
      encoder_(encoder),
      keeps_symbols_(keeps_symbols),
      paragraphs_(paragraphs),
      line_case_(model.config(), model.source(), options),
      search_(model, first_search(model, options, encoder.layout(), shortlist)),
      retry_(retry_search(model, options, encoder.layout(), shortlist)),
      confidence_(confidence_weights(model, options.details)) {}

std::optional<TranslationJob::Search> TranslationJob::retry_search(ModelRuntime& model,
                                                                   const TranslateOptions& options,
                                                                   const PairLayout& layout,
                                                                   const Shortlist* shortlist) {
  if (!options.retry) return {};
  const GenerationConfig usual = options.settings(model.config().generation);
  for (const auto& [name, differs] :
       {std::pair("alignment_layer", options.retry->alignment_layer != usual.alignment_layer),
        {"start_before_text", options.retry->start_before_text != usual.start_before_text}})
    require(!differs, "retry: {} is not a setting of the search; leave it out", name);
  try {
    check_normalization(*options.retry, usual);
    SearchOptions retry = search_options(model, options, *options.retry, layout, shortlist);
    if (retry.drawn) ++retry.drawn->seed;
    return std::make_optional<Search>(model, retry);
  } catch (const Error& error) {
    throw_input_error("retry: {}", error.what());
  }
}

void TranslationJob::run() {
  RequestGroup::run(options_.cancel, [this] { work(); });
}

void TranslationJob::work() {
  while (!stopped()) {
    read_ahead();
    emit_ready();
    if (pending() > 0)
      help();
    else if (emitted_ < read_)
      continue;  // a line was completed since emit_ready()
    else if (ended_)
      break;
    else if (!read(/*wait=*/true))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // `next_line_` may return at once
  }
  if (input_error_ && !stopped()) std::rethrow_exception(input_error_);
}

/// Reads lines without waiting, until there is enough work for all threads.
void TranslationJob::read_ahead() {
  const int64_t enough = model_.engine().threads() * search_.options.batch_tokens;
  while (!ended_ && read_ - emitted_ < max_read_ahead && waiting_tokens() <= enough && read(/*wait=*/false)) {
  }
}

/// Reads one line. Returns false if no line is available now, or none is left.
bool TranslationJob::read(bool wait) {
  if (ended_) return false;
  try {
    Entry entry;
    const NextLine status = next_line_(entry.line.source, wait);
    ended_ = status == NextLine::end;
    if (status != NextLine::line) return false;
    entry.input = encode(entry.line);
    add(std::move(entry));
    return true;
  } catch (...) {
    ended_ = true;
    input_error_ = std::current_exception();
    return false;
  }
}

std::string TranslationJob::last_read() const {
  return fmt::format("{} {}", options_.line_name,
                     options_.first_line + (paragraphs_ ? paragraphs_->last_read() : read_));
}

std::string TranslationJob::last_emitted() const {
  return fmt::format("{} {}", options_.line_name,
                     options_.first_line + (paragraphs_ ? paragraphs_->next_received() : emitted_ - 1));
}

/// The text of the line that was read last whose phrases are asked for: the words whose tokens are all kept.
/// `input`: the line or its small letters, in which words have other numbers of bytes; `kept`: its tokens.
std::string TranslationJob::kept_words(const std::string& source, const std::string& input,
                                       const EncodedLine& kept) const {
  std::string text = encoder_.text_of(source);
  if (kept.tokens_cut == 0) return text;
  text = replace_invalid_utf8(text);
  const std::string encoded = replace_invalid_utf8(encoder_.text_of(input));
  const size_t end = encoder_.bytes_of(encoded, kept.tokens);
  std::vector<TextRange> words = phrase_words(text);
  const auto count =
      std::ranges::count_if(phrase_words(encoded), [&](TextRange word) { return word.end <= end; });
  words.resize(std::min(words.size(), static_cast<size_t>(count)));
  text.resize(words.empty() ? 0 : words.back().end);
  return text;
}

/// The constraints of the line that was read last. Parameters: as for `kept_words`.
EncodedConstraints TranslationJob::constraints_of(const std::string& source, const std::string& input,
                                                  const EncodedLine& kept) const {
  if (!options_.constrained()) return {};
  try {
    const std::string text = kept_words(source, input, kept);
    OutputConstraints constraints;
    if (options_.constraints) constraints = options_.constraints(read_, text);
    if (options_.glossary)
      for (std::string& phrase : options_.glossary->targets_in(text))
        constraints.phrases.push_back(std::move(phrase));
    EncodedConstraints encoded = encode_constraints(model_.target(), constraints);
    std::vector<int32_t>& prefix = encoded.tokens.prefix;
    if (!prefix.empty() && search_.options.rules.forced_first_token < 0)
      prefix = encoder_.layout().target(prefix);
    return encoded;
  } catch (const Cancelled&) {
    throw;
  } catch (const Error& error) {
    throw_input_error("{}: {}", last_read(), error.what());
  }
}

/// Counts the tokens of the line that was read last, without its end token.
void TranslationJob::count_unknown(const EncodedLine& line) const {
  if (!options_.counts || line.ids.empty()) return;
  TranslationCounts& sum = *options_.counts;
  const Tokenizer& tokenizer = model_.source();
  const int64_t unknown = tokenizer.count_unknown(line.ids);
  sum.tokens += static_cast<int64_t>(line.tokens);
  if (sum.unknown == 0 && unknown > 0) sum.first_unknown = last_read();
  sum.unknown += unknown;
}

/// Encodes the line that was read last. Errors begin with its name.
EncodedLine TranslationJob::encoded_line(const std::string& line) const {
  return encoder_.encode(line, options_.max_source_length, last_read());
}

/// Encodes the line that was read last and its constraints. A line that `keep_symbols` keeps has no tokens.
TranslationJob::SearchInput TranslationJob::encode(TranslatedLine& line) {
  SearchInput input{.ids = {}, .text = line.source, .constraints = {}, .record = nullptr};
  if (auto small = line_case_.source_in_small_letters(line.source)) {
    input.text = std::move(small->text);
    input.capitals = std::move(small->target);
  }
  const bool keeps = keeps_symbols_ && !has_letter_or_digit(encoder_.text_of(line.source));
  EncodedLine encoded;
  if (!keeps || (options_.constrained() && encoder_.has_target(line.source)))
    encoded = encoded_line(input.text);
  input.constraints = constraints_of(line.source, input.text, encoded);
  if (keeps && !input.constraints.asks_for_text()) return input;
  if (encoded.ids.empty()) encoded = encoded_line(input.text);
  input.ids = encoded.ids;
  line.tokens_cut = encoded.tokens_cut;
  count_unknown(encoded);
  require_observable(options_.details, encoded.ids.size(), "sentence");
  if (options_.warn_of_cuts && encoded.tokens_cut > 0) encoded.warn(last_read());
  if (model_.config().limits_length()) require_positions(model_.config(), std::ssize(encoded.ids), last_read());
  return input;
}

/// The request for a line that has tokens.
std::unique_ptr<Request> TranslationJob::request_for(const Search& search, SearchInput& input, size_t index) {
  if (options_.details.search)
    input.record = std::make_shared<SearchRecord>(model_.target(), search.options.rules.beam_size);
  return search.requests.make(input.ids, *this, index, input.constraints.tokens, input.record.get());
}

void TranslationJob::add(Entry entry) {
  entry.line.index = read_;
  std::unique_ptr<Request> request;
  const EncodedConstraints& constraints = entry.input.constraints;
  const size_t index = request_index(read_, false);
  if (entry.input.ids.empty()) {
    Translation& copy = entry.line.translations.emplace_back();
    if (keeps_symbols_)
      copy.text = one_line(std::string(trim_spaces(replace_invalid_utf8(encoder_.text_of(entry.line.source)))));
    copy.unmet = constraints.impossible;
    copy.unmet.insert(copy.unmet.end(), constraints.phrases.begin(), constraints.phrases.end());
  } else {
    request = request_for(search_, entry.input, index);
  }
  {
    const std::lock_guard lock(mutex_);
    entries_.push_back(std::move(entry));
  }
  if (request) submit(std::move(request), index);
  ++read_;
}

/// Emits finished lines in order.
void TranslationJob::emit_ready() {
  while (true) {
    TranslatedLine line;
    {
      const std::lock_guard lock(mutex_);
      if (entries_.empty() || entries_.front().line.translations.empty()) return;
      line = std::move(entries_.front().line);
      entries_.pop_front();
      ++emitted_;
    }
    count(line);
    emit_(line);
  }
}

void TranslationJob::count(const TranslatedLine& line) const {
  if (!options_.counts) return;
  TranslationCounts& sum = *options_.counts;
  const TranslationFaults& faults = line.translations.front().faults;
  if (sum.faulty == 0 && faults.any()) sum.first_faulty = last_emitted();
  sum.faulty += faults.any();
  sum.loops += faults.loops;
  sum.copies += faults.copies;
  sum.too_long += faults.too_long;
  sum.retried += line.retried;
  ++sum.translations;
}

/// Whether the translation of a second search is kept in place of the first.
static bool is_better(const Translation& second, const Translation& first) {
  return second.faults.count() < first.faults.count() && second.unmet.size() <= first.unmet.size();
}

void TranslationJob::complete(size_t index, const DecodeWorkspace& workspace,
                              std::vector<Hypothesis> best_first) {
  const size_t line = index / 2;
  const bool is_retry = index == request_index(line, true);
  SearchInput input;
  {
    const std::lock_guard lock(mutex_);
    input = std::move(entries_[line - emitted_].input);
  }
  std::vector<Translation> finished =
      translations(is_retry ? *retry_ : search_, workspace, input, select(std::move(best_first)));
  const bool needs_retry = !is_retry && retry_ && finished.front().faults.any();
  SearchSteps steps = input.record ? input.record->take() : SearchSteps();
  std::unique_ptr<Request> retry =
      needs_retry ? request_for(*retry_, input, request_index(line, true)) : nullptr;
  {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[line - emitted_];
    const bool better = !is_retry || is_better(finished.front(), entry.first.front());
    if (better) entry.line.search = std::move(steps);
    entry.line.retried = is_retry;
    if (needs_retry)
      entry.first = std::move(finished), entry.input = std::move(input);
    else
      entry.line.translations = std::move(better ? finished : entry.first);
  }
  if (retry) submit(std::move(retry), request_index(line, true));
}

std::vector<Hypothesis> TranslationJob::select(std::vector<Hypothesis> best_first) const {
  if (options_.mbr == 0) return best_first;
  std::vector<WeightedText> texts;
  for (const Hypothesis& one : best_first)
    texts.push_back(
        {replace_invalid_utf8(model_.target().decode(one.ids)), options_.sample ? 0 : one.log_probability});
  std::vector<size_t> order = order_by_risk(texts, [this] { Poll::now(options_.cancel); });
  std::ranges::stable_sort(order, {}, [&](size_t i) { return best_first[i].unmet.size(); });
  std::vector<Hypothesis> least_risk;
  for (const size_t i : order) {
    if (std::ssize(least_risk) == options_.n_best) break;
    least_risk.push_back(std::move(best_first[i]));
  }
  return least_risk;
}

std::vector<Translation> TranslationJob::translations(const Search& search, const DecodeWorkspace& workspace,
                                                      const SearchInput& input,
                                                      const std::vector<Hypothesis>& best_first) const {
  std::vector<Translation> translations;
  std::vector<ScoredPair> pairs;
  for (const Hypothesis& best : best_first) {
    Translation& translation = translations.emplace_back();
    translation.text = replace_invalid_utf8(model_.target().decode(best.ids));
    translation.score = best.score;
    translation.log_probability = best.log_probability;
    translation.reason = best.reason;
    translation.unmet = input.constraints.impossible;
    for (const size_t phrase : best.unmet) translation.unmet.push_back(input.constraints.phrases[phrase]);
    pairs.push_back({input.ids, best, input.text});
  }
  PairContext common{encoder_.prefix(), encoder_.suffix(),
                     search.options.rules.forced_first_token >= 0 ? 1u : 0u};
  common.shows_unknown = options_.replace_unknown;
  common.confidence = confidence_;
  if (options_.replace_unknown)
    replace_unknown_words(model_, workspace, pairs, options_.details.layer, common, translations);
  for (size_t i = 0; i < translations.size(); ++i)
    translations[i].faults = faults_of({input.text, input.ids}, {translations[i].text, best_first[i].ids});
  if (options_.details.any()) {
    const std::vector<int32_t> allowed = search.requests.allowed(input.ids, input.constraints.tokens);
    common.allowed = allowed;
    add_extra_outputs(model_, workspace, pairs, options_.details, common, translations);
  }
  if (input.capitals)
    for (Translation& one : translations) one.text = in_capitals(one.text, *input.capitals);
  return translations;
}

}  // namespace sixfold
