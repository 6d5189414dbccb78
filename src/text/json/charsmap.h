#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/read_text.h"

namespace sixfold {

/// The `precompiled_charsmap` of SentencePiece: characters and short sequences with what replaces them. The
/// file has a double array (Aoe 1989) of 32-bit units, preceded by its size in bytes, and then the
/// replacements, each ended by a NUL. Safe to share between threads.
class Charsmap {
 public:
  /// Throws an input error that begins with `where` if the text is not base64 or the map is malformed.
  Charsmap(std::string_view base64_text, const std::string& where);

  /// Changes a text as Hugging Face's tokenizers does, by grapheme clusters: a cluster of less than six
  /// bytes is replaced as a whole, by the replacement of its shortest prefix in the map; in longer clusters
  /// each character is replaced by itself. (SentencePiece takes the longest prefix.) Takes linear time.
  void apply(NormalizedText& text) const;

 private:
  /// The replacement of the shortest prefix of `part` that is in the map; null if there is none.
  const char* find(std::string_view part) const;
  void put(class TextEdit& edit, std::string_view text, size_t begin, size_t end) const;
  void put_cluster(class TextEdit& edit, std::string_view text, size_t begin, size_t end) const;

  std::vector<uint32_t> units_;
  std::string replacements_;  // ends with NUL
};

}  // namespace sixfold
