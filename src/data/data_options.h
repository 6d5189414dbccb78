#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/options.h"
#include "data/lines.h"

namespace sixfold {

/// What becomes of a pair that occurred earlier in the text.
enum class Repeats { keep, drop };

template <>
struct EnumNames<Repeats> {
  static constexpr std::pair<Repeats, std::string_view> names[] = {{Repeats::keep, "keep"},
                                                                   {Repeats::drop, "drop"}};
};

/// Which text to read, and how it becomes batches.
struct DataOptions {
  std::vector<std::string>
      train;  ///< a source and a target file in turn, or .tsv files of both; each may be .gz
  std::vector<std::string> valid;
  InvalidUtf8 invalid_utf8 = InvalidUtf8::error;
  std::vector<double> weights;
  int max_length = 256;
  double max_ratio = 0;
  Repeats repeats = Repeats::keep;
  int batch_tokens = 8192;
  int micro_batch_tokens = 4096;
  bool shuffle = true;
};

template <class Visitor>
void visit(Visitor& v, DataOptions& o) {
  v.field("train", o.train,
          "text to train on: source and target files in turn, or .tsv files; any may be gzipped");
  v.field("valid", o.valid, "text for validation, given in the same way; none: no validation");
  v.field("weights", o.weights, "for each text of train, how often an epoch uses each of its pairs; none: once",
          at_least(0));
  v.field("invalid_utf8", o.invalid_utf8, "lines that are not valid UTF-8: error, replace or skip");
  v.field("max_length", o.max_length, "leave out pairs with more tokens than this on a side", at_least(1));
  v.field("max_ratio", o.max_ratio,
          "leave out pairs with one side so many times as long as the other; 0: no limit", at_least(0));
  v.field("repeats", o.repeats, "pairs that already occurred earlier in the text: keep or drop");
  v.field("batch_tokens", o.batch_tokens, "most source and target tokens of a batch", at_least(1));
  v.field("micro_batch_tokens", o.micro_batch_tokens,
          "process a batch in parts of at most this many tokens, to save memory; 0: whole", at_least(0));
  v.field("shuffle", o.shuffle, "put the pairs into a new random order in each epoch");
}

}  // namespace sixfold
