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
#include "tasks/translation/line_case.h"
#include "tasks/translation/output_constraints.h"
#include "tasks/translation/paragraphs.h"
#include "tasks/translation/source.h"
#include "tasks/translation/translation.h"

namespace sixfold {

/// The translation of a stream of lines. The calling thread reads lines, queues them as requests, helps the
/// engine to decode, and emits finished lines in order.
class TranslationJob final : public RequestGroup {
 public:
  /// `shortlist`: null if all tokens are allowed. `keeps_symbols`: the value of
  /// `TranslateOptions::keep_symbols`, or its default. `paragraphs`: the lines that `next` splits into
  /// sentences; null if it reads lines as they are. All arguments must outlive the job.
  TranslationJob(ModelRuntime& model, const SourceEncoder& encoder, const Shortlist* shortlist,
                 const LineSource& next, const TranslateOptions& options, bool keeps_symbols,
                 const TranslatedLineReceiver& emit, const Paragraphs* paragraphs);
  /// Returns when all lines have been emitted. Rethrows an exception of `next`, of `emit` or of a
  /// translation.
  void run();

 private:
  /// Records the steps of a search.
  class SearchRecord final : public SearchObserver {
   public:
    SearchRecord(const Tokenizer& tokenizer, int beam_size) : tokenizer_(tokenizer), beam_size_(beam_size) {}
    void see(std::span<const SearchCandidate> candidates) override;
    SearchSteps take() { return std::move(steps_); }

   private:
    const Tokenizer& tokenizer_;
    const int beam_size_;
    std::vector<int> continued_;  // indices, in the last step, of its hypotheses that continue
    SearchSteps steps_;
  };
  /// The input of the search for a line.
  struct SearchInput {
    std::vector<int32_t> ids;                 // of the source
    std::string text;                         // of the source
    std::optional<LetterCase> capitals = {};  // how the translation is written in capitals, if it is
    EncodedConstraints constraints;
    std::shared_ptr<SearchRecord> record;  // null: the steps are not recorded
  };
  /// A line that has been read and has not been emitted yet.
  struct Entry {
    TranslatedLine line;  // without translations until it is done
    SearchInput input;
    std::vector<Translation> first;  // the faulty translations, while the source is translated again
  };
  /// The options of a search, and what makes requests with them.
  struct Search {
    Search(ModelRuntime& model, const SearchOptions& search_options)
        : options(search_options), requests(model.config(), options) {}
    SearchOptions options;
    SearchRequests requests;
  };
  static std::optional<Search> retry_search(ModelRuntime& model, const TranslateOptions& options,
                                            const PairLayout& layout, const Shortlist* shortlist);
  void complete(size_t index, const DecodeWorkspace& workspace, std::vector<Hypothesis> best_first) override;
  void work();
  void read_ahead();
  bool read(bool wait);
  /// The names in messages of the line that was read last, and of the one that was taken from `entries_` last.
  std::string last_read() const;
  std::string last_emitted() const;
  std::string kept_words(const std::string& source, const std::string& input, const EncodedLine& kept) const;
  EncodedConstraints constraints_of(const std::string& source, const std::string& input,
                                    const EncodedLine& kept) const;
  EncodedLine encoded_line(const std::string& line) const;
  void count_unknown(const EncodedLine& line) const;
  SearchInput encode(TranslatedLine& line);
  std::unique_ptr<Request> request_for(const Search& search, SearchInput& input, size_t index);
  void add(Entry entry);
  void emit_ready();
  void count(const TranslatedLine& line) const;
  /// The hypotheses to return: all, or those with the least risk (`TranslateOptions::mbr`).
  std::vector<Hypothesis> select(std::vector<Hypothesis> best_first) const;
  std::vector<Translation> translations(const Search& search, const DecodeWorkspace& workspace,
                                        const SearchInput& input,
                                        const std::vector<Hypothesis>& best_first) const;

  ModelRuntime& model_;
  const LineSource& next_line_;
  const TranslateOptions& options_;
  const TranslatedLineReceiver& emit_;
  const SourceEncoder& encoder_;
  const bool keeps_symbols_;
  const Paragraphs* const paragraphs_;
  LineCase line_case_;
  const Search search_;
  const std::optional<Search> retry_;     // for sources whose translation has faults
  const std::vector<double> confidence_;  // `confidence_weights`, if they are needed
  size_t read_ = 0, emitted_ = 0;         // numbers of lines
  bool ended_ = false;
  std::exception_ptr input_error_;

  std::mutex mutex_;  // guards entries_
  std::deque<Entry>
      entries_;  // of the lines from emitted_ on; only the calling thread adds and removes entries
};

}  // namespace sixfold
