#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/lines.h"

namespace sixfold {

/// A right answer to a question: a part of its text.
struct RightAnswer {
  std::string text;
  size_t begin = 0;  ///< index of its first byte in the text
};

struct PassageQuestion {
  std::string id;  ///< the id in a SQuAD file; empty for a question of a line
  std::string text;
  std::vector<RightAnswer> answers;
  std::string place;  ///< for messages: "train.tsv:7", "dev.json: data[0].paragraphs[1].qas[2]"
};

/// A text, with questions about it.
struct Passage {
  std::string text;
  std::vector<PassageQuestion> questions;
};

/// Whether questions must have answers.
enum class RightAnswers { required, optional };

/// Whether a file is read as JSON of SQuAD, because its name ends in .json or .json.gz.
bool is_squad_file(std::string_view path);

/// Reads the JSON of SQuAD 1.1 (Rajpurkar et al. 2016): `data`, with `paragraphs`, with a `context` and `qas`.
/// Throws an input error that names `path` and the place if the text is not valid JSON, or has not this form;
/// if an `id` occurs twice; if a question has no answer, is marked as impossible, or has one that is not in its
/// context at `answer_start`, which counts code points; and, unless invalid characters are replaced, if a text
/// has some: JSON has no lines that could be skipped.
std::vector<Passage> parse_squad(std::string_view json, const std::string& path, RightAnswers answers,
                                 InvalidUtf8 invalid = InvalidUtf8::error);
/// The same for a file, which may be gzipped. What is not valid text is named by line and byte.
std::vector<Passage> read_squad(const std::string& path, RightAnswers answers,
                                InvalidUtf8 invalid = InvalidUtf8::error);

/// Reads questions with answers from files: lines of a text, a tab, a question, a tab and an answer, or JSON of
/// SQuAD. The answer of a line is its first occurrence in the text. Successive lines with the same text are
/// questions about one text; blank lines are skipped. Each file may be gzipped.
class QuestionReader {
 public:
  /// Checks that all files exist and may be read, before any is read. Throws as `require_readable`.
  QuestionReader(std::vector<std::string> files, InvalidUtf8 invalid);

  /// Reads the next text with its questions. Returns false at the end of the last file. Throws an input error
  /// that names file and line if a line has not two tabs, or an answer is not in its text; and as `make_valid`
  /// and `parse_squad`.
  bool next(Passage& text);

  int64_t bytes() const { return bytes_; }  ///< of the texts and questions that were returned

 private:
  bool next_line(std::string& line);
  std::optional<Passage> next_of_lines();
  bool open_file();

  std::vector<std::string> files_;
  InvalidUtf8 invalid_;
  size_t file_ = 0;
  std::unique_ptr<LineReader> lines_;    // the file of lines that is being read
  std::optional<Passage> next_passage_;  // the passage that begins with the line that was read last
  std::vector<Passage> squad_;           // the passages of a JSON file
  size_t next_of_squad_ = 0;
  int64_t bytes_ = 0;
};

/// A text in the form that tokenizers read: each line end and tab is replaced by a space, so that byte indices
/// stay the same.
std::string without_line_ends(std::string text);

}  // namespace sixfold
