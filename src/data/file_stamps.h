#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "data/corpus.h"

namespace sixfold {

/// The name, size and hash of a text file when it was read.
struct FileStamp {
  std::string path;
  int64_t bytes = 0;
  std::string hash;  ///< `hash_hex` of its bytes
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

/// The stamp of a file as it is now. Throws an input error if it can't be read or is not a regular file.
FileStamp stamp_of(const std::string& path);
/// The stamps of all files of the texts, in order, and then of their weights and their alignments.
std::vector<FileStamp> stamps_of(const std::vector<CorpusFiles>& texts);

/// Throws an input error if a file can't be read or is not a regular file: training reads its text more than
/// once.
void require_regular_files(const std::vector<CorpusFiles>& texts);

/// Whether the files have the same contents; their names may differ.
bool same_contents(const std::vector<FileStamp>& a, const std::vector<FileStamp>& b);
/// Describes the files that are missing or differ from `recorded`, in one line each.
std::vector<std::string> changed_files(const std::vector<CorpusFiles>& texts,
                                       const std::vector<FileStamp>& recorded);

/// Convert stamps to a list of JSON objects and back. Parsing throws an input error that begins with `where`.
std::string to_json_text(const std::vector<FileStamp>& files);
std::vector<FileStamp> parse_file_stamps(const std::string& json, const std::string& where);

}  // namespace sixfold
