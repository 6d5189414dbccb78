#pragma once
#include <atomic>
#include <string>
#include <vector>

#include "data/check/finding.h"
#include "data/lines.h"

namespace sixfold {

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
