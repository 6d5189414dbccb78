#pragma once
#include <string_view>

#include "base/error.h"
#include "text/read_text.h"

namespace sixfold {

/// Throws an input error for a text that a file's rules have made much longer, so that an untrusted file can't
/// exhaust the memory. The rules of known tokenizers make a text at most about ten times as long.
inline void check_growth(size_t before, size_t after) {
  require(after <= 32 * before + 65536, "the rules of a tokenizer make {} bytes of a text of {}", after,
          before);
}

/// Rewrites a text, and its origins if it has any: call `keep` and `put` in the order of the text, then
/// `finish`. Text that is neither kept nor replaced is left out.
class TextEdit {
 public:
  explicit TextEdit(NormalizedText& text) : text_(text), traced_(!text.origins.empty()) {
    after_.text.reserve(text.text.size() + 16);
  }

  /// The bytes [begin, end) as they are.
  void keep(size_t begin, size_t end) {
    after_.text.append(text_.text, begin, end - begin);
    if (traced_)
      after_.origins.insert(after_.origins.end(), text_.origins.begin() + static_cast<std::ptrdiff_t>(begin),
                            text_.origins.begin() + static_cast<std::ptrdiff_t>(end));
  }
  /// `bytes` in the place of [begin, end), or before `begin` if that is empty.
  void put(std::string_view bytes, size_t begin, size_t end) {
    after_.text += bytes;
    check_growth(text_.text.size(), after_.text.size());
    if (!traced_) return;
    const size_t first = begin < text_.origins.size() ? text_.origins[begin].begin : text_.origins.back().end;
    after_.origins.insert(after_.origins.end(), bytes.size(),
                          TextRange{first, end > begin ? text_.origins[end - 1].end : first});
  }
  size_t size() const { return after_.text.size(); }
  void finish() { text_ = std::move(after_); }

 private:
  NormalizedText& text_;
  NormalizedText after_;
  bool traced_;
};

}  // namespace sixfold
