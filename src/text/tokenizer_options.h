#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/options.h"

namespace sixfold {

enum class TokenizerKind {
  sentencepiece,   ///< SentencePiece (Kudo and Richardson 2018), trained on raw text
  whitespace,      ///< splits at white space, for text that is already segmented
  characters,      ///< each character is a token
  bytes,           ///< each byte is a token
  byte_pairs,      ///< byte-level BPE (Sennrich et al. 2016; Radford et al. 2019), trained on raw text
  wordpiece,       ///< WordPiece (Schuster and Nakajima 2012) as BERT has it, trained on raw text
  tokenizer_json,  ///< a tokenizer.json of Hugging Face's tokenizers; those that were trained here are as well
};

/// The kind of a SentencePiece model.
enum class PieceModel { unigram, bpe };

/// SentencePiece's rules of Unicode normalization. Those with `_cf` also fold case.
enum class Normalization { identity, nfkc, nmt_nfkc, nfkc_cf, nmt_nfkc_cf };

template <>
struct EnumNames<TokenizerKind> {
  static constexpr std::pair<TokenizerKind, std::string_view> names[] = {
      {TokenizerKind::sentencepiece, "sentencepiece"},  {TokenizerKind::whitespace, "whitespace"},
      {TokenizerKind::characters, "characters"},        {TokenizerKind::bytes, "bytes"},
      {TokenizerKind::byte_pairs, "byte_pairs"},        {TokenizerKind::wordpiece, "wordpiece"},
      {TokenizerKind::tokenizer_json, "tokenizer_json"}};
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

/// The tokenizers of a model: read from given files, or trained on the training text.
///
/// SentencePiece reads all text as `read_text` does: in the normalization form C, with folded white space; a
/// language model reads it as it is. Then the normalization follows. By default it is `nmt_nfkc` for sources,
/// so that it does not matter how a text was typed, and `identity` for targets, so that "m²" can be written. A
/// joint vocabulary normalizes targets as sources or not at all. By default every character of the text is
/// covered: with SentencePiece's own default of 0.9995 a small corpus loses the é of "Café" and some digits.
/// (Tabs are always lost, since SentencePiece's trainer uses them as markers.)
struct TokenizerOptions {
  TokenizerKind kind = TokenizerKind::sentencepiece;
  bool joint = true;
  PieceModel model = PieceModel::unigram;
  int vocab_size = 8000;
  int64_t minimum_count = 1;
  double character_coverage = 1;
  Normalization normalization = Normalization::nmt_nfkc;
  Normalization target_normalization = Normalization::identity;
  std::vector<std::string> user_defined_symbols;
  bool lower_case = false;
  bool byte_fallback = false;
  int64_t max_sentences = 1'000'000;
  std::string source, target;
};

inline void visit(OptionVisitor& v, TokenizerOptions& o) {
  v.field("kind", o.kind,
          "sentencepiece, whitespace for text that is already segmented, characters, bytes, byte_pairs, "
          "wordpiece or tokenizer_json");
  v.field("joint", o.joint, "use one vocabulary for source and target");
  v.field("model", o.model, "kind of SentencePiece model: unigram or bpe");
  v.field("vocab_size", o.vocab_size,
          "size of the vocabulary, including 3 special tokens; whitespace and characters: 0 for no limit",
          at_least(0));
  v.field("minimum_count", o.minimum_count,
          "whitespace and characters: tokens that occur less often become <unk>", at_least(1));
  v.field("character_coverage", o.character_coverage,
          "sentencepiece only: share of the text's characters to cover; 0.9995 suits Chinese and Japanese",
          between(0.98, 1));
  v.field("normalization", o.normalization,
          "sentencepiece only: normalization of sources: identity, nfkc, nmt_nfkc, nfkc_cf or nmt_nfkc_cf");
  v.field("target_normalization", o.target_normalization,
          "sentencepiece only: normalization of targets; for a joint vocabulary identity, or that of sources");
  v.field("user_defined_symbols", o.user_defined_symbols, "texts that are always one token");
  v.field("lower_case", o.lower_case, "wordpiece only: read text in lower case and without accents");
  v.field("byte_fallback", o.byte_fallback, "sentencepiece only: encode unknown characters as bytes");
  v.field("max_sentences", o.max_sentences,
          "train the tokenizer on at most this many lines, evenly sampled; 0: on all lines", at_least(0));
  v.field("source", o.source,
          "use this .spm, .vocab or .json file instead of training a tokenizer; if joint, for both sides");
  v.field("target", o.target, "the .spm, .vocab or .json file for targets, if not joint");
}

}  // namespace sixfold
