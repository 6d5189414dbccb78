#include "tasks/translation/commands/translation_parts.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "model_folder/ownership.h"

namespace sixfold::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view job_file = translation_parts_mark;

bool is_chunk_name(std::string_view name) {
  return name.size() >= 9 && name.starts_with("chunk-") &&
         name.find_first_not_of("0123456789", 6) == std::string_view::npos;
}

bool is_known_file(std::string_view name) {
  std::string base(name);
  while (const auto temporary = parse_temporary_name(base)) base = temporary->name;
  return base == job_file || is_chunk_name(base);
}

bool has_only_known_files(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder))
    if (!is_known_file(entry.path().filename().string())) return false;
  return true;
}

bool has_chunks(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder))
    if (is_chunk_name(entry.path().filename().string())) return true;
  return false;
}

/// The last line of the file of a chunk.
std::string last_line(const std::string& text) { return "hash of this chunk: " + hash_hex(text) + "\n"; }

/// Writes a file unless it exists. Several processes, on any hosts, may do so at the same time: one file
/// remains.
void write_if_absent(const std::string& path, const std::string& text) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const std::string temporary = fmt::format("{}.tmp-{}-{}", path, ::getpid(), now.count() % 1'000'000'000);
  write_file_atomically(temporary, text);
  const bool linked = ::link(temporary.c_str(), path.c_str()) == 0 || errno == EEXIST;
  std::error_code failure;
  if (linked)
    fs::remove(temporary, failure);
  else
    fs::rename(temporary, path, failure);  // a file system without links
  if (failure) throw_environment_error("{}: can't write: {}", path, failure.message());
}

/// Lists the values that differ: "model (a, and was b)".
std::string differences(const nlohmann::json& now, const nlohmann::json& before) {
  std::string text;
  for (const auto& [key, value] : now.items())
    if (!before.contains(key) || before[key] != value)
      text += fmt::format("{}{} ({}, and was {})", text.empty() ? "" : ", ", key, value.dump(),
                          before.contains(key) ? before[key].dump() : "nothing");
  return text.empty() ? "it has other keys" : text;
}

}  // namespace

PartOfText parse_part(const std::string& text) {
  PartOfText part;
  const char* end = text.data() + text.size();
  const auto number = std::from_chars(text.data(), end, part.number);
  const bool slash = number.ec == std::errc() && number.ptr != end && *number.ptr == '/';
  const auto of =
      slash ? std::from_chars(number.ptr + 1, end, part.of) : std::from_chars_result{text.data(), {}};
  require(slash && of.ec == std::errc() && of.ptr == end && part.number >= 1 && part.number <= part.of &&
              part.of <= 1'000'000,
          "--part: expected a part and their number, such as 3/16, found '{}'", text);
  return part;
}

bool TranslationParts::exist() const {
  std::error_code ignored;
  return fs::exists(fs::path(folder_) / job_file, ignored);
}

void TranslationParts::open(const std::string& job) const {
  require_outside_runs(folder_);
  std::error_code failure;
  if (fs::exists(folder_, failure))
    require(fs::is_directory(folder_, failure) && has_only_known_files(folder_),
            "{}: the parts of the translation are to be put there, but it holds something else; give another "
            "--output",
            folder_);
  fs::create_directory(folder_, failure);
  if (failure) throw_environment_error("{}: can't create the folder: {}", folder_, failure.message());
  const std::string path = (fs::path(folder_) / job_file).string();
  const bool begun = has_chunks(folder_);  // checked first: other processes write the job file before chunks
  if (!exist()) {
    require(!begun, "{} holds chunks, but no {}, which says of what; remove it to begin again", folder_,
            job_file);
    write_if_absent(path, job);
  }
  const auto before = nlohmann::json::parse(read_regular_file(path), nullptr, /*allow_exceptions=*/false);
  const auto now = nlohmann::json::parse(job);
  require(before.is_object(), "{}: damaged; remove {} to translate from the beginning", path, folder_);
  require(before == now,
          "{} holds chunks of another translation: {}. Translate with the same model, input and options, or "
          "remove it to begin again",
          folder_, differences(now, before));
}

bool TranslationParts::contains(const std::string& path) const {
  std::error_code ignored;
  return fs::equivalent(fs::path(fs::weakly_canonical(path, ignored)).parent_path(), folder_, ignored);
}

std::string TranslationParts::file(int64_t chunk) const {
  return (fs::path(folder_) / fmt::format("chunk-{:09}", chunk)).string();
}

bool TranslationParts::has(int64_t chunk) const {
  std::error_code ignored;
  return fs::exists(file(chunk), ignored);
}

std::vector<int64_t> TranslationParts::missing(int64_t chunks) const {
  std::vector<int64_t> missing;
  for (int64_t chunk = 0; chunk < chunks; ++chunk)
    if (!has(chunk)) missing.push_back(chunk);
  return missing;
}

void TranslationParts::write(int64_t chunk, const std::string& text) const {
  write_file_atomically(file(chunk), text + last_line(text));
}

void TranslationParts::read(int64_t chunks, const std::function<void(const std::string&)>& use) const {
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    std::string text = read_regular_file(file(chunk));
    const std::string end = text.substr(text.size() - std::min(text.size(), last_line("").size()));
    text.resize(text.size() - end.size());
    require(end == last_line(text),
            "{}: it has changed since it was written; remove it and give the same command again, which "
            "translates its lines again",
            file(chunk));
    use(text);
  }
}

void TranslationParts::remove() const {
  remove_known_files(folder_, [](std::string_view name) { return is_known_file(name) && name != job_file; });
  remove_known_files(folder_, is_known_file);
}

}  // namespace sixfold::cli
