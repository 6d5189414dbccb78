#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sixfold::cli {

/// The chunks of a text that a process translates: those whose index modulo `of` is `number` - 1.
struct PartOfText {
  int64_t number = 1, of = 1;
};

/// Reads "3/16". Throws an input error for anything else.
PartOfText parse_part(const std::string& text);

/// The folder OUTPUT.parts, which holds the chunks of a translation by several processes until they are joined.
/// Each chunk is a file that is created atomically, so that a translation that was killed can be resumed. Any
/// number of processes may use the folder at the same time.
class TranslationParts {
 public:
  static constexpr int64_t chunk_lines = 1024;

  /// The folder for an output; it need not exist.
  explicit TranslationParts(const std::string& output) : folder_(output + ".parts") {}

  const std::string& folder() const { return folder_; }
  bool exist() const;
  /// Creates the folder for a translation. `job`: a JSON object that describes the translation. Throws an input
  /// error if the folder has chunks of another translation, naming what differs, chunks without a description
  /// of their translation, or other files.
  void open(const std::string& job) const;
  /// Whether a file lies in the folder.
  bool contains(const std::string& path) const;
  bool has(int64_t chunk) const;
  /// Writes the text of a chunk, followed by a line with its hash.
  void write(int64_t chunk, const std::string& text) const;
  /// Returns the indices of the missing chunks, of `chunks` in all.
  std::vector<int64_t> missing(int64_t chunks) const;
  /// Calls `use` with the text of each chunk, in order. Throws an input error for a file that has changed since
  /// it was written.
  void read(int64_t chunks, const std::function<void(const std::string&)>& use) const;
  /// Removes the files that this class writes, and the folder if it is then empty. The description of the
  /// translation is removed last, so that chunks left by a killed process still belong to a known translation.
  void remove() const;

 private:
  std::string file(int64_t chunk) const;

  std::string folder_;
};

}  // namespace sixfold::cli
