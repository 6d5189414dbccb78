#pragma once
#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/check/finding.h"
#include "data/check/pair_faults.h"
#include "data/corpus.h"
#include "text/tokenizers.h"

// Checks of data before a training, by kind of data. Files that are not regular are refused, as training
// refuses them (`require_regular_files`).

namespace sixfold {

/// What is to be checked before a translation model is trained.
struct ParallelCheck {
  std::vector<CorpusFiles> train, valid, test;
  InvalidUtf8 invalid = InvalidUtf8::error;
  PairLanguages languages;    ///< the declared languages; others are taken from names such as train.en
  bool is_direction = false;  ///< whether the texts are those of one of several directions (data.languages)
  std::optional<Tokenizers> tokenizers;  ///< the tokenizers of the model, if they exist already
  bool drops_repeats = false;            ///< whether training drops repeated pairs
  /// Training drops pairs in which one side has more than this many times the tokens of the other; 0: no limit.
  double max_ratio = 0;
  int max_length = 0;                      ///< training drops pairs with more tokens on a side; 0: no limit
  const std::atomic<int>* stop = nullptr;  ///< when it becomes nonzero, `Cancelled` is thrown
};

/// Reads the texts, at most the first 2 million pairs of the training text, and returns the problems that the
/// user should examine. All pairs are compared with each other by hashes. Slower checks use a sample of up to
/// 20,000 pairs, which is a function of the text. Statistics of fewer than 100 pairs are not reliable and are
/// left out. Throws as `PairReader`.
std::vector<Finding> check_parallel(const ParallelCheck& check);

/// Throws an input error if the weights of classes do not fit these labels, which have so many samples.
using ClassWeighing =
    std::function<void(const std::vector<std::string>& labels, const std::vector<int64_t>& counts)>;

/// What is to be checked before a classifier of texts is trained: files as `LabelledReader` reads them.
struct LabelledCheck {
  std::vector<std::string> train, valid, test;
  InvalidUtf8 invalid = InvalidUtf8::error;
  ClassWeighing weigh = {};                ///< null: classes have no weights, so that rare ones are neglected
  int max_tokens = 0;                      ///< a model reads at most so many tokens of a text; 0: no limit
  const std::atomic<int>* stop = nullptr;  ///< when it becomes nonzero, `Cancelled` is thrown
};

/// As `check_parallel`, for texts with labels. Throws as `LabelledReader`.
std::vector<Finding> check_labelled(const LabelledCheck& check);

/// What is to be checked before a classifier of images is trained: pairs of files of images and labels. Each
/// image is read.
struct ImageCheck {
  std::vector<std::string> train, valid, test;
  std::vector<std::string> names;  ///< the names of the numbers in IDX files
  ClassWeighing weigh = {};        ///< as in `LabelledCheck`
  const std::atomic<int>* stop = nullptr;
};

/// Finds images of other sizes than the first, damaged ones, and what is wrong with the labels. Throws as
/// `ImageReader` and `LabelReader`.
std::vector<Finding> check_images(const ImageCheck& check);
/// As `check_images`, for pairs of files of images and captions.
std::vector<Finding> check_captions(const ImageCheck& check);

/// What is to be checked before a model is trained on text without labels. Each line is a text.
struct TextCheck {
  std::vector<std::string> train, valid, test;
  InvalidUtf8 invalid = InvalidUtf8::error;
  const std::atomic<int>* stop = nullptr;
};

/// Checks each line as a text. Throws as `LineReader`.
std::vector<Finding> check_text(const TextCheck& check);
/// As `check_text`, for the texts of files that `QuestionReader` reads. Throws as `QuestionReader`.
std::vector<Finding> check_questions(const TextCheck& check);

}  // namespace sixfold
