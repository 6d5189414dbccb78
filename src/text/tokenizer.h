#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/api.h"
#include "text/tokenizer_options.h"
#include "text/words.h"

namespace sixfold {

/// A function that calls `use` with each sentence of a text, in order. It can be called several times.
using TextReader = std::function<void(const std::function<void(const std::string&)>& use)>;
/// A reader of sentences in memory, which must outlive it.
SIXFOLD_API TextReader text_reader(std::span<const std::string> sentences);

/// A token, and the bytes [begin, end) of the text that it stands for.
struct LocatedToken {
  int32_t id = 0;
  size_t begin = 0, end = 0;

  bool operator==(const LocatedToken&) const = default;
};

/// Converts text to token ids and back. Any number of threads may use one tokenizer at once.
class SIXFOLD_API Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  /// The ids of the tokens of a line of text, without start and end token. Text that is not in the vocabulary
  /// becomes `unk()`. Text never becomes a control token. Ill-formed UTF-8 is read as U+FFFD.
  virtual std::vector<int32_t> encode(std::string_view text) const = 0;

  /// `encode_text` of a text in which control tokens are written as the vocabulary has them, such as "[SEP]":
  /// each becomes that token, unless it overlaps one of the ranges `plain`, which are in ascending order: there
  /// it is text like other text. Throws an input error if this kind of tokenizer can't find them.
  virtual std::vector<int32_t> encode_with_special_tokens(std::string_view text,
                                                          std::span<const TextRange> plain = {}) const;

  /// The tokens of `encode` with their places in the text, in ascending order. A token has the bytes of the
  /// original text, even if that was normalized: with the space before a word if the token stands for it, none
  /// if it stands for nothing, such as a space that the normalizer put before the text. Tokens that are parts
  /// of a character have a part of its bytes, or all. Throws an input error for ill-formed UTF-8.
  std::vector<LocatedToken> locate(std::string_view text) const;

  /// The text of the tokens as one line (`one_line`), whatever bytes the tokens stand for. Control tokens are
  /// dropped. Throws an input error if an id is not in the vocabulary.
  std::string decode(std::span<const int32_t> ids) const;
  /// The same with `unknown` in place of each unknown token. It is a word of its own where the vocabulary has
  /// no token for the space before it.
  std::string decode(std::span<const int32_t> ids, const std::string& unknown) const;

  /// The ids of a text of several lines, and back. Between the lines stands the token of `line_end`; control
  /// tokens are dropped. Encoding throws an input error if there are several lines, but no such token.
  virtual std::vector<int32_t> encode_text(std::string_view text) const;
  virtual std::string decode_text(std::span<const int32_t> ids) const;
  /// Whether the tokens of a line depend on the lines around it, so that a text must be encoded as a whole.
  virtual bool encodes_whole_texts() const { return false; }
  /// The last position, at most `max_bytes` bytes from the beginning of a well-formed text, at which the text
  /// can be cut for `encode_text`: the ids of both parts, one after the other, are those of the whole. 0: no
  /// such position is known.
  virtual size_t last_cut(std::string_view /*text*/, size_t /*max_bytes*/) const { return 0; }
  /// The id of the line feed, the token "<0x0A>"; none if the vocabulary has no such token.
  std::optional<int32_t> line_end() const { return line_end_; }

  /// A line of the corpus in the form that `decode` writes, to compare translations with: words that the
  /// segmentation had split are joined.
  virtual std::string join(std::string_view line) const { return std::string(line); }

  /// Whether the token shows that the next token continues the same word, as "new@@" does. False if only the
  /// next token shows whether it does.
  virtual bool word_goes_on(int32_t) const { return false; }

  virtual int vocab_size() const = 0;
  /// The text of a token in the vocabulary. Throws an input error if the id is not in the vocabulary.
  virtual std::string token_text(int32_t id) const = 0;

  /// The tokens of the form ">>deu<<". At the beginning of a source, such a token selects the target language.
  std::vector<std::string> language_tokens() const;
  bool is_language_token(int32_t id) const;

  virtual TokenizerKind kind() const = 0;
  /// The contents of the tokenizer's file.
  virtual const std::string& serialized() const = 0;

  /// The id of the unknown token; that of the end token where the vocabulary has none, as those of bytes.
  int32_t unk() const { return unk_; }
  /// How many of the ids are the unknown token; 0 where the vocabulary has none.
  int64_t count_unknown(std::span<const int32_t> ids) const;
  /// The id of the start token, or -1 if the vocabulary has none.
  int32_t bos() const { return bos_; }
  /// The id of the end token.
  int32_t eos() const { return eos_; }

  /// Identifies the tokenizer: `hash_hex` of its file.
  std::string hash() const;

 protected:
  Tokenizer() = default;
  /// Finds the line feed in the vocabulary; for the constructors of the classes.
  void find_line_end();
  int32_t unk_ = -1, bos_ = -1, eos_ = -1;

 private:
  /// The text of `decode` before line ends are replaced. `unknown`: null, or what stands for unknown tokens.
  virtual std::string decode_tokens(std::span<const int32_t> ids, const std::string* unknown) const = 0;
  /// `locate` of well-formed UTF-8.
  virtual std::vector<LocatedToken> locate_tokens(std::string_view text) const = 0;

  std::optional<int32_t> line_end_;
};

}  // namespace sixfold
