#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_unit.h"
#include "data/document_reader.h"
#include "data/sequence_store.h"
#include "tasks/kit/task_config.h"
#include "text/sentence_piece.h"

namespace sixfold {

/// Describes the text, or the other sequences, of a run, and how to encode them.
struct TextRequest {
  DataFiles files;
  std::optional<TokenizerOptions> tokenizer;  ///< nothing: the data has no text
  std::string tokenizers_from;                ///< `TrainingGroups::tokenizers_from`
  TextSide side = TextSide::source;           ///< the side of the tokenizer that encodes the text
  std::string settings;                       ///< describes everything else that determines the encoded text
  /// Returns a reader of the training text, to train a tokenizer on.
  std::function<TextReader()> training_text = {};
  /// Returns the names of numbers in the sequences, such as labels; empty: there are none.
  std::function<std::vector<std::string>()> names = {};
  /// Returns the function that encodes files. There are no tokenizers if the data has no text.
  std::function<EncodeFiles(const Tokenizers& tokenizers, const std::vector<std::string>& names)> encode;
};

/// The text of a run, encoded in its folder (`encoded_data_of`).
struct StoredText {
  Tokenizers tokenizers;  ///< with one vocabulary; empty if the data has no text
  SequenceStoreRecord record;
};

/// Trains or loads the tokenizer and encodes the text, unless the run's folder already has the encoded text. A
/// resumed run uses the stored text, and warns if the original files have changed or are missing. A run that
/// starts again with the same text and settings uses the stored text too. Logs the numbers of texts and tokens.
/// Throws an input error if files are missing or malformed, or are not those of the resumed run.
StoredText read_stored_text(const TaskStart& start, const TextRequest& request);

/// Text without labels, and the options of batching.
struct TextDataOptions : BatchOptions {
  std::vector<std::string> train, valid, test;
  InvalidUtf8 invalid_utf8 = InvalidUtf8::error;
  TextUnit unit = TextUnit::stream;
  int block_tokens = 256;
};

inline void visit(OptionVisitor& v, TextDataOptions& o) {
  v.field("train", o.train, "files of training text; each may be gzipped");
  v.field("valid", o.valid, "files of validation text; empty: no validation");
  v.field("test", o.test, "files of test text, which is only compared with the others by sixfold check");
  v.field("invalid_utf8", o.invalid_utf8,
          "what to do with lines that are not valid UTF-8: error, replace (with U+FFFD) or skip");
  v.field("unit", o.unit,
          "what is one text: stream (a file, cut into blocks anywhere), file, paragraph (blank lines separate "
          "them) or line");
  v.field("block_tokens", o.block_tokens,
          "number of tokens that the model reads at once, in training and later", between(2, 1 << 20));
  visit(v, static_cast<BatchOptions&>(o));
}

/// `read_stored_text` for text without labels. `side`: the side of the tokenizer with which the model will
/// encode texts.
StoredText read_stored_documents(const TaskStart& start, const TextDataOptions& data,
                                 const TokenizerOptions& tokenizer, const std::string& tokenizers_from,
                                 TextSide side);

/// `check_text` for text without labels.
std::vector<Finding> check_documents(const TextDataOptions& data, const std::atomic<int>* stop);

/// Returns the JSON object of `Task::history`: the number of texts, and the files.
std::string history_of(const SequenceStoreRecord& record);

}  // namespace sixfold
