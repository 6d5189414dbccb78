#pragma once
#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "data/document_reader.h"
#include "data/file_stamps.h"
#include "data/token_corpus.h"

namespace sixfold {

/// The text files of a language model.
struct DocumentFiles {
  std::vector<std::string> training, validation;
};

struct DocumentStoreOptions {
  TextUnit unit = TextUnit::stream;
  InvalidUtf8 invalid = InvalidUtf8::error;
  int threads = 1;                         ///< does not affect the result
  std::string settings = {};               ///< stored in the record: the settings by which the text was encoded
  std::string expected_training = {};      ///< expected hash of the ids of the training text; empty: any
  std::string expected_validation = {};    ///< the same of the validation text
  const std::atomic<int>* stop = nullptr;  ///< if it becomes nonzero, `Cancelled` is thrown
};

/// What a folder of encoded text contains.
struct DocumentStoreRecord {
  struct Part {
    int64_t documents = 0, tokens = 0, bytes = 0;
    int64_t unknown = 0;           ///< tokens that are not in the vocabulary
    std::string hash;              ///< of the ids; empty if there is no text
    std::vector<FileStamp> files;  ///< of the text
  };
  Part training, validation;
  std::string settings;   ///< those of `DocumentStoreOptions`
  std::string tokenizer;  ///< hash of the tokenizer, whose file is in the folder too
};

/// Whether folders of encoded text have files of this name.
bool is_document_store_file(std::string_view name);

/// Encodes texts into a folder that can be mapped into memory. It is written atomically; if it exists, its
/// files are replaced. Throws as `DocumentReader`, and throws an input error if there is no text, if the ids do
/// not have the expected hashes (before anything is replaced), or if a file is not a regular one, since it is
/// read more than once.
DocumentStoreRecord write_document_store(const std::string& folder, const DocumentFiles& files,
                                         const Tokenizers& tokenizers, const DocumentStoreOptions& options);

/// Reads the record of a folder. Throws an input error if it is damaged or not a folder of encoded texts.
DocumentStoreRecord read_document_store_record(const std::string& folder);
/// Parses the file of a record, whose name is `path`.
DocumentStoreRecord parse_document_store_record(const std::string& json, const std::string& path);
/// Throws an input error if the ids or the tokenizer do not have the hashes in the record.
void verify_document_store(const std::string& folder, const DocumentStoreRecord& record);
/// Maps the training texts, or the validation texts: a sequence of ids for each.
IdSequences map_documents(const std::string& folder, bool validation);

/// The texts of files, for `changed_files` and `require_regular_files`.
std::vector<CorpusFiles> single_files(const std::vector<std::string>& paths);

}  // namespace sixfold
