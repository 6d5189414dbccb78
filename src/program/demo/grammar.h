#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "program/demo/lexicon.h"

/// A small grammar of English and German. A `Sentence` is a meaning, independent of the language. `english` and
/// `german` express it by the rules of agreement and word order of each language. A meaning has one wording in
/// each language, and two meanings with the same English wording have the same German wording.
namespace sixfold::demo {

/// A pronoun, or a noun with an optional determiner or number and an optional adjective.
struct NounPhrase {
  const Pronoun* pronoun = nullptr;
  const Determiner* determiner = nullptr;
  int count = 0;  // 2 to 99, instead of a determiner; 0: none
  const Adjective* adjective = nullptr;
  const Noun* noun = nullptr;
  bool plural = false;
};

/// A clause with a verb, or, if there is a `predicate`, with "is" and that adjective ("is old", "is not old").
struct Clause {
  NounPhrase subject;
  const Adjective* predicate = nullptr;
  bool negated = false;
  const Verb* verb = nullptr;
  const Modal* modal = nullptr;
  std::optional<NounPhrase> indirect;  // dative
  std::optional<NounPhrase> object;    // in the case that the verb governs
  const Preposition* preposition = nullptr;
  NounPhrase prepositional;
  const Adverbial* adverbial = nullptr;
  bool adverbial_first = false;
};

/// A main clause, a statement or question, with an optional subordinate clause after or before it.
struct Sentence {
  Clause main;
  bool question = false;
  const WordPair* question_word = nullptr;
  const WordPair* conjunction = nullptr;  // nullptr: no subordinate clause
  Clause subordinate;
  bool subordinate_first = false;

  /// Whether something other than the subject stands before the verb of the main German clause.
  bool inverted() const { return question || subordinate_first || main.adverbial_first; }
};

/// The words of a text, each with the parts of the meaning that it expresses: the addresses of members of the
/// `Sentence`. "im" expresses a preposition and a determiner.
class Wording {
 public:
  struct Word {
    std::string text;
    std::vector<const void*> parts;
  };

  /// Appends the words of a text, which are separated by spaces and express the same part of the meaning.
  void add(std::string_view text, const void* part);
  void add(const Wording& other);
  void add_comma();
  /// Replaces the first two words by one, which expresses the parts of both: "im" for "in dem".
  void fuse(std::string_view text);
  /// Makes the first letter a capital, and appends a punctuation mark.
  void make_sentence(std::string_view end);

  const std::vector<Word>& words() const { return words_; }
  /// The words with spaces between them.
  std::string text() const;

 private:
  std::vector<Word> words_;
};

/// The wording of a sentence in each language, with punctuation.
Wording english(const Sentence& sentence);
Wording german(const Sentence& sentence);

}  // namespace sixfold::demo
