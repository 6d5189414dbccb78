#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/options.h"
#include "data/lines.h"

namespace sixfold {

/// What becomes of a pair that stands further up as well.
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
  v.field("train", o.train, "pairs of files, source then target, or .tsv files; each may be gzipped");
  v.field("valid", o.valid, "the same for validation; without any there is none");
  v.field("weights", o.weights,
          "one for each text of train: how often each of its pairs comes in an epoch; none: once", at_least(0));
  v.field("invalid_utf8", o.invalid_utf8, "lines that are not valid UTF-8: error, replace or skip");
  v.field("max_length", o.max_length, "pairs with more symbols on a side are left out, and counted",
          at_least(1));
  v.field("max_ratio", o.max_ratio, "as are pairs with so many times more symbols on one side; 0: none",
          at_least(0));
  v.field("repeats", o.repeats, "pairs that stand further up too: keep or drop");
  v.field("batch_tokens", o.batch_tokens, "source and target symbols of a batch", at_least(1));
  v.field("micro_batch_tokens", o.micro_batch_tokens,
          "work through a batch in parts of so many, to save memory; 0: whole", at_least(0));
  v.field("shuffle", o.shuffle, "a new order in each epoch");
}

}  // namespace sixfold
