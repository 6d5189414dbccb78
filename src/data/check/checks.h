#pragma once
#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "data/check/finding.h"
#include "data/check/pair_faults.h"
#include "data/corpus.h"
#include "text/tokenizers.h"

// What is looked at before a training, by kind of data. Files that are not regular files are refused, as the
// training refuses them (`require_regular_files`).

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

/// What is to be checked before a classifier of texts is trained: files as `LabelledReader` reads them.
struct LabelledCheck {
  std::vector<std::string> train, valid, test;
  InvalidUtf8 invalid = InvalidUtf8::error;
  bool weighted = false;                   ///< classes have weights, so that rare ones count
  const std::atomic<int>* stop = nullptr;  ///< when it becomes nonzero, `Cancelled` is thrown
};

/// As `check_parallel`, of texts with labels. Throws as `LabelledReader`.
std::vector<Finding> check_labelled(const LabelledCheck& check);

/// The same before a classifier of images is trained: pairs of files of images and labels. Each image is read.
struct ImageCheck {
  std::vector<std::string> train, valid, test;
  std::vector<std::string> names;  ///< of the numbers in IDX files
  bool weighted = false;           ///< as in `LabelledCheck`
  const std::atomic<int>* stop = nullptr;
};

/// Finds images of other sizes than the first, damaged ones, and what is wrong with the labels. Throws as
/// `ImageReader` and `LabelReader`.
std::vector<Finding> check_images(const ImageCheck& check);
/// The same of pairs of files of images and captions.
std::vector<Finding> check_captions(const ImageCheck& check);

/// The same before a model of text without labels is trained; each line is a text.
struct TextCheck {
  std::vector<std::string> train, valid, test;
  InvalidUtf8 invalid = InvalidUtf8::error;
  const std::atomic<int>* stop = nullptr;
};

/// Throws as `LineReader`.
std::vector<Finding> check_text(const TextCheck& check);
/// The same of the texts of files as `QuestionReader` reads them, and throws as it.
std::vector<Finding> check_questions(const TextCheck& check);

}  // namespace sixfold
