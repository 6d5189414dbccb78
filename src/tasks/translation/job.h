#pragma once
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/engine.h"
#include "runtime/loaded_model.h"
#include "runtime/search.h"
#include "tasks/translation/output_constraints.h"
#include "tasks/translation/translation.h"

namespace sixfold {

/// The translation of a stream of lines. The calling thread reads lines, queues them as requests, helps the
/// engine to decode, and emits finished lines in order.
class TranslationJob final : public ResultSink {
 public:
  TranslationJob(LoadedModel& open, Engine& engine, const LineSource& next, const TranslateOptions& options,
                 const TranslatedLineReceiver& emit);
  /// Returns when all lines have been emitted. Rethrows an exception of the source, of the receiver or of a
  /// translation.
  void run();

  void done(size_t index, const DecodeWorkspace& workspace, std::vector<Hypothesis> best_first) override;
  void failed(size_t index, std::exception_ptr error) noexcept override;

 private:
  /// Keeps the steps of a search.
  class SearchRecord final : public SearchObserver {
   public:
    SearchRecord(const Tokenizer& tokenizer, int beam_size) : tokenizer_(tokenizer), beam_size_(beam_size) {}
    void see(std::span<const SearchCandidate> candidates) override;
    SearchSteps take() { return std::move(steps_); }

   private:
    const Tokenizer& tokenizer_;
    const int beam_size_;
    std::vector<int> continued_;  // places of the hypotheses that went on in the last step
    SearchSteps steps_;
  };
  /// What is asked of a line.
  struct Wanted {
    std::vector<int32_t> ids;  // of the source
    std::string text;          // of the source, if details need it
    EncodedConstraints constraints;
    std::shared_ptr<SearchRecord> search;  // null: the search is not observed
  };
  /// A line that has been read and not emitted yet.
  struct Entry {
    TranslatedLine line;  // without translations until it is done
    Wanted wanted;
  };
  void work();
  void read_ahead();
  bool read(bool wait);
  /// The next line, in messages.
  std::string place() const;
  EncodedConstraints constraints_of(const std::string& source) const;
  void count_unknown(const EncodedLine& line) const;
  Wanted encode(TranslatedLine& line);
  void submit(Entry entry);
  void emit_ready();
  bool has_requests();
  std::vector<Translation> translations(const DecodeWorkspace& workspace, const Wanted& wanted,
                                        const std::vector<Hypothesis>& best_first) const;

  LoadedModel& open_;
  Engine& engine_;
  const LineSource& next_line_;
  const TranslateOptions& options_;
  const TranslatedLineReceiver& emit_;
  Engine::Client client_;
  std::string language_token_;
  int prefix_;  // number of tokens added before each source: 1 for a language token, else 0
  std::shared_ptr<const Shortlist> shortlist_;
  std::stop_source stop_;
  SearchOptions how_;
  BeamRequests requests_;
  size_t read_ = 0, out_ = 0;  // numbers of lines read and emitted
  bool ended_ = false;
  std::exception_ptr input_error_;

  std::mutex mutex_;           // guards all members below
  std::deque<Entry> entries_;  // lines from out_ on; only the calling thread adds and removes entries
  size_t requested_ = 0;       // number of requests that are not completed
  std::exception_ptr error_;
};

}  // namespace sixfold
