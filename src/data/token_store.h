#pragma once
#include <string>
#include <vector>

#include "data/corpus.h"
#include "data/token_corpus.h"

namespace sixfold {

/// A file of text as it was when it was read.
struct FileStamp {
  std::string path;
  int64_t bytes = 0;
  std::string hash;  ///< of its bytes, as `hash_hex`
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

struct TokenStoreOptions {
  EncodeOptions encode;
  InvalidUtf8 invalid = InvalidUtf8::error;
  bool drop_repeats = false;
};

/// What a folder of encoded text holds besides its ids.
struct TokenStoreRecord {
  std::vector<FileStamp> files;  ///< of the text, in order
  std::vector<int64_t> pairs;    ///< kept of each text
  CorpusReport report;
  std::string hash;  ///< of all ids: what a run depends on
};

/// Encodes texts once, into a folder that is then mapped instead of being read: text of any size takes a few MB
/// of memory. The folder appears whole or not at all; one that is there is replaced. Throws as `PairReader`,
/// when nothing is left, and for text that is no regular file (it is read twice, and again to see whether it
/// changed).
TokenStoreRecord write_token_store(const std::string& folder, const std::vector<CorpusFiles>& texts,
                                   const Tokenizers& tokenizers, const TokenStoreOptions& options);

/// What was written there. Throws an input error for a folder that is none or is damaged.
TokenStoreRecord read_token_store_record(const std::string& folder);
/// The corpus, mapped; its `mixture` has the given weights, or 1 each.
TokenCorpus map_token_store(const std::string& folder, const std::vector<double>& weights);

/// Those of the files that are gone or not what they were, said in a line each.
std::vector<std::string> changed_files(const std::vector<FileStamp>& files);

}  // namespace sixfold
