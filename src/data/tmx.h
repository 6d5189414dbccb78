#pragma once
#include <memory>
#include <string>

namespace sixfold {

/// Whether a file is a translation memory (TMX), because its name ends in .tmx or .tmx.gz.
bool is_tmx(const std::string& path);

/// Reads the pairs of a translation memory (TMX 1.1 to 1.4) between two languages, in one pass and with bounded
/// memory. The file may be gzipped, and is in UTF-8, UTF-16 or ISO 8859-1, as its XML declaration says. Only
/// one thread may use a reader.
///
/// A unit gives a pair if it has both languages. If a unit has several variants in a language, the first with
/// exactly this code is used, otherwise the first in the language with any region. Native code (bpt, ept, it,
/// ph, ut) is left out of the text, and runs of white space become one space.
///
/// Throws an input error with file and line if the file is not well-formed, is not TMX, declares entities or
/// refers to unknown ones, or has a segment of more than a million bytes; and at its end, if no unit had both
/// languages.
class TmxReader {
 public:
  /// Throws as `require_readable`.
  TmxReader(const std::string& path, const std::string& source_language, const std::string& target_language);
  ~TmxReader();
  TmxReader(const TmxReader&) = delete;
  TmxReader& operator=(const TmxReader&) = delete;

  /// Reads the next pair. Returns false at the end.
  bool next(std::string& source, std::string& target);
  /// The place of the unit of the pair that was read last: "memory.tmx:17".
  std::string place() const;
  /// The fraction of the file that was read, from 0 to 1.
  double fraction_read() const;

 private:
  class Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace sixfold
