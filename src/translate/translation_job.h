#pragma once
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "translate/loaded_model.h"
#include "translate/translation.h"

namespace sixfold {

/// The translation of a stream of lines: threads take them from one queue as they have room, and what is ready
/// goes out in order.
class TranslationJob final : public SourceQueue {
 public:
  /// `lines`: how many there are at most.
  TranslationJob(LoadedModel& open, const LineSource& next, size_t lines, const TranslateOptions& options,
                 const TranslatedLineReceiver& emit);
  void run(int threads);

  std::vector<Source> take(int64_t room, bool wait) override;

 private:
  /// A line on its way.
  struct Entry {
    std::string line;
    std::vector<int32_t> ids;
    std::vector<Translation> translations;  // none until it is done
  };
  void work();
  void read(bool wait);
  size_t lines_ahead();
  std::vector<Source> take_read(int64_t room, bool wait);
  void finish(DecodeWorkspace& decoding, size_t index, const std::vector<Hypothesis>& best_first);
  std::vector<Translation> translations(DecodeWorkspace& decoding, const std::vector<int32_t>& source,
                                        const std::vector<Hypothesis>& best_first) const;
  void put_out(size_t index, std::vector<Translation> translations);
  void fail();

  LoadedModel& open_;
  const LineSource& next_line_;
  const TranslateOptions& options_;
  const TranslatedLineReceiver& emit_;
  std::string language_symbol_;
  int prefix_;  // pieces of the language symbol
  std::shared_ptr<const Shortlist> shortlist_;
  std::stop_source stop_;
  SearchOptions how_;
  size_t lines_;
  int threads_ = 1;

  std::mutex input_;  // of what follows
  bool ended_ = false;
  std::exception_ptr input_error_;
  size_t read_ = 0, taken_ = 0;  // lines
  int64_t tokens_read_ = 0, tokens_taken_ = 0;

  std::mutex mutex_;  // of what follows; taken after `input_` where both are
  std::deque<Entry> entries_;
  size_t out_ = 0;  // lines put out: the first entry's index
  std::exception_ptr error_;
};

}  // namespace sixfold
