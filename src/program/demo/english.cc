#include <string_view>

#include "base/error.h"
#include "program/demo/grammar.h"

namespace sixfold::demo {
namespace {

enum class Role { subject, object };

Wording noun_phrase(const NounPhrase& phrase, Role role) {
  Wording wording;
  if (phrase.pronoun) {
    wording.add(role == Role::subject ? phrase.pronoun->english : phrase.pronoun->english_object,
                &phrase.pronoun);
    return wording;
  }
  const char* const adjective = phrase.adjective ? phrase.adjective->english : "";
  const char* const noun = phrase.plural ? phrase.noun->english_plural : phrase.noun->english;
  std::string determiner;
  if (phrase.count > 0) determiner = english_number(phrase.count);
  if (phrase.determiner)
    determiner = phrase.plural ? phrase.determiner->english_plural : phrase.determiner->english;
  const char next = *adjective ? *adjective : *noun;
  if (determiner == "a" && std::string_view("aeiou").find(next) != std::string_view::npos) determiner = "an";
  wording.add(determiner, &phrase.determiner);
  wording.add(adjective, &phrase.adjective);
  wording.add(noun, &phrase.noun);
  return wording;
}

Agreement agreement(const NounPhrase& subject) {
  if (subject.pronoun) return subject.pronoun->agreement;
  return subject.plural ? Agreement::they : Agreement::he;
}

const char* form_of_be(Agreement agreement) {
  switch (agreement) {
    case Agreement::i:
      return "am";
    case Agreement::he:
      return "is";
    case Agreement::they:
      return "are";
  }
  throw_unknown("agreement", agreement);
}

/// The text after the verb: "him up", "up the boy", "the boy a book", with preposition and time.
Wording complements(const Clause& clause) {
  Wording wording;
  if (clause.indirect) wording.add(noun_phrase(*clause.indirect, Role::object));
  const char* particle = clause.verb ? clause.verb->english_particle : "";
  bool pronoun = clause.object && clause.object->pronoun;
  bool shifts = pronoun && std::string_view(particle) == "up";
  if (!shifts) wording.add(particle, &clause.verb);
  if (clause.object) wording.add(noun_phrase(*clause.object, Role::object));
  if (shifts) wording.add(particle, &clause.verb);
  if (clause.preposition) {
    wording.add(clause.preposition->english, &clause.preposition);
    wording.add(noun_phrase(clause.prepositional, Role::object));
  }
  return wording;
}

/// The adverb before the verb, such as "often", if there is one.
const char* frequency(const Clause& clause) {
  return clause.adverbial && clause.adverbial->frequency ? clause.adverbial->english : "";
}

/// The adverbial at the end, such as "today", if there is one.
const char* final_time(const Clause& clause) {
  bool last = clause.adverbial && !clause.adverbial->frequency && !clause.adverbial_first;
  return last ? clause.adverbial->english : "";
}

Wording predicate(const Clause& clause) {
  Wording wording;
  wording.add(clause.negated ? "not" : "", &clause.negated);
  wording.add(frequency(clause), &clause.adverbial);
  wording.add(clause.predicate->english, &clause.predicate);
  return wording;
}

Wording statement(const Clause& clause) {
  Wording wording;
  wording.add(clause.adverbial_first ? clause.adverbial->english : "", &clause.adverbial);
  Agreement form = agreement(clause.subject);
  wording.add(noun_phrase(clause.subject, Role::subject));
  if (clause.predicate) {
    wording.add(form_of_be(form), &clause.verb);
    wording.add(predicate(clause));
  } else {
    wording.add(frequency(clause), &clause.adverbial);
    bool he = form == Agreement::he;
    if (clause.modal) wording.add(he ? clause.modal->english_he : clause.modal->english, &clause.modal);
    wording.add(he && !clause.modal ? clause.verb->english_he : clause.verb->english, &clause.verb);
    wording.add(complements(clause));
  }
  wording.add(final_time(clause), &clause.adverbial);
  return wording;
}

Wording question(const Clause& clause) {
  Agreement form = agreement(clause.subject);
  bool needs_do = !clause.modal || clause.modal->needs_do;
  Wording wording;
  if (clause.predicate)
    wording.add(form_of_be(form), &clause.verb);
  else if (needs_do)
    wording.add(form == Agreement::he ? "does" : "do",
                clause.modal ? static_cast<const void*>(&clause.modal) : &clause.verb);
  else
    wording.add(clause.modal->english, &clause.modal);
  wording.add(noun_phrase(clause.subject, Role::subject));
  if (clause.predicate) {
    wording.add(predicate(clause));
  } else {
    wording.add(frequency(clause), &clause.adverbial);
    if (clause.modal && needs_do) wording.add(clause.modal->english, &clause.modal);
    wording.add(clause.verb->english, &clause.verb);
    wording.add(complements(clause));
  }
  wording.add(final_time(clause), &clause.adverbial);
  return wording;
}

}  // namespace

Wording english(const Sentence& sentence) {
  Wording wording, main;
  main.add(sentence.question_word ? sentence.question_word->english : "", &sentence.question_word);
  main.add(sentence.question ? question(sentence.main) : statement(sentence.main));
  Wording subordinate;
  if (sentence.conjunction) {
    subordinate.add(sentence.conjunction->english, &sentence.conjunction);
    subordinate.add(statement(sentence.subordinate));
  }
  if (sentence.subordinate_first) subordinate.add_comma();
  wording.add(sentence.subordinate_first ? subordinate : main);
  wording.add(sentence.subordinate_first ? main : subordinate);
  bool asks = sentence.question || sentence.main.subject.pronoun == &who();
  wording.make_sentence(asks ? "?" : ".");
  return wording;
}

}  // namespace sixfold::demo
