#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sixfold::cli {

/// Which chunks of a text a process translates: those whose number, divided by `of`, leaves `number` - 1.
struct PartOfText {
  int64_t number = 1, of = 1;
};

/// Reads "3/16". Throws an input error for anything else.
PartOfText parse_part(const std::string& text);

/// The chunks of a translation that several processes make, in the folder OUTPUT.parts, until they are joined.
/// Each is a file, which appears when it is complete, so that work that was killed goes on where it ended. Any
/// number of processes may use the folder at once.
class TranslationParts {
 public:
  static constexpr int64_t chunk_lines = 1024;

  /// The folder for an output; it need not exist.
  explicit TranslationParts(const std::string& output) : folder_(output + ".parts") {}

  const std::string& folder() const { return folder_; }
  bool exist() const;
  /// Creates the folder for a translation that `job` describes, a JSON object. Throws an input error if it
  /// holds chunks of another translation, naming what differs, chunks of which nothing says whose they are, or
  /// files of somebody else.
  void open(const std::string& job) const;
  /// Whether a file lies in the folder.
  bool contains(const std::string& path) const;
  bool has(int64_t chunk) const;
  /// Writes the text of a chunk, and behind it a line with its hash.
  void write(int64_t chunk, const std::string& text) const;
  /// Returns the missing ones of `chunks` chunks.
  std::vector<int64_t> missing(int64_t chunks) const;
  /// Passes the texts of all chunks on, in order. Throws an input error for a file that has changed since it
  /// was written.
  void read(int64_t chunks, const std::function<void(const std::string&)>& use) const;
  /// Removes the folder's own files, and the folder if it is then empty. The chunks go first, so that what is
  /// left by a process that is killed is never taken for chunks of another translation.
  void remove() const;

 private:
  std::string file(int64_t chunk) const;

  std::string folder_;
};

}  // namespace sixfold::cli
