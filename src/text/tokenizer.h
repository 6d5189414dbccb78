#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer_options.h"

namespace sixfold {

/// Gives the sentences of a text, one after the other; can be called again.
using TextReader = std::function<void(const std::function<void(const std::string&)>& use)>;
/// Of sentences in memory, which must outlive it.
TextReader text_reader(std::span<const std::string> sentences);

/// Text to ids and back. Any number of threads may use one tokenizer at once.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  /// The pieces of a line of text, without start and end symbol. What the vocabulary lacks becomes `unk()`;
  /// text never becomes a control symbol. Ill-formed UTF-8 is read as U+FFFD.
  virtual std::vector<int32_t> encode(std::string_view text) const = 0;

  /// The text that the pieces make, as one line of text (`one_line`), whatever bytes the pieces stand for.
  /// Control symbols are dropped. Throws when an id is not of the vocabulary.
  std::string decode(std::span<const int32_t> ids) const;

  /// A line of the corpus as `decode` would write it: what its segmentation had parted is joined. What a
  /// translation is compared with.
  virtual std::string join(std::string_view line) const { return std::string(line); }

  virtual int vocab_size() const = 0;
  /// How the piece is written in the vocabulary. Throws when the id is not of it.
  virtual std::string piece(int32_t id) const = 0;

  /// The pieces of the form ">>deu<<": put before a source, they name the language of the translation.
  std::vector<std::string> language_symbols() const;

  virtual TokenizerKind kind() const = 0;
  /// The bytes of the tokenizer's file.
  virtual const std::string& serialized() const = 0;

  int32_t unk() const { return unk_; }
  /// The start symbol, or -1 if the vocabulary has none.
  int32_t bos() const { return bos_; }
  int32_t eos() const { return eos_; }

  /// Names the vocabulary: a 128-bit hash of the file's bytes, in hexadecimal.
  std::string hash() const;

 protected:
  Tokenizer() = default;
  int32_t unk_ = -1, bos_ = -1, eos_ = -1;

 private:
  /// What `decode` gives, but with line ends where pieces make some.
  virtual std::string decode_pieces(std::span<const int32_t> ids) const = 0;
};

}  // namespace sixfold
