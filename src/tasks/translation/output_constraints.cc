#include "tasks/translation/output_constraints.h"

#include <unicode/utf8.h>

#include <algorithm>

#include "base/error.h"
#include "text/utf8.h"
#include "text/words.h"

namespace sixfold {
namespace {

using Ids = std::vector<int32_t>;

/// Throws an input error for a text that no constraint may have. `what`: "prefix" or "phrase".
void check(const std::string& what, const std::string& text) {
  require(!first_invalid_utf8(text), "the {} '{}' is not valid UTF-8", what,
          excerpt(replace_invalid_utf8(text)));
  require(text.find_first_of("\r\n") == std::string::npos, "the {} '{}' has more than one line", what,
          excerpt(one_line(text)));
  require(what == "prefix" || has_visible_character(text), "the {} '{}' has no visible character", what,
          excerpt(text));
}

/// Whether the text of token `next` continues the word with which the text of token `last` ends.
bool continues_word(const Tokenizer& tokenizer, int32_t last, int32_t next) {
  const std::string before = tokenizer.decode(std::vector{last}),
                    both = tokenizer.decode(std::vector{last, next});
  if (before.empty() || both.size() <= before.size() || !both.starts_with(before)) return false;
  const auto size = static_cast<int32_t>(both.size());
  auto place = static_cast<int32_t>(before.size()), next_place = place;
  UChar32 last_char = 0, next_char = 0;
  U8_NEXT(both.data(), next_place, size, next_char);
  U8_PREV(both.data(), 0, place, last_char);
  return last_char >= 0 && next_char >= 0 && is_within_words(static_cast<char32_t>(last_char)) &&
         is_within_words(static_cast<char32_t>(next_char));
}

/// Returns the tokens of a phrase; none if the vocabulary lacks some of its text.
Ids encode_phrase(const Tokenizer& tokenizer, const std::string& what, const std::string& phrase) {
  check(what, phrase);
  Ids ids = tokenizer.encode(phrase);
  if (tokenizer.count_unknown(ids) > 0) ids.clear();
  return ids;
}

Ids encode_prefix(const Tokenizer& tokenizer, const std::string& prefix) {
  check("prefix", prefix);
  if (!has_visible_character(prefix)) return {};
  const size_t end = static_cast<size_t>(trim_spaces(prefix).end() - std::string_view(prefix).begin());
  Ids ids = tokenizer.encode(std::string_view(prefix).substr(0, end));
  require(ids.size() <= max_prefix_tokens, "the prefix '{}' has {} tokens; at most {} are allowed",
          excerpt(prefix), ids.size(), max_prefix_tokens);
  require(tokenizer.count_unknown(ids) == 0,
          "the prefix '{}' has text that the model's vocabulary lacks, so that no translation begins with it",
          excerpt(prefix));
  return ids;
}

void require_not_contained(const Ids& ids, const std::string& what, const Ids& banned,
                           const std::string& banned_phrase) {
  require(std::search(ids.begin(), ids.end(), banned.begin(), banned.end()) == ids.end(),
          "{} contains '{}', which the translation must not contain", what, excerpt(banned_phrase));
}

}  // namespace

EncodedConstraints encode_constraints(const Tokenizer& tokenizer, const OutputConstraints& constraints) {
  EncodedConstraints encoded;
  LexicalConstraints& tokens = encoded.tokens;
  tokens.word_goes_on = [&tokenizer](int32_t id) { return tokenizer.word_goes_on(id); };
  if (constraints.whole_words)
    tokens.continues_word = [&tokenizer](int32_t last, int32_t next) {
      return continues_word(tokenizer, last, next);
    };
  tokens.prefix = encode_prefix(tokenizer, constraints.prefix);
  size_t phrase_tokens = 0;
  for (const std::string& phrase : constraints.phrases) {
    Ids ids = encode_phrase(tokenizer, "phrase", phrase);
    if (ids.empty() || tokens.phrases.size() == max_phrases || phrase_tokens + ids.size() > max_phrase_tokens) {
      encoded.impossible.push_back(phrase);
      continue;
    }
    phrase_tokens += ids.size();
    tokens.phrases.push_back(std::move(ids));
    encoded.phrases.push_back(phrase);
  }
  require(constraints.banned_phrases.size() <= max_phrases,
          "{} phrases are given that the translation must not contain; there may be {}",
          constraints.banned_phrases.size(), max_phrases);
  for (const std::string& phrase : constraints.banned_phrases) {
    Ids ids = encode_phrase(tokenizer, "phrase", phrase);
    if (ids.empty()) continue;  // no translation contains it
    require_not_contained(tokens.prefix, fmt::format("the prefix '{}'", excerpt(constraints.prefix)), ids,
                          phrase);
    for (size_t i = 0; i < tokens.phrases.size(); ++i)
      require_not_contained(tokens.phrases[i], fmt::format("the phrase '{}'", excerpt(encoded.phrases[i])), ids,
                            phrase);
    tokens.banned_phrases.push_back(std::move(ids));
  }
  return encoded;
}

}  // namespace sixfold
