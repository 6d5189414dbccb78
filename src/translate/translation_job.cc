#include "translate/translation_job.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/threads.h"
#include "search/beam.h"
#include "translate/extra_outputs.h"

namespace sixfold {
namespace {

constexpr size_t most_ahead = 4096;  // lines taken in but not yet put out

SearchOptions search_options(const LoadedModel& open, const TranslateOptions& options,
                             const Shortlist* shortlist, std::stop_token cancel) {
  require(options.max_source_length >= 1, "max_source_length is {}; it must be at least 1",
          options.max_source_length);
  SearchOptions how{open.config().generation, options.n_best, options.batch_tokens, shortlist,
                    std::move(cancel)};
  if (how.batch_tokens == 0) how.batch_tokens = open.batch_tokens();
  if (options.beam_size) how.rules.beam_size = *options.beam_size;
  return how;
}

}  // namespace

TranslationJob::TranslationJob(LoadedModel& open, const LineSource& next, size_t lines,
                               const TranslateOptions& options, const TranslatedLineReceiver& emit)
    : open_(open),
      next_line_(next),
      options_(options),
      emit_(emit),
      language_symbol_(open.language_symbol(options.target_language)),
      prefix_(language_symbol_.empty() ? 0 : 1),
      shortlist_(open.shortlist(options.shortlist)),
      how_(search_options(open, options, shortlist_.get(), stop_.get_token())),
      lines_(lines) {
  if (options.details.layer) open.decoder_layer(*options.details.layer);
}

void TranslationJob::run(int threads) {
  const std::stop_callback cancel(options_.cancel, [this] { stop_.request_stop(); });
  ThreadPool pool(static_cast<int>(std::clamp<size_t>(lines_, 1, static_cast<size_t>(threads))));
  threads_ = pool.threads();
  pool.run(threads_, [this](int64_t, int) { work(); });
  if (error_) std::rethrow_exception(error_);
  if (input_error_) std::rethrow_exception(input_error_);
}

void TranslationJob::work() {
  try {
    const auto decoding = open_.borrow();
    search(*decoding, *this, how_,
           [&](size_t index, const auto& best_first) { finish(*decoding, index, best_first); });
  } catch (...) {
    fail();
  }
}

/// Keeps the first error, and makes the others stop.
void TranslationJob::fail() {
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = std::current_exception();
  stop_.request_stop();
}

/// Reads lines until all threads could take their fill.
void TranslationJob::read(bool wait) {
  const int64_t enough = tokens_taken_ + threads_ * how_.batch_tokens / how_.rules.beam_size;
  try {
    while (!ended_ && tokens_read_ <= enough && lines_ahead() < most_ahead) {
      Entry entry;
      const NextLine status = next_line_(entry.line, wait && read_ == taken_);
      ended_ = status == NextLine::end;
      if (status != NextLine::line) return;
      entry.ids = open_.encode(language_symbol_, entry.line, options_.max_source_length, [this] {
        const char* unit = options_.split_sentences.empty() ? "line" : "sentence";
        return fmt::format("{} {}", unit, options_.first_line + read_);
      });
      tokens_read_ += std::ssize(entry.ids);
      ++read_;
      const std::lock_guard lock(mutex_);
      entries_.push_back(std::move(entry));
    }
  } catch (...) {
    ended_ = true;
    input_error_ = std::current_exception();
  }
}

size_t TranslationJob::lines_ahead() {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

/// What there is to take. Where lines are few, each thread gets its share of them.
std::vector<SourceQueue::Source> TranslationJob::take_read(int64_t room, bool wait) {
  const int64_t most = std::min(room, (tokens_read_ + threads_ - 1) / threads_);
  std::vector<Source> taken;
  const std::lock_guard lock(mutex_);
  for (int64_t sum = 0; taken_ < read_; ++taken_) {
    const Entry& entry = entries_[taken_ - out_];
    const int64_t tokens = std::ssize(entry.ids);
    if (sum + tokens > most && !(wait && sum == 0)) break;
    sum += tokens;
    tokens_taken_ += tokens;
    taken.push_back({taken_, entry.ids});
  }
  return taken;
}

/// A thread that has something to decode does not wait for one that reads.
std::vector<SourceQueue::Source> TranslationJob::take(int64_t room, bool wait) {
  while (!stop_.stop_requested()) {
    std::unique_lock input(input_, std::defer_lock);
    if (wait)
      input.lock();
    else if (!input.try_lock())
      return {};
    read(wait);
    std::vector<Source> taken = take_read(room, wait);
    if (!taken.empty() || !wait || (ended_ && taken_ == read_)) return taken;
    input.unlock();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // what is ahead has to go out first
  }
  return {};
}

void TranslationJob::finish(DecodeWorkspace& decoding, size_t index,
                            const std::vector<Hypothesis>& best_first) {
  std::vector<int32_t> source;
  if (options_.details.any()) {
    const std::lock_guard lock(mutex_);
    source = entries_[index - out_].ids;
  }
  put_out(index, translations(decoding, source, best_first));
}

std::vector<Translation> TranslationJob::translations(DecodeWorkspace& decoding,
                                                      const std::vector<int32_t>& source,
                                                      const std::vector<Hypothesis>& best_first) const {
  std::vector<Translation> translations;
  for (const Hypothesis& best : best_first)
    translations.push_back({open_.target().decode(best.ids), best.score, best.log_probability, {}, {}, {}});
  if (!options_.details.any() || source.empty()) return translations;
  std::vector<ScoredPair> pairs;
  const auto longest = static_cast<size_t>(longest_output(how_.rules, static_cast<int>(source.size())));
  for (const Hypothesis& best : best_first) pairs.push_back({source, best.ids, best.ids.size() < longest});
  add_extra_outputs(open_, decoding, pairs, options_.details, prefix_, translations);
  return translations;
}

void TranslationJob::put_out(size_t index, std::vector<Translation> translations) {
  const std::lock_guard lock(mutex_);
  entries_[index - out_].translations = std::move(translations);
  try {
    while (!error_ && !entries_.empty() && !entries_.front().translations.empty()) {
      Entry& entry = entries_.front();
      emit_({out_, std::move(entry.line), std::move(entry.translations)});
      entries_.pop_front();
      ++out_;
    }
  } catch (...) {
    error_ = std::current_exception();  // while other threads wait, so that none emits after it
    throw;
  }
}

}  // namespace sixfold
