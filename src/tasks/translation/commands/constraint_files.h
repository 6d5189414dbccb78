#pragma once
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "data/lines.h"
#include "tasks/translation/translation.h"

namespace sixfold::cli {

/// The files of constraints: what translations must begin with, must contain and must not contain. An empty
/// path means that there is no such file.
struct ConstraintPaths {
  std::string prefixes;     ///< a prefix for each line of the input
  std::string constraints;  ///< phrases for each line, separated by tabs
  std::string avoid;        ///< phrases that the translation must not contain, in the same way
  std::string glossary;
  bool allow_endings = false;  ///< the model may add an ending to the last word of a phrase

  /// Whether there are files with a line of constraints for each line of the input.
  bool by_line() const { return !prefixes.empty() || !constraints.empty() || !avoid.empty(); }
  std::vector<std::string> all() const { return {prefixes, constraints, avoid, glossary}; }
};

/// Adds --prefixes, --constraints, --avoid, --glossary and --allow-endings.
void add_constraint_options(CLI::App& command, ConstraintPaths& paths);

/// Reads the files. Those with a line for each line of the input are read along with it. Not thread-safe.
class ConstraintFiles {
 public:
  /// Throws an input error if a file can't be read or the glossary is malformed.
  ConstraintFiles(const ConstraintPaths& paths, InvalidUtf8 invalid);

  /// Sets `TranslateOptions::glossary`, and `constraints` if a file has lines of them. This object must outlive
  /// the call, which throws an input error if a file has fewer lines than the input.
  void set(TranslateOptions& options);
  /// Call at the end of the input. Throws an input error if a file has more lines than the input.
  void finish();

 private:
  struct File {
    explicit File(const std::string& name) : path(name), reader(name) {}
    std::string path;
    LineReader reader;
  };
  std::string next_line(std::unique_ptr<File>& file, size_t index) const;

  InvalidUtf8 invalid_;
  bool allow_endings_;
  std::unique_ptr<File> prefixes_, constraints_, avoid_;
  std::shared_ptr<const Glossary> glossary_;
};

/// Logs a warning if translations lack phrases that they should contain. `place` names the line.
void warn_of_unmet(const Translation& translation, const std::string& place);

}  // namespace sixfold::cli
