#include <string_view>

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

std::string noun_phrase(const NounPhrase& phrase, Case governed) {
  int which_case = static_cast<int>(governed);
  if (phrase.pronoun) return phrase.pronoun->german[which_case];
  int column = phrase.plural ? 3 : static_cast<int>(phrase.noun->gender);
  std::string text = determiner(phrase, which_case, column);
  add_words(text, adjective(phrase, which_case, column));
  add_words(text, noun(phrase, governed));
  return text;
}

std::string prepositional_phrase(const Preposition& preposition, const NounPhrase& phrase) {
  std::string text = preposition.german;
  add_words(text, noun_phrase(phrase, preposition.governs));
  constexpr std::string_view contractions[][2] = {{"in dem ", "im "}, {"zu dem ", "zum "}, {"zu der ", "zur "}};
  for (auto [full, fused] : contractions)
    if (text.starts_with(full)) text.replace(0, full.size(), fused);
  return text;
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
std::string middle(const Clause& clause) {
  std::string pronouns, nouns;
  if (clause.indirect)
    add_words(clause.indirect->pronoun ? pronouns : nouns, noun_phrase(*clause.indirect, Case::dative));
  if (clause.object)
    add_words(clause.object->pronoun ? pronouns : nouns, noun_phrase(*clause.object, clause.verb->governs));
  std::string text = pronouns;
  if (clause.adverbial && !clause.adverbial_first) add_words(text, clause.adverbial->german);
  add_words(text, nouns);
  if (clause.preposition) add_words(text, prepositional_phrase(*clause.preposition, clause.prepositional));
  if (clause.negated) add_words(text, "nicht");
  if (clause.predicate) add_words(text, clause.predicate->german);
  return text;
}

std::string infinitive(const Verb& verb) { return std::string(verb.particle) + verb.infinitive; }

/// A clause with the verb second: after the subject, or after another first element (a clause, an adverb, a
/// question word).
std::string main_clause(const Clause& clause, const Sentence& sentence) {
  std::string subject = noun_phrase(clause.subject, Case::nominative);
  std::string text = sentence.question_word ? sentence.question_word->german : "";
  if (clause.adverbial_first) add_words(text, clause.adverbial->german);
  if (!sentence.inverted()) add_words(text, subject);
  add_words(text, finite_verb(clause));
  if (sentence.inverted()) add_words(text, subject);
  add_words(text, middle(clause));
  if (clause.modal)
    add_words(text, infinitive(*clause.verb));
  else if (clause.verb)
    add_words(text, clause.verb->particle);
  return text;
}

/// A clause with the verb last, joined with its particle.
std::string subordinate_clause(const Clause& clause, const WordPair& conjunction) {
  std::string text = conjunction.german;
  add_words(text, noun_phrase(clause.subject, Case::nominative));
  add_words(text, middle(clause));
  if (clause.modal) add_words(text, infinitive(*clause.verb));
  bool joined = clause.verb && !clause.modal;
  add_words(text, std::string(joined ? clause.verb->particle : "") + finite_verb(clause));
  return text;
}

}  // namespace

std::string german(const Sentence& sentence) {
  std::string text = main_clause(sentence.main, sentence);
  if (sentence.conjunction) {
    std::string subordinate = subordinate_clause(sentence.subordinate, *sentence.conjunction);
    text = sentence.subordinate_first ? subordinate + ", " + text : text + ", " + subordinate;
  }
  if (text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  bool asks = sentence.question || sentence.main.subject.pronoun == &who();
  return text + (asks ? "?" : ".");
}

}  // namespace sixfold::demo
