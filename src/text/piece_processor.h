#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/read_text.h"
#include "text/tokenizer.h"

namespace sentencepiece {
class SentencePieceProcessor;
namespace util {
class Status;
}
}  // namespace sentencepiece

namespace sixfold {

/// A piece of a text, and the bytes [begin, end) that it stands for.
struct LocatedPiece {
  std::string text;
  LocatedToken token;
};

/// Segments texts of one side by a model of SentencePiece, in linear time. Any number of threads may use one
/// processor at once.
class PieceProcessor {
 public:
  static constexpr std::string_view word_mark = "\u2581";  ///< SentencePiece's sign for a space

  PieceProcessor(TextSide side, std::shared_ptr<const sentencepiece::SentencePieceProcessor> library)
      : side_(side), library_(std::move(library)) {}

  const sentencepiece::SentencePieceProcessor& sentence_piece() const { return *library_; }

  /// The pieces of a text as ids and as texts.
  std::vector<int32_t> encode(std::string_view text) const;
  std::vector<std::string> split(std::string_view text) const;

  /// The pieces of well-formed text. If a character is not in the vocabulary, each of its byte tokens gets the
  /// range of the whole character; SentencePiece assigns this range to the last one only.
  std::vector<LocatedPiece> locate(std::string_view text) const;

  /// Throws an input error unless SentencePiece has done what it was asked to.
  static void check(const sentencepiece::util::Status& status);

 private:
  template <class Result>
  std::vector<Result> encode_as(std::string_view text) const;
  std::vector<LocatedPiece> pieces_of(std::string_view text) const;
  std::vector<LocatedPiece> encode_part(std::string_view text) const;
  size_t longest_piece() const;
  size_t next_cut(std::string_view text, size_t begin, size_t near) const;
  bool is_before_unknown(std::string_view text, size_t at, size_t near) const;

  TextSide side_;
  std::shared_ptr<const sentencepiece::SentencePieceProcessor> library_;
};

}  // namespace sixfold
