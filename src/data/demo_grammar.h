#pragma once
#include <optional>
#include <string>

#include "data/demo_lexicon.h"

/// A small grammar of English and German, our own. A `Sentence` is what is meant, in neither language;
/// `english` and `german` say it, each by its own rules of agreement and order. One meaning has one wording in
/// each language, and two meanings with the same English have the same German.
namespace sixfold::demo {

/// A pronoun alone, or a determiner (or a number, or neither) with an optional adjective and a noun.
struct NounPhrase {
  const Pronoun* pronoun = nullptr;
  const Determiner* determiner = nullptr;
  int count = 0;  // 2..99 in place of a determiner
  const Adjective* adjective = nullptr;
  const Noun* noun = nullptr;
  bool plural = false;
};

/// Somebody does something, or, where there is a `predicate`, is something ("is old", "is not old").
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

/// One clause, stated or asked, with perhaps a subordinate one behind it or before it.
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

std::string english(const Sentence& sentence);
std::string german(const Sentence& sentence);

}  // namespace sixfold::demo
