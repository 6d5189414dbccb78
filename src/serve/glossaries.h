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
  std::string id;  ///< nobody can guess it
  std::string name;
  std::string source, target;  ///< languages
  std::string created;         ///< "2026-01-31T12:00:00.000000Z"
  std::string owner;           ///< of the client (`Glossaries`)
  std::shared_ptr<const Glossary> glossary;
};

struct GlossaryLimits {
  size_t max_count = 100;                         ///< glossaries of a client
  size_t max_bytes = 16 << 20;                    ///< of all glossaries of a client
  static constexpr size_t max_name_bytes = 1024;  ///< bytes of a name
};

/// The glossaries of all clients, in memory and, if there is a folder, as files in it. A client, which is an
/// API key, sees its own only. Safe to share between threads.
class Glossaries {
 public:
  /// Reads the glossaries of the folder, which is created if it does not exist; empty: there is none. Throws an
  /// input error that names the file if one is damaged, or if another server uses the folder.
  Glossaries(const std::string& folder, const GlossaryLimits& limits);

  /// Adds a glossary and returns it with its id, the date and the owner, which is made of the key. Throws an
  /// `HttpError`: 400 for a name that is too long, 456 if the client has too many. An environment error if its
  /// file can't be written.
  StoredGlossary add(const std::string& key, StoredGlossary glossary);
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
