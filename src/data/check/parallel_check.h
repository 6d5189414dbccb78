#pragma once
#include <atomic>
#include <optional>
#include <vector>

#include "data/check/finding.h"
#include "data/check/pair_faults.h"
#include "data/corpus.h"
#include "text/tokenizers.h"

namespace sixfold {

/// What is to be checked before a translation model is trained.
struct ParallelCheck {
  std::vector<CorpusFiles> train, valid, test;
  InvalidUtf8 invalid = InvalidUtf8::error;
  PairLanguages languages;  ///< as they are declared; those not known are taken from names such as train.en
  std::optional<Tokenizers> tokenizers;  ///< of the model, if they are there already
  bool drops_repeats = false;            ///< training leaves out repeated pairs
  double max_ratio = 0;  ///< training drops pairs with more tokens on one side, times; 0: no limit
  int max_length = 0;    ///< training drops pairs with more tokens on a side; 0: no limit
  const std::atomic<int>* stop = nullptr;  ///< when it becomes nonzero, `Cancelled` is thrown
};

/// Reads the texts, at most the first 2 million pairs of the training text, and returns what a person should
/// look at. All pairs are compared with each other by hashes; what takes longer is found in up to 20,000 of
/// them, which are a function of the text. Statistics of fewer than 100 pairs say nothing and are left out.
/// Throws as `PairReader`.
std::vector<Finding> check_parallel(const ParallelCheck& check);

}  // namespace sixfold
