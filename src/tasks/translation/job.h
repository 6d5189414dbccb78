#pragma once
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/model_runtime.h"
#include "runtime/request_group.h"
#include "runtime/search.h"
#include "tasks/translation/output_constraints.h"
#include "tasks/translation/source.h"
#include "tasks/translation/translation.h"

namespace sixfold {

/// The translation of a stream of lines. The calling thread reads lines, queues them as requests, helps the
/// engine to decode, and emits finished lines in order.
class TranslationJob final : public RequestGroup {
 public:
  /// The shortlist is null if all tokens are allowed; it outlives the job, as the others do.
  TranslationJob(ModelRuntime& model, const SourceEncoder& encoder, const Shortlist* shortlist,
                 const LineSource& next, const TranslateOptions& options, const TranslatedLineReceiver& emit);
  /// Returns when all lines have been emitted. Rethrows an exception of the source, of the receiver or of a
  /// translation.
  void run();

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
    std::string text;          // of the source
    EncodedConstraints constraints;
    std::shared_ptr<SearchRecord> search;  // null: the search is not observed
  };
  /// A line that has been read and not emitted yet.
  struct Entry {
    TranslatedLine line;  // without translations until it is done
    Wanted wanted;
    std::vector<Translation> first;  // those that have faults, until the source has been translated again
  };
  /// A way to search.
  struct Search {
    Search(ModelRuntime& model, const SearchOptions& options) : how(options), requests(model.config(), how) {}
    SearchOptions how;
    SearchRequests requests;
  };
  static std::optional<Search> retry_search(ModelRuntime& model, const TranslateOptions& options,
                                            const PairLayout& layout, const Shortlist* shortlist);
  void complete(size_t index, const DecodeWorkspace& workspace, std::vector<Hypothesis> best_first) override;
  void work();
  void read_ahead();
  bool read(bool wait);
  /// A line by its index, in messages.
  std::string place(size_t line) const;
  EncodedConstraints constraints_of(const std::string& source) const;
  EncodedLine encoded_line(const std::string& line) const;
  void count_unknown(const EncodedLine& line) const;
  Wanted encode(TranslatedLine& line);
  std::unique_ptr<Request> request_for(const Search& search, Wanted& wanted, size_t index);
  void take(Entry entry);
  void emit_ready();
  void count(const TranslatedLine& line) const;
  /// Those that are returned.
  std::vector<Hypothesis> chosen(std::vector<Hypothesis> best_first) const;
  std::vector<Translation> translations(const Search& search, const DecodeWorkspace& workspace,
                                        const Wanted& wanted, const std::vector<Hypothesis>& best_first) const;

  ModelRuntime& model_;
  const LineSource& next_line_;
  const TranslateOptions& options_;
  const TranslatedLineReceiver& emit_;
  const SourceEncoder& encoder_;
  const Search search_;
  const std::optional<Search> retry_;     // for sources whose translation has faults
  const std::vector<double> confidence_;  // `confidence_weights`, if they are needed
  size_t read_ = 0, out_ = 0;             // numbers of lines read and emitted
  bool ended_ = false;
  std::exception_ptr input_error_;

  std::mutex mutex_;           // guards the entries
  std::deque<Entry> entries_;  // lines from out_ on; only the calling thread adds and removes entries
};

}  // namespace sixfold
