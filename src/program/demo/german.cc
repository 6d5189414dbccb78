#include <string_view>
#include <utility>

#include "base/error.h"
#include "program/demo/grammar.h"

namespace sixfold::demo {
namespace {

// Endings by case (nominative, accusative, dative) and column (masculine, feminine, neuter, plural).
using Endings = const char* [3][4];
constexpr Endings article = {{"er", "ie", "as", "ie"}, {"en", "ie", "as", "ie"}, {"em", "er", "em", "en"}};
constexpr Endings der_word = {{"er", "e", "es", "e"}, {"en", "e", "es", "e"}, {"em", "er", "em", "en"}};
constexpr Endings ein_word = {{"", "e", "", "e"}, {"en", "e", "", "e"}, {"em", "er", "em", "en"}};
constexpr Endings weak_adjective = {{"e", "e", "e", "en"}, {"en", "e", "e", "en"}, {"en", "en", "en", "en"}};
constexpr Endings mixed_adjective = {
    {"er", "e", "es", "en"}, {"en", "e", "es", "en"}, {"en", "en", "en", "en"}};
constexpr Endings strong_adjective = {{"er", "e", "es", "e"}, {"en", "e", "es", "e"}, {"em", "er", "em", "en"}};

const Endings& endings_of(Declension declension) {
  switch (declension) {
    case Declension::article:
      return article;
    case Declension::der_word:
      return der_word;
    case Declension::ein_word:
      return ein_word;
  }
  throw_unknown("declension", declension);
}

std::string determiner(const NounPhrase& phrase, int which_case, int column) {
  if (phrase.count > 0) return german_number(phrase.count);
  if (!phrase.determiner) return "";
  return std::string(phrase.determiner->stem) + endings_of(phrase.determiner->declension)[which_case][column];
}

/// The adjective shows the case where the determiner does not.
std::string adjective(const NounPhrase& phrase, int which_case, int column) {
  if (!phrase.adjective) return "";
  const Endings& endings = !phrase.determiner                                      ? strong_adjective
                           : phrase.determiner->declension == Declension::ein_word ? mixed_adjective
                                                                                   : weak_adjective;
  return std::string(phrase.adjective->stem) + endings[which_case][column];
}

std::string noun(const NounPhrase& phrase, Case governed) {
  if (!phrase.plural) {
    bool oblique = phrase.noun->weak && governed != Case::nominative;
    return oblique ? phrase.noun->german_plural : phrase.noun->german;
  }
  std::string text = phrase.noun->german_plural;
  bool takes_n = governed == Case::dative && text.back() != 'n' && text.back() != 's';
  return takes_n ? text + "n" : text;
}

Wording noun_phrase(const NounPhrase& phrase, Case governed) {
  int which_case = static_cast<int>(governed);
  Wording wording;
  if (phrase.pronoun) {
    wording.add(phrase.pronoun->german[which_case], &phrase.pronoun);
    return wording;
  }
  int column = phrase.plural ? 3 : static_cast<int>(phrase.noun->gender);
  wording.add(determiner(phrase, which_case, column), &phrase.determiner);
  wording.add(adjective(phrase, which_case, column), &phrase.adjective);
  wording.add(noun(phrase, governed), &phrase.noun);
  return wording;
}

Wording prepositional_phrase(const Clause& clause) {
  Wording wording;
  wording.add(clause.preposition->german, &clause.preposition);
  wording.add(noun_phrase(clause.prepositional, clause.preposition->governs));
  constexpr std::string_view contractions[][2] = {{"in dem ", "im"}, {"zu dem ", "zum"}, {"zu der ", "zur"}};
  for (auto [full, fused] : contractions)
    if (wording.text().starts_with(full)) wording.fuse(fused);
  return wording;
}

const char* conjugated(const char* ich, const char* er, const char* wir, const NounPhrase& subject) {
  if (!subject.pronoun) return subject.plural ? wir : er;
  switch (subject.pronoun->agreement) {
    case Agreement::i:
      return ich;
    case Agreement::he:
      return er;
    case Agreement::they:
      return wir;
  }
  throw_unknown("agreement", subject.pronoun->agreement);
}

const char* finite_verb(const Clause& clause) {
  const NounPhrase& subject = clause.subject;
  if (clause.predicate) return conjugated("bin", "ist", "sind", subject);
  if (clause.modal)
    return conjugated(clause.modal->singular, clause.modal->singular, clause.modal->plural, subject);
  // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a clause without a predicate has a verb
  return conjugated(clause.verb->ich, clause.verb->er, clause.verb->infinitive, subject);
}

/// The text between the verb and the end of the clause: pronouns, time, nouns (dative first), prepositional
/// phrase, predicate.
Wording middle(const Clause& clause) {
  Wording pronouns, nouns;
  if (clause.indirect)
    (clause.indirect->pronoun ? pronouns : nouns).add(noun_phrase(*clause.indirect, Case::dative));
  if (clause.object)
    (clause.object->pronoun ? pronouns : nouns).add(noun_phrase(*clause.object, clause.verb->governs));
  Wording wording = pronouns;
  if (clause.adverbial && !clause.adverbial_first) wording.add(clause.adverbial->german, &clause.adverbial);
  wording.add(nouns);
  if (clause.preposition) wording.add(prepositional_phrase(clause));
  if (clause.negated) wording.add("nicht", &clause.negated);
  if (clause.predicate) wording.add(clause.predicate->german, &clause.predicate);
  return wording;
}

std::string infinitive(const Verb& verb) { return std::string(verb.particle) + verb.infinitive; }

/// The part of the meaning that the finite verb expresses.
const void* finite_part(const Clause& clause) {
  return clause.modal ? static_cast<const void*>(&clause.modal) : &clause.verb;
}

/// A clause with the verb second: after the subject, or after another first element (a clause, an adverb, a
/// question word).
Wording main_clause(const Clause& clause, const Sentence& sentence) {
  const Wording subject = noun_phrase(clause.subject, Case::nominative);
  Wording wording;
  wording.add(sentence.question_word ? sentence.question_word->german : "", &sentence.question_word);
  if (clause.adverbial_first) wording.add(clause.adverbial->german, &clause.adverbial);
  if (!sentence.inverted()) wording.add(subject);
  wording.add(finite_verb(clause), finite_part(clause));
  if (sentence.inverted()) wording.add(subject);
  wording.add(middle(clause));
  if (clause.modal)
    wording.add(infinitive(*clause.verb), &clause.verb);
  else if (clause.verb)
    wording.add(clause.verb->particle, &clause.verb);
  return wording;
}

/// A clause with the verb last, joined with its particle.
Wording subordinate_clause(const Clause& clause, const WordPair* const& conjunction) {
  Wording wording;
  wording.add(conjunction->german, &conjunction);
  wording.add(noun_phrase(clause.subject, Case::nominative));
  wording.add(middle(clause));
  if (clause.modal) wording.add(infinitive(*clause.verb), &clause.verb);
  bool joined = clause.verb && !clause.modal;
  wording.add(std::string(joined ? clause.verb->particle : "") + finite_verb(clause), finite_part(clause));
  return wording;
}

}  // namespace

Wording german(const Sentence& sentence) {
  Wording wording = main_clause(sentence.main, sentence);
  if (sentence.conjunction) {
    Wording subordinate = subordinate_clause(sentence.subordinate, sentence.conjunction);
    if (sentence.subordinate_first) std::swap(wording, subordinate);
    wording.add_comma();
    wording.add(subordinate);
  }
  bool asks = sentence.question || sentence.main.subject.pronoun == &who();
  wording.make_sentence(asks ? "?" : ".");
  return wording;
}

}  // namespace sixfold::demo
