#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "data/corpus.h"

namespace sixfold {

/// A file of text as it was when it was read.
struct FileStamp {
  std::string path;
  int64_t bytes = 0;
  std::string hash;  ///< of its bytes, as `hash_hex`
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

/// The file as it is now. Throws an input error for one that can't be read, or is not a regular file.
FileStamp stamp_of(const std::string& path);
/// Those of all files of some texts, in order.
std::vector<FileStamp> stamps_of(const std::vector<CorpusFiles>& texts);

/// Throws an input error for a text that can't be read, or is not a regular file: training reads its text
/// twice.
void require_regular_files(const std::vector<CorpusFiles>& texts);

/// Whether the files hold the same, by whatever names.
bool same_contents(const std::vector<FileStamp>& a, const std::vector<FileStamp>& b);
/// What of the texts is gone or not as it was recorded, in a line each.
std::vector<std::string> changed_files(const std::vector<CorpusFiles>& texts,
                                       const std::vector<FileStamp>& recorded);

/// As a list of JSON objects, and back. Throws an input error that begins with `where`.
std::string to_json_text(const std::vector<FileStamp>& files);
std::vector<FileStamp> parse_file_stamps(const std::string& json, const std::string& where);

}  // namespace sixfold
