#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "text/tokenizer.h"

namespace sixfold {

/// Draws other segmentations of texts that a SentencePiece model has segmented, for training (subword
/// regularization). The text of each word stays the same. A word of BPE with more than 256 characters keeps its
/// segmentation, since the time for a word grows with the square of its length. Any number of threads may use
/// one sampler at once.
class SubwordSampler {
 public:
  /// Throws an input error unless the tokenizer is a BPE or unigram model of SentencePiece.
  explicit SubwordSampler(const Tokenizer& tokenizer);
  /// Throws an input error if the kind is not SentencePiece.
  static void require_kind(TokenizerKind kind);
  SubwordSampler(const SubwordSampler&) = delete;
  SubwordSampler& operator=(const SubwordSampler&) = delete;

  /// Another segmentation of tokens. Control, user-defined, unknown and byte tokens stay as they are. Of BPE
  /// `rate` is the probability with which each possible merge is left out in each step (Provilkov et al. 2020,
  /// "BPE-Dropout", algorithm 1); 0 gives the usual segmentation, 1 characters. Of unigram models a
  /// segmentation of a word is drawn with a probability in proportion to the `rate`-th power of its own (Kudo
  /// 2018, "Subword Regularization", with all segmentations as candidates): 0 draws any with equal probability,
  /// and large values the likeliest.
  std::vector<int32_t> sample(std::span<const int32_t> ids, double rate, RandomStream& random) const;

 private:
  struct Piece {
    int32_t id;
    float score;
  };
  const Piece* find(std::string_view text) const;
  void merge(std::string_view word, double rate, RandomStream& random, std::vector<int32_t>& ids) const;
  void draw(std::string_view word, double rate, RandomStream& random, std::vector<int32_t>& ids) const;

  bool is_bpe_ = false;
  size_t longest_ = 0;                                  // bytes of the longest piece
  std::vector<std::string> texts_;                      // of each id; empty: the token is not a normal piece
  std::unordered_map<std::string_view, Piece> pieces_;  // normal ones
};

}  // namespace sixfold
