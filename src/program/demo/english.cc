#include <string_view>

#include "base/error.h"
#include "program/demo/grammar.h"

namespace sixfold::demo {
namespace {

enum class Role { subject, object };

std::string noun_phrase(const NounPhrase& phrase, Role role) {
  if (phrase.pronoun) return role == Role::subject ? phrase.pronoun->english : phrase.pronoun->english_object;
  std::string rest = phrase.adjective ? phrase.adjective->english : "";
  add_words(rest, phrase.plural ? phrase.noun->english_plural : phrase.noun->english);
  std::string text;
  if (phrase.count > 0) text = english_number(phrase.count);
  if (phrase.determiner) text = phrase.plural ? phrase.determiner->english_plural : phrase.determiner->english;
  if (text == "a" && std::string_view("aeiou").find(rest[0]) != std::string_view::npos) text = "an";
  add_words(text, rest);
  return text;
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
std::string complements(const Clause& clause) {
  std::string text;
  if (clause.indirect) add_words(text, noun_phrase(*clause.indirect, Role::object));
  const char* particle = clause.verb ? clause.verb->english_particle : "";
  bool pronoun = clause.object && clause.object->pronoun;
  bool shifts = pronoun && std::string_view(particle) == "up";
  if (!shifts) add_words(text, particle);
  if (clause.object) add_words(text, noun_phrase(*clause.object, Role::object));
  if (shifts) add_words(text, particle);
  if (clause.preposition) {
    add_words(text, clause.preposition->english);
    add_words(text, noun_phrase(clause.prepositional, Role::object));
  }
  return text;
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

std::string predicate(const Clause& clause) {
  std::string text = clause.negated ? "not" : "";
  add_words(text, frequency(clause));
  add_words(text, clause.predicate->english);
  return text;
}

std::string statement(const Clause& clause) {
  std::string text = clause.adverbial_first ? clause.adverbial->english : "";
  Agreement form = agreement(clause.subject);
  add_words(text, noun_phrase(clause.subject, Role::subject));
  if (clause.predicate) {
    add_words(text, form_of_be(form));
    add_words(text, predicate(clause));
  } else {
    add_words(text, frequency(clause));
    bool he = form == Agreement::he;
    if (clause.modal) add_words(text, he ? clause.modal->english_he : clause.modal->english);
    add_words(text, he && !clause.modal ? clause.verb->english_he : clause.verb->english);
    add_words(text, complements(clause));
  }
  add_words(text, final_time(clause));
  return text;
}

std::string question(const Clause& clause) {
  Agreement form = agreement(clause.subject);
  bool needs_do = !clause.modal || clause.modal->needs_do;
  std::string text;
  if (clause.predicate)
    text = form_of_be(form);
  else if (needs_do)
    text = form == Agreement::he ? "does" : "do";
  else
    text = clause.modal->english;
  add_words(text, noun_phrase(clause.subject, Role::subject));
  if (clause.predicate) {
    add_words(text, predicate(clause));
  } else {
    add_words(text, frequency(clause));
    if (clause.modal && needs_do) add_words(text, clause.modal->english);
    add_words(text, clause.verb->english);
    add_words(text, complements(clause));
  }
  add_words(text, final_time(clause));
  return text;
}

}  // namespace

std::string english(const Sentence& sentence) {
  std::string text = sentence.question_word ? sentence.question_word->english : "";
  add_words(text, sentence.question ? question(sentence.main) : statement(sentence.main));
  if (sentence.conjunction) {
    std::string subordinate = sentence.conjunction->english;
    add_words(subordinate, statement(sentence.subordinate));
    text = sentence.subordinate_first ? subordinate + ", " + text : text + " " + subordinate;
  }
  text[0] =
      static_cast<char>(text[0] >= 'a' ? text[0] - 'a' + 'A' : text[0]);  // all sentences begin with ASCII
  bool asks = sentence.question || sentence.main.subject.pronoun == &who();
  return text + (asks ? "?" : ".");
}

}  // namespace sixfold::demo
