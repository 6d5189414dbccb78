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
  std::string settings = {};               ///< kept in the record: what the text was encoded by
  std::string expected_hash = {};          ///< of the ids, where they are known
  const std::atomic<int>* stop = nullptr;  ///< when it turns nonzero, `Cancelled` is thrown
};

/// What a folder of encoded text holds besides its ids.
struct TokenStoreRecord {
  std::vector<FileStamp> files;  ///< of the text, in order
  std::vector<int64_t> pairs;    ///< kept of each text
  CorpusReport report;
  std::string hash;      ///< of all ids: what a run depends on
  std::string settings;  ///< as they were given
};

/// Whether the folder of a store has a file of this name.
bool is_token_store_file(std::string_view name);

/// Encodes texts once, into a folder that is then mapped instead of being read: text of any size takes a few MB
/// of memory. The tokenizers are kept beside the ids. The folder appears whole or not at all; where it is
/// there, the files of a store are replaced. Throws as `PairReader`, when nothing is left, for ids other than
/// those expected (before anything is replaced), and for text that is no regular file (it is read twice, and
/// again to see whether it changed).
TokenStoreRecord write_token_store(const std::string& folder, const std::vector<CorpusFiles>& texts,
                                   const Tokenizers& tokenizers, const TokenStoreOptions& options);

/// What was written there. Throws an input error for a folder that is none or is damaged.
TokenStoreRecord read_token_store_record(const std::string& folder);
/// Throws an input error where the ids are not those that were written.
void verify_token_store(const std::string& folder, const TokenStoreRecord& record);
/// The corpus, mapped; its `mixture` has the given weights, or 1 each.
TokenCorpus map_token_store(const std::string& folder, const std::vector<double>& weights);

}  // namespace sixfold
