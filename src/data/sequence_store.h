#pragma once
#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "data/file_stamps.h"
#include "data/sequence_writer.h"
#include "data/token_corpus.h"

namespace sixfold {

/// The files of the data of a run.
struct DataFiles {
  std::vector<std::string> training, validation;
};

struct SequenceStoreOptions {
  std::string settings = {};  ///< stored in the record: the settings by which data was encoded
  /// Stored in the record: the names of the numbers in the sequences, such as labels.
  std::vector<std::string> names = {};
  std::string expected_training = {};      ///< expected hash of the training sequences; empty: any
  std::string expected_validation = {};    ///< expected hash of the validation sequences; empty: any
  const std::atomic<int>* stop = nullptr;  ///< if it becomes nonzero, `Cancelled` is thrown
};

/// What a folder of encoded data contains.
struct SequenceStoreRecord {
  struct Part {
    int64_t documents = 0, tokens = 0, bytes = 0;  ///< sequences, tokens of text, bytes of text
    int64_t unknown = 0;                           ///< tokens that are not in the vocabulary
    std::string hash;                              ///< of the sequences; empty if there are none
    std::vector<FileStamp> files;                  ///< the files that were encoded
  };
  Part training, validation;
  std::string settings;            ///< those of `SequenceStoreOptions`
  std::vector<std::string> names;  ///< those of `SequenceStoreOptions`: the labels of a classifier
  std::string tokenizer;           ///< hash of the tokenizer, whose file is in the folder too; empty: none
};

/// Receives the sequences of a part, one after the other.
class SequenceSink {
 public:
  /// The tokenizer, which may be null, counts the tokens that it does not know.
  SequenceSink(SequenceWriter& writer, SequenceStoreRecord::Part& part, const Tokenizer* tokenizer,
               const std::atomic<int>* stop)
      : writer_(writer), part_(part), tokenizer_(tokenizer), stop_(stop) {}

  /// Appends tokens of text to the current sequence. Throws `Cancelled` if the run is to stop.
  void append(std::span<const int32_t> tokens);
  /// Appends numbers that are not tokens, such as that of a label or the values of an image.
  void append_numbers(std::span<const int32_t> numbers);
  void append_number(int32_t number) { append_numbers({&number, 1}); }
  /// Ends the sequence.
  void end();

 private:
  SequenceWriter& writer_;
  SequenceStoreRecord::Part& part_;
  const Tokenizer* tokenizer_;
  const std::atomic<int>* stop_;
};

/// Reads files and passes their sequences to `sink`. Returns the number of bytes of text.
using EncodeFiles = std::function<int64_t(const std::vector<std::string>& files, SequenceSink& sink)>;

/// Whether a folder of encoded data has a file of this name.
bool is_sequence_store_file(std::string_view name);

/// Encodes files into a folder that can be mapped into memory. Data without text has no tokenizers. The folder
/// is written atomically; if it exists, its files are replaced. Throws as `encode`, and throws an input error
/// if there is no text, if the sequences do not have the expected hashes (before anything is replaced), or if a
/// file is not a regular one, since it is read more than once.
SequenceStoreRecord write_sequence_store(const std::string& folder, const DataFiles& files,
                                         const Tokenizers& tokenizers, const SequenceStoreOptions& options,
                                         const EncodeFiles& encode);

/// Reads the record of a folder. Throws an input error if it is damaged or not a folder of encoded data.
SequenceStoreRecord read_sequence_store_record(const std::string& folder);
/// Whether the folder has a record.
bool has_sequence_store_record(const std::string& folder);
/// Parses the file of a record, whose name is `path`.
SequenceStoreRecord parse_sequence_store_record(const std::string& json, const std::string& path);
/// Throws an input error if the sequences or the tokenizer do not have the hashes in the record.
void verify_sequence_store(const std::string& folder, const SequenceStoreRecord& record);
/// Maps the sequences of the training data, or of the validation data.
IdSequences map_sequences(const std::string& folder, bool validation);

/// The texts of files, for `changed_files` and `require_regular_files`.
std::vector<CorpusFiles> single_files(const std::vector<std::string>& paths);

}  // namespace sixfold
