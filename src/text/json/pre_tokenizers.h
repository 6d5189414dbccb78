#pragma once
#include <memory>
#include <vector>

#include "text/json/json_stage.h"
#include "text/read_text.h"

namespace sixfold {

/// A text, and the words that a model segments on their own: ranges of the text in ascending order, not empty.
struct SplitText {
  NormalizedText text;
  std::vector<TextRange> words;
  /// Whether it begins at the beginning of the whole text, with no other text and no added token before it.
  bool begins = false;
};

/// A pre-tokenizer of a tokenizer.json: splits each word into words. Safe to share between threads.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void apply(SplitText& text) const = 0;
  /// Whether the vocabulary of the model writes words as bytes, each as a character. No step may follow.
  virtual bool is_byte_level() const { return false; }
  /// Whether it is ByteLevel that puts a space before a text without one.
  virtual bool adds_space() const { return false; }
  /// Whether `SplitText::begins` makes a difference.
  virtual bool looks_at_beginning() const { return false; }
  /// Whether no word contains text from both sides of a single space, so that a text may be cut there.
  virtual bool splits_at_spaces() const { return false; }
  /// Whether a word ends wherever a letter is followed by a character that is not a letter.
  virtual bool splits_after_letters() const { return false; }
};

/// Makes the pre-tokenizer that a tokenizer.json describes: BertPreTokenizer, ByteLevel, Digits, Metaspace,
/// Punctuation, Split, Whitespace, WhitespaceSplit, or a Sequence of them. All take linear time. Throws an
/// input error that names the key for what is malformed or not supported.
std::unique_ptr<const PreTokenizer> make_pre_tokenizer(const JsonStage& json);

}  // namespace sixfold
