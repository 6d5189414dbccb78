#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/options.h"

namespace sixfold {

/// How BLEU splits a sentence into words.
///   v13a           mteval-v13a, the standard of WMT: also at ASCII punctuation, except inside numbers
///   none           only at white space, for text that is already tokenized
///   character      every character is a word, for languages without spaces, such as Chinese and Japanese
///   international  mteval-v14: also at punctuation and symbols of all scripts, by the Unicode version of ICU
///                  (newer characters count as letters)
///   chinese        every Chinese character is a word, other text as in v13a
///   ja_mecab       the words that MeCab finds with the dictionary IPADIC, for Japanese
///   spm            the pieces of a SentencePiece model
enum class BleuTokenizer { v13a, none, character, international, chinese, ja_mecab, spm };

/// The names in sacreBLEU.
template <>
struct EnumNames<BleuTokenizer> {
  static constexpr std::pair<BleuTokenizer, std::string_view> names[] = {
      {BleuTokenizer::v13a, "13a"},       {BleuTokenizer::none, "none"},
      {BleuTokenizer::character, "char"}, {BleuTokenizer::international, "intl"},
      {BleuTokenizer::chinese, "zh"},     {BleuTokenizer::ja_mecab, "ja-mecab"},
      {BleuTokenizer::spm, "spm"}};
};

/// The words of one sentence, separated by single spaces. Not for the tokenizers that have a `ModelTokenizer`.
std::u32string tokenize(std::u32string_view sentence, BleuTokenizer tokenizer);

/// A tokenizer that reads a model or a dictionary. Any number of threads may use it at once.
class ModelTokenizer {
 public:
  virtual ~ModelTokenizer() = default;
  /// The words of one sentence, separated by single spaces. Throws an environment error if the library fails.
  virtual std::u32string tokenize(std::u32string_view sentence) const = 0;
  /// Its name in signatures.
  virtual std::string_view signature() const = 0;
};

/// Loads a SentencePiece model. The signature has the beginning of its hash: "spm-0123456789abcdef". Throws an
/// input error if it can't be read.
std::shared_ptr<const ModelTokenizer> load_spm_tokenizer(const std::string& path);
/// Opens MeCab with IPADIC. The signature has its version: "ja-mecab-0.996-IPA". Throws an environment error
/// that says what to install if the library or the dictionary is not there.
std::shared_ptr<const ModelTokenizer> load_mecab_tokenizer();

// Steps of 13a that the tokenizers of other metrics use too.

std::u32string replace_all(std::u32string_view text, std::u32string_view from, std::u32string_view to);
/// Replaces the XML entities &quot;, &amp;, &lt; and &gt;, in this order.
std::u32string resolve_entities(std::u32string_view text);
/// Puts spaces around ASCII punctuation except `'`, `-`, `.` and `,`.
std::u32string space_around_punctuation(std::u32string_view text);
/// Puts spaces around full stops and commas, except inside numbers, and around hyphens after digits.
std::u32string space_around_stops(std::u32string_view text);

}  // namespace sixfold
