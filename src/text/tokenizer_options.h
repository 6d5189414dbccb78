#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/options.h"

namespace sixfold {

enum class TokenizerKind {
  sentencepiece,  ///< Kudo and Richardson 2018; trained on raw text
  whitespace,     ///< for text that is segmented already: one token between two spaces
};

/// How SentencePiece finds its pieces.
enum class PieceModel { unigram, bpe };

/// SentencePiece's rules of Unicode normalisation; `_cf` folds upper to lower case as well.
enum class Normalization { identity, nfkc, nmt_nfkc, nfkc_cf, nmt_nfkc_cf };

template <>
struct EnumNames<TokenizerKind> {
  static constexpr std::pair<TokenizerKind, std::string_view> names[] = {
      {TokenizerKind::sentencepiece, "sentencepiece"}, {TokenizerKind::whitespace, "whitespace"}};
};

template <>
struct EnumNames<PieceModel> {
  static constexpr std::pair<PieceModel, std::string_view> names[] = {{PieceModel::unigram, "unigram"},
                                                                      {PieceModel::bpe, "bpe"}};
};

template <>
struct EnumNames<Normalization> {
  static constexpr std::pair<Normalization, std::string_view> names[] = {
      {Normalization::identity, "identity"},
      {Normalization::nfkc, "nfkc"},
      {Normalization::nmt_nfkc, "nmt_nfkc"},
      {Normalization::nfkc_cf, "nfkc_cf"},
      {Normalization::nmt_nfkc_cf, "nmt_nfkc_cf"}};
};

/// Where a model's vocabularies come from: given files, or the training text.
///
/// Targets are not rewritten unless asked: their normalization is `identity`, and their spaces are kept as they
/// are. Sources lose spaces at their ends and doubled ones. A joint vocabulary has one normalization for both
/// sides, so there the two must be named alike. Every character of the text is known by default: at
/// SentencePiece's own coverage of 0.9995 a small corpus loses the é of "Café" and some digits. (Tabs are lost
/// at any: its trainer uses them as marks of its own.)
struct TokenizerOptions {
  TokenizerKind kind = TokenizerKind::sentencepiece;
  bool joint = true;
  PieceModel model = PieceModel::unigram;
  int vocab_size = 8000;
  int64_t minimum_count = 1;
  double character_coverage = 1;
  Normalization normalization = Normalization::identity;
  Normalization target_normalization = Normalization::identity;
  std::vector<std::string> user_defined_symbols;
  bool byte_fallback = false;
  int64_t max_sentences = 1'000'000;
  std::string source, target;
};

template <class Visitor>
void visit(Visitor& v, TokenizerOptions& o) {
  v.field("kind", o.kind, "sentencepiece, or whitespace for text that is segmented already");
  v.field("joint", o.joint, "one vocabulary for source and target");
  v.field("model", o.model, "sentencepiece: unigram or bpe");
  v.field("vocab_size", o.vocab_size,
          "size of the vocabulary, with 3 special tokens; whitespace: 0 for no limit", at_least(0));
  v.field("minimum_count", o.minimum_count, "whitespace: rarer words become <unk>", at_least(1));
  v.field("character_coverage", o.character_coverage,
          "sentencepiece: share of the text's characters that are covered; 0.9995 for Chinese or Japanese",
          between(0.98, 1));
  v.field("normalization", o.normalization,
          "sentencepiece, of sources: identity, nfkc, nmt_nfkc, nfkc_cf or nmt_nfkc_cf");
  v.field("target_normalization", o.target_normalization,
          "the same of targets; a joint vocabulary needs the same for both");
  v.field("user_defined_symbols", o.user_defined_symbols, "tokens that are never split");
  v.field("byte_fallback", o.byte_fallback, "sentencepiece: encode unknown characters as bytes");
  v.field("max_sentences", o.max_sentences,
          "train the tokenizer on at most this many lines, evenly spread; 0: on all", at_least(0));
  v.field("source", o.source, "use this .spm or .vocab file instead of training one; if joint, for both sides");
  v.field("target", o.target, "the same for targets");
}

}  // namespace sixfold
