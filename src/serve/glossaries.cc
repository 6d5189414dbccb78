#include "serve/glossaries.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "model_folder/ownership.h"
#include "serve/http/http.h"
#include "serve/http/json_text.h"
#include "serve/http/random_name.h"

namespace sixfold::serve {
namespace {

namespace fs = std::filesystem;

constexpr const char* extension = ".json";

/// Identifies a client by a hash of its API key, so that files do not contain keys.
std::string owner_of(const std::string& key) { return hash_hex("sixfold glossaries of " + key); }

std::string text_of(const StoredGlossary& glossary) {
  return json_text({{"name", glossary.name},
                    {"source", glossary.source},
                    {"target", glossary.target},
                    {"created", glossary.created},
                    {"owner", glossary.owner},
                    {"entries", glossary.glossary->to_tsv()}});
}

StoredGlossary read_glossary(const std::string& path, const std::string& id) {
  const nlohmann::json all = parse_json(read_regular_file(path), path);
  const JsonObject object(all, path);
  StoredGlossary glossary{.id = id};
  std::string entries;
  object.read("name", glossary.name);
  object.read("source", glossary.source);
  object.read("target", glossary.target);
  object.read("created", glossary.created);
  object.read("owner", glossary.owner);
  object.read("entries", entries);
  glossary.glossary = std::make_shared<const Glossary>(Glossary::from_tsv(entries, path));
  return glossary;
}

/// The current time in the form that DeepL's clients expect, with microseconds.
std::string now() {
  const auto time = std::chrono::system_clock::now().time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  const auto rest = std::chrono::duration_cast<std::chrono::microseconds>(time - seconds);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", fmt::gmtime(static_cast<std::time_t>(seconds.count())),
                     rest.count());
}

size_t bytes_of(const Glossary& glossary) {
  size_t bytes = 0;
  for (const GlossaryEntry& entry : glossary.entries()) bytes += entry.source.size() + entry.target.size() + 2;
  return bytes;
}

}  // namespace

Glossaries::Glossaries(const std::string& folder, const GlossaryLimits& limits)
    : folder_(folder), limits_(limits) {
  if (folder_.empty()) return;
  require_new_or_glossaries(folder_);
  std::error_code error;
  fs::create_directories(folder_, error);
  if (!fs::is_directory(folder_)) throw_input_error("{}: is not a folder and can't be made one", folder_);
  mark_.emplace(folder_, glossary_mark, glossary_mark_text,
                "another server keeps its glossaries here; give one of them another folder");
  load();
}

/// Ignores files that were not written by a server.
void Glossaries::load() {
  for (const fs::directory_entry& file : fs::directory_iterator(folder_)) {
    const std::string id = file.path().stem().string();
    if (file.path().extension() != extension || !is_random_name(id)) continue;
    all_.emplace(id, read_glossary(file.path().string(), id));
  }
}

std::string Glossaries::path_of(const std::string& id) const { return folder_ + "/" + id + extension; }

StoredGlossary Glossaries::add(const std::string& key, StoredGlossary glossary) {
  if (glossary.name.empty() || glossary.name.size() > GlossaryLimits::max_name_bytes)
    throw HttpError(400,
                    fmt::format("A glossary has a name of 1 to {} bytes.", GlossaryLimits::max_name_bytes));
  glossary.id = random_name();
  glossary.owner = owner_of(key);
  glossary.created = now();
  const std::lock_guard lock(mutex_);
  size_t count = 1, bytes = bytes_of(*glossary.glossary);
  for (const auto& [id, other] : all_) {
    if (other.owner != glossary.owner) continue;
    ++count;
    bytes += bytes_of(*other.glossary);
  }
  if (count > limits_.max_count)
    throw HttpError(456, fmt::format("There are {} glossaries already; delete one.", limits_.max_count));
  if (bytes > limits_.max_bytes)
    throw HttpError(456, fmt::format("The glossaries would have {} bytes; at most {} are allowed.", bytes,
                                     limits_.max_bytes));
  if (!folder_.empty()) write_file_atomically(path_of(glossary.id), text_of(glossary));
  all_.emplace(glossary.id, glossary);
  return glossary;
}

std::vector<StoredGlossary> Glossaries::all(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  std::vector<StoredGlossary> found;
  for (const auto& [id, glossary] : all_)
    if (glossary.owner == owner_of(key)) found.push_back(glossary);
  std::sort(found.begin(), found.end(), [](const StoredGlossary& a, const StoredGlossary& b) {
    return std::pair(a.created, a.id) < std::pair(b.created, b.id);
  });
  return found;
}

StoredGlossary Glossaries::find(const std::string& key, const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = all_.find(id);
  if (found == all_.end() || found->second.owner != owner_of(key))
    throw HttpError(404, "There is no glossary with this id.");
  return found->second;
}

void Glossaries::remove(const std::string& key, const std::string& id) {
  find(key, id);
  const std::lock_guard lock(mutex_);
  std::error_code error;
  if (!folder_.empty()) fs::remove(path_of(id), error);
  if (error) throw_environment_error("{}: can't remove: {}", path_of(id), error.message());
  all_.erase(id);
}

}  // namespace sixfold::serve
