#include "data/file_stamps.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "data/lines.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> paths_of(const std::vector<CorpusFiles>& texts) {
  std::vector<std::string> paths;
  for (const CorpusFiles& text : texts)
    for (const std::string& path : {text.source, text.target, text.tsv})
      if (!path.empty()) paths.push_back(path);
  for (const auto annotations : {&CorpusFiles::weights, &CorpusFiles::alignments})
    for (const CorpusFiles& text : texts)
      if (!(text.*annotations).empty()) paths.push_back(text.*annotations);
  return paths;
}

/// Standard input is refused even if it is a regular file, since it is read from the current position of its
/// descriptor.
void require_regular_file(const std::string& path) {
  require_readable(path);
  require(path != "/dev/stdin" && fs::is_regular_file(path),
          "{}: is not a regular file; its text is read more than once, so save it to a file first",
          name_of_text(path));
}

}  // namespace

FileStamp stamp_of(const std::string& path) {
  require_regular_file(path);
  const MappedFile file(path);
  return {path, static_cast<int64_t>(file.size()),
          hash_hex({reinterpret_cast<const char*>(file.data()), file.size()})};
}

std::vector<FileStamp> stamps_of(const std::vector<CorpusFiles>& texts) {
  std::vector<FileStamp> stamps;
  for (const std::string& path : paths_of(texts)) stamps.push_back(stamp_of(path));
  return stamps;
}

void require_regular_files(const std::vector<CorpusFiles>& texts) {
  for (const std::string& path : paths_of(texts)) require_regular_file(path);
}

bool same_contents(const std::vector<FileStamp>& a, const std::vector<FileStamp>& b) {
  return std::ranges::equal(
      a, b, [](const FileStamp& x, const FileStamp& y) { return x.bytes == y.bytes && x.hash == y.hash; });
}

std::vector<std::string> changed_files(const std::vector<CorpusFiles>& texts,
                                       const std::vector<FileStamp>& recorded) {
  const std::vector<std::string> paths = paths_of(texts);
  if (paths.size() != recorded.size())
    return {fmt::format("there are {} text files now, but there were {} when the run began", paths.size(),
                        recorded.size())};
  std::vector<std::string> changed;
  for (size_t i = 0; i < paths.size(); ++i) {
    std::error_code ignored;
    if (!fs::is_regular_file(paths[i], ignored)) {
      changed.push_back(
          fmt::format("{}: {}", paths[i],
                      fs::exists(paths[i], ignored) ? "is no longer a regular file" : "no longer exists"));
      continue;
    }
    const FileStamp& then = recorded[i];
    const std::string what =
        paths[i] == then.path ? paths[i] + ": has changed"
                              : fmt::format("{}: differs from {}, which was read before", paths[i], then.path);
    FileStamp now = then;
    try {
      now.bytes = static_cast<int64_t>(fs::file_size(paths[i], ignored));
      if (now.bytes == then.bytes) now = stamp_of(paths[i]);  // hash it only if the size is the same
    } catch (const Error& error) {
      changed.emplace_back(error.what());
      continue;
    }
    if (now.bytes != then.bytes)
      changed.push_back(fmt::format("{} ({} bytes, formerly {})", what, now.bytes, then.bytes));
    else if (now.hash != then.hash)
      changed.push_back(fmt::format("{} ({} bytes with hash {}, formerly {} with {})", what, now.bytes,
                                    now.hash.substr(0, 8), then.bytes, then.hash.substr(0, 8)));
  }
  return changed;
}

std::string to_json_text(const std::vector<FileStamp>& files) {
  auto list = nlohmann::ordered_json::array();
  for (const FileStamp& file : files)
    list.push_back({{"path", file.path}, {"bytes", file.bytes}, {"hash", file.hash}});
  return list.dump();
}

std::vector<FileStamp> parse_file_stamps(const std::string& json, const std::string& where) {
  const auto list = parse_json(json, where);
  require(list.is_array(), "{}: the list of files is missing", where);
  std::vector<FileStamp> files;
  for (const auto& entry : list) {
    const JsonObject object(entry, where);
    FileStamp& file = files.emplace_back();
    object.read("path", file.path);
    object.read("bytes", file.bytes);
    object.read("hash", file.hash);
  }
  return files;
}

}  // namespace sixfold
