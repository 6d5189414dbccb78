#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "data/corpus.h"
#include "data/epoch_order.h"
#include "text/tokenizers.h"

namespace sixfold {

/// Many sequences of ids in one piece of memory, or in files that are mapped.
class IdSequences {
 public:
  IdSequences() = default;
  /// What `TokenStoreWriter` wrote to two files. Throws an input error where they don't fit together.
  static IdSequences map(const std::string& ids_path, const std::string& offsets_path);

  int64_t size() const { return std::ssize(offsets()) - 1; }
  std::span<const int32_t> operator[](int64_t i) const {
    const auto bounds = offsets().subspan(static_cast<size_t>(i), 2);
    return ids().subspan(static_cast<size_t>(bounds[0]), static_cast<size_t>(bounds[1] - bounds[0]));
  }
  int64_t total_length() const { return offsets().back(); }

  /// To what is in memory.
  void add(std::span<const int32_t> sequence);
  void add_all(const IdSequences& other);

 private:
  struct Mapped {
    MappedFile ids, offsets;
  };
  std::span<const int32_t> ids() const;
  std::span<const int64_t> offsets() const;

  std::vector<int32_t> ids_;
  std::vector<int64_t> offsets_{0};
  std::shared_ptr<const Mapped> mapped_;  ///< none: what is in memory
};

/// A corpus as ids.
struct TokenCorpus {
  IdSequences source;  ///< pieces and end symbol
  IdSequences target;  ///< pieces alone; the batcher adds start and end symbol
  int32_t target_eos = 0;
  std::vector<EpochOrder::Part> mixture =
      {};  ///< the corpora that it is made of, one after the other; none: one

  int64_t size() const { return source.size(); }
  std::vector<EpochOrder::Part> parts() const {
    return mixture.empty() ? std::vector<EpochOrder::Part>{{size(), 1}} : mixture;
  }
  /// What pair `i` counts in a batch: its source and its target, both with the end symbol.
  int64_t tokens(int64_t i) const { return static_cast<int64_t>(source[i].size() + target[i].size()) + 1; }
  int64_t source_tokens() const { return source.total_length(); }
  /// With the end symbols.
  int64_t target_tokens() const { return target.total_length() + size(); }
};

struct EncodeOptions {
  int max_length =
      0;  ///< pairs with more pieces on a side, end symbol not counted, are dropped; 0 for no limit
  double max_ratio = 0;  ///< as are those with so many times more pieces on one side than on the other; 0: none
  int threads = 1;       ///< changes nothing in the result
};

/// Encodes pairs, in their order, and hands them to `take`: the source with its end symbol, the target without.
/// Those that are dropped are counted in `report`, the others measured. `next` gives the text, false at the
/// end. A few thousand pairs are in memory at a time.
void encode_pairs(
    const std::function<bool(std::string& source, std::string& target)>& next, const Tokenizers& tokenizers,
    const EncodeOptions& options, CorpusReport& report,
    const std::function<void(std::span<const int32_t> source, std::span<const int32_t> target)>& take);

/// Encodes all pairs. Throws when none is left.
TokenCorpus encode_corpus(const ParallelText& text, const Tokenizers& tokenizers, const EncodeOptions& options,
                          CorpusReport& report);

}  // namespace sixfold
