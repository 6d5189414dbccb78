#pragma once
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "text/json/json_stage.h"
#include "text/json/normalizers.h"
#include "text/json/prefix_tree.h"
#include "text/words.h"

namespace sixfold {

/// An entry of `added_tokens`.
struct AddedToken {
  int32_t id = 0;
  std::string text;
  bool special = false;                 ///< a control token
  bool single_word = false;             ///< found only if no word character is beside it
  bool lstrip = false, rstrip = false;  ///< takes the white space before it, or after it
  bool normalized = false;              ///< looked for in the normalized text
};

/// Reads the entries. Throws an input error that names the key.
std::vector<AddedToken> read_added_tokens(const JsonStage& tokenizer_json);

/// A part of a text: an added token with the white space that it takes, or text between such tokens.
struct TextPart {
  size_t begin = 0, end = 0;
  const AddedToken* token = nullptr;
};

/// Finds added tokens in texts: at each place the longest one, from left to right (Aho and Corasick 1975).
/// Takes time linear in the text for tokens of bounded length. Safe to share between threads.
class AddedTokenFinder {
 public:
  AddedTokenFinder() = default;
  /// The tokens must outlive it. `texts` has the text of each as it is looked for.
  AddedTokenFinder(std::vector<const AddedToken*> tokens, const std::vector<std::string>& texts);

  bool is_empty() const { return tokens_.empty(); }
  /// The parts of a text, which cover it. Special tokens are text unless `finds_special`, and also where they
  /// overlap one of the ranges `plain`, which are in ascending order.
  std::vector<TextPart> parts(std::string_view text, bool finds_special,
                              std::span<const TextRange> plain = {}) const;

 private:
  std::vector<const AddedToken*> tokens_;
  PrefixTree tree_;
};

}  // namespace sixfold
