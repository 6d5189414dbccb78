#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/folder_mark.h"
#include "text/glossary.h"

namespace sixfold::serve {

/// A glossary of a client.
struct StoredGlossary {
  std::string id;  ///< a `random_name`
  std::string name;
  std::string source, target;  ///< languages
  std::string created;         ///< "2026-01-31T12:00:00.000000Z"
  std::string owner;           ///< a hash of the API key of the client to whom it belongs
  std::shared_ptr<const Glossary> glossary;
};

struct GlossaryLimits {
  size_t max_count = 100;       ///< number of glossaries of a client
  size_t max_bytes = 16 << 20;  ///< size of all glossaries of a client
  static constexpr size_t max_name_bytes = 1024;
};

/// The glossaries of all clients, in memory and, if there is a folder, as files in it. A client is identified
/// by its API key, and has access only to its own glossaries. Safe to share between threads.
class Glossaries {
 public:
  /// Reads the glossaries in a folder, which is created if it does not exist; an empty path: glossaries are
  /// kept in memory only. Throws an input error if a file is damaged, which it names, or if another server uses
  /// the folder.
  Glossaries(const std::string& folder, const GlossaryLimits& limits);

  /// Adds a glossary and returns it with its id, date and owner. Throws an `HttpError`: 400 if the name is
  /// empty or too long, 456 if the client exceeds a limit. Throws an environment error if the file can't be
  /// written.
  StoredGlossary add(const std::string& key, StoredGlossary glossary);
  /// The glossaries of a client, the oldest first.
  std::vector<StoredGlossary> all(const std::string& key) const;
  /// Throws an `HttpError` (404) if the client has no such glossary.
  StoredGlossary find(const std::string& key, const std::string& id) const;
  void remove(const std::string& key, const std::string& id);

 private:
  void load();
  std::string path_of(const std::string& id) const;

  const std::string folder_;
  const GlossaryLimits limits_;
  std::optional<FolderMark> mark_;
  mutable std::mutex mutex_;
  std::map<std::string, StoredGlossary> all_;  // by id
};

}  // namespace sixfold::serve
