#pragma once
#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "data/corpus.h"
#include "data/file_stamps.h"
#include "data/token_corpus.h"

namespace sixfold {

struct TokenStoreOptions {
  EncodeOptions encode;
  InvalidUtf8 invalid = InvalidUtf8::error;
  bool drop_repeats = false;
  PairAugmentation augmentation = {};
  std::string settings = {};               ///< stored in the record: the settings by which the text was encoded
  std::string expected_hash = {};          ///< expected hash of the ids; empty: any
  const std::atomic<int>* stop = nullptr;  ///< if it becomes nonzero, `Cancelled` is thrown
};

/// The record of a folder of encoded text.
struct TokenStoreRecord {
  std::vector<FileStamp> files;  ///< the text files, in order
  std::vector<int64_t> pairs;    ///< number of pairs kept of each text
  CorpusReport report;
  std::string hash;      ///< hash of all ids, on which a run depends
  std::string settings;  ///< those of `TokenStoreOptions`
  /// Hashes of the tokenizers of both sides with which the text was encoded. Empty in folders of version 0.1.0.
  std::string source_tokenizer, target_tokenizer;
};

/// Whether a folder of encoded text has a file of this name.
bool is_token_store_file(std::string_view name);

/// Encodes texts into a folder that can be mapped into memory, so that text of any size needs only a few MB.
/// The folder also contains the tokenizers. It is written atomically; if it exists, its files are replaced.
/// Throws as `PairReader`, and throws an input error if no pair is left, if the ids do not have the expected
/// hash (before anything is replaced), or if a text is not a regular file, since it is read more than once.
TokenStoreRecord write_token_store(const std::string& folder, const std::vector<CorpusFiles>& texts,
                                   const Tokenizers& tokenizers, const TokenStoreOptions& options);

/// Reads the record of a folder. Throws an input error if it is damaged or not a folder of encoded text.
TokenStoreRecord read_token_store_record(const std::string& folder);
/// Throws an input error if the ids do not have the hash in the record.
void verify_token_store(const std::string& folder, const TokenStoreRecord& record);
/// Loads the tokenizers of a folder. Throws an input error if they are not those of the record.
Tokenizers load_stored_tokenizers(const std::string& folder, const TokenStoreRecord& record);
/// Maps the corpus of a folder. Its `mixture` has the given weights, or 1 for each text if there are none.
TokenCorpus map_token_store(const std::string& folder, const std::vector<double>& weights);

}  // namespace sixfold
