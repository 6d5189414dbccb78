#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace sixfold {

/// The tokens that stand around the texts of a pair, as a model was trained with them.
struct PairLayout {
  std::vector<int32_t> source_start = {};  ///< before a source, such as the token of its language
  std::vector<int32_t> source_end = {};    ///< after a source; empty: the end token of its tokenizer
  /// Before a target, after the first input of the decoder, such as the token of its language.
  std::vector<int32_t> target_start = {};
  /// The token of the target's language, with which the search begins each translation; -1: there is none.
  int32_t target_language = -1;

  bool operator==(const PairLayout&) const = default;
  /// A source as the encoder reads it, from the tokens of its text.
  std::vector<int32_t> source(std::span<const int32_t> text, int32_t eos) const {
    std::vector<int32_t> ids = source_start;
    ids.insert(ids.end(), text.begin(), text.end());
    ids.insert(ids.end(), source_end.begin(), source_end.end());
    if (source_end.empty()) ids.push_back(eos);
    return ids;
  }
  /// A target without the first input of the decoder and the end token, from the tokens of its text.
  std::vector<int32_t> target(std::span<const int32_t> text) const {
    std::vector<int32_t> ids = target_start;
    ids.insert(ids.end(), text.begin(), text.end());
    return ids;
  }
  /// The number of tokens after the text of a source.
  size_t source_end_size() const { return source_end.empty() ? 1 : source_end.size(); }
};

}  // namespace sixfold
