#include "program/demo/sampler.h"

#include <algorithm>
#include <vector>

namespace sixfold::demo {
namespace {

constexpr int min_words = 4, max_words = 14;

bool says(const NounPhrase& phrase, std::string_view determiner) {
  return phrase.determiner && phrase.determiner->english == determiner;
}

std::vector<const NounPhrase*> noun_phrases(const Clause& clause) {
  std::vector<const NounPhrase*> phrases = {&clause.subject};
  if (clause.indirect) phrases.push_back(&*clause.indirect);
  if (clause.object) phrases.push_back(&*clause.object);
  if (clause.preposition) phrases.push_back(&clause.prepositional);
  return phrases;
}

/// Whether the pronouns of subject and object do not go together: "I see us", or German "sie" for both. Such
/// sentences are correct but unusual.
bool clash(const Pronoun& subject, const Pronoun& other) {
  return (subject.first_person && other.first_person) || std::string_view(subject.german[0]) == other.german[0];
}

/// Whether the clause is natural and means the same in both languages.
bool natural(const Clause& clause, bool inverted) {
  int negations = clause.negated;
  int places = 0;
  const NounPhrase& subject = clause.subject;
  for (const NounPhrase* phrase : noun_phrases(clause)) {
    bool denies = says(*phrase, "no");
    negations += denies;
    places += phrase->noun && phrase->noun->kind == place;
    if (phrase == &subject) continue;
    if (phrase->pronoun && subject.pronoun && clash(*subject.pronoun, *phrase->pronoun)) return false;
    bool after_preposition = phrase == &clause.prepositional;
    if (denies && after_preposition) return false;
    // In German, a pronoun object would come before a noun subject after the verb: "Heute hilft ihm die Frau."
    if (phrase->pronoun && !after_preposition && inverted && !subject.pronoun) return false;
  }
  // With a modal or an adverb, negation means different things in the two languages ("must not", "muss nicht").
  if (negations > 0 && (clause.modal || clause.adverbial)) return false;
  bool quantified = subject.determiner && subject.determiner->quantifier;
  return negations <= 1 && places <= 1 && !(clause.negated && quantified);
}

bool at_a_time(const Clause& clause) { return clause.adverbial && !clause.adverbial->frequency; }

bool noun_twice(std::vector<const NounPhrase*> phrases) {
  std::erase_if(phrases, [](const NounPhrase* phrase) { return !phrase->noun; });
  auto name = [](const NounPhrase* phrase) { return phrase->noun->english; };
  std::ranges::sort(phrases, std::less<>(), name);
  return std::ranges::adjacent_find(phrases, std::equal_to<>(), name) != phrases.end();
}

bool natural(const Sentence& sentence) {
  if (!natural(sentence.main, sentence.inverted())) return false;
  std::vector<const NounPhrase*> phrases = noun_phrases(sentence.main);
  if (sentence.conjunction) {
    if (!natural(sentence.subordinate, false)) return false;
    if (at_a_time(sentence.main) && at_a_time(sentence.subordinate)) return false;
    for (const NounPhrase* phrase : noun_phrases(sentence.subordinate)) phrases.push_back(phrase);
  }
  const Pronoun* subject = sentence.main.subject.pronoun;
  bool asks_oneself =
      sentence.question && !sentence.question_word && subject && subject->agreement == Agreement::i;
  if (asks_oneself || noun_twice(phrases)) return false;
  const auto words = std::ssize(english(sentence).words());
  return words >= min_words && words <= max_words;
}

unsigned kinds_of(const Noun& noun) { return noun.kind; }
unsigned kinds_of(const Adjective& adjective) { return adjective.kinds; }

}  // namespace

template <class Word>
const Word& Sampler::pick(std::span<const Word> words) {
  return words[static_cast<size_t>(below(static_cast<int>(words.size())))];
}

template <class Word>
const Word& Sampler::pick_for(std::span<const Word> words, unsigned kinds) {
  while (true) {
    const Word& word = pick(words);
    if (kinds_of(word) & kinds) return word;
  }
}

Sentence Sampler::draw() {
  while (true) {
    Sentence drawn = sentence();
    if (natural(drawn)) return drawn;
  }
}

Sentence Sampler::sentence() {
  Sentence drawn;
  int kind = below(100);
  if (kind < 45) {  // a statement
    drawn.main = clause();
    put_time_first(drawn.main);
  } else if (kind < 70) {  // a question
    drawn.main = clause();
    const NounPhrase& asked = drawn.main.subject;
    if (chance(30) && (asked.pronoun || (asked.noun->kind & people))) {
      drawn.main.subject = {.pronoun = &who()};
    } else {
      drawn.question = true;
      bool somewhere = drawn.main.verb && (drawn.main.verb->links & in) && !drawn.main.preposition;
      if (chance(45)) drawn.question_word = &question_words()[somewhere ? below(2) : 0];
    }
  } else if (kind < 88) {  // because, when
    drawn.main = clause();
    drawn.subordinate = clause();
    drawn.conjunction = &pick(adverbial_conjunctions());
    drawn.subordinate_first = chance(50);
    if (!drawn.subordinate_first) put_time_first(drawn.main);
  } else {  // that, whether
    const ClauseVerb& reporting = pick(clause_verbs());
    drawn.main = reporting_clause(reporting);
    drawn.subordinate = clause();
    bool that = reporting.that && (!reporting.whether || chance(50));
    drawn.conjunction = that ? &that_conjunction() : &whether_conjunction();
  }
  return drawn;
}

Clause Sampler::clause() {
  if (chance(15)) return predicate_clause();
  Clause drawn;
  drawn.verb = &pick(verbs());
  drawn.subject = subject(drawn.verb->subjects);
  add_objects(drawn);
  add_preposition(drawn);
  add_modal_and_time(drawn);
  return drawn;
}

Clause Sampler::predicate_clause() {
  Clause drawn;
  drawn.subject = subject(anything);
  if (!drawn.subject.pronoun) drawn.subject.adjective = nullptr;
  drawn.predicate = &pick_for(adjectives(), drawn.subject.noun ? drawn.subject.noun->kind : person);
  drawn.negated = chance(30);
  if (drawn.predicate->passing && chance(50)) add_adverbial(drawn, chance(30));
  return drawn;
}

/// "The man often says", "Today the man wants to know". The time is never last, where it would seem to belong
/// to the other clause.
Clause Sampler::reporting_clause(const ClauseVerb& reporting) {
  Clause drawn;
  drawn.verb = &reporting.verb;
  drawn.subject = subject(people);
  add_modal_and_time(drawn);
  drawn.adverbial_first = drawn.adverbial && !drawn.adverbial->frequency;
  return drawn;
}

void Sampler::add_modal_and_time(Clause& clause) {
  if (chance(25)) clause.modal = &pick(modals());
  if (clause.verb->lasting) return;
  if (!clause.modal && chance(15))
    add_adverbial(clause, true);
  else if (chance(35))
    add_adverbial(clause, false);
}

void Sampler::add_adverbial(Clause& clause, bool frequency) {
  do clause.adverbial = &pick(adverbials());
  while (clause.adverbial->frequency != frequency);
}

void Sampler::put_time_first(Clause& clause) {
  clause.adverbial_first = clause.adverbial && !clause.adverbial->frequency && chance(60);
}

void Sampler::add_objects(Clause& clause) {
  if (clause.verb->indirect) clause.indirect = object(people);
  if (!clause.verb->objects) return;
  // After an indirect object, a pronoun would change the order ("gibt sie ihm"), and a noun without determiner
  // would be ambiguous ("gives her books").
  clause.object = clause.indirect ? determined_phrase(clause.verb->objects) : object(clause.verb->objects);
}

void Sampler::add_preposition(Clause& clause) {
  unsigned links = clause.verb->links;
  bool needed = links == to;  // "goes" needs a destination
  if (!links || !(needed || chance(clause.object ? 20 : 60))) return;
  do clause.preposition = &pick(prepositions());
  while (!(clause.preposition->link & links));
  clause.prepositional = clause.preposition->link == in ? location() : object(clause.preposition->kinds);
}

NounPhrase Sampler::subject(unsigned kinds) {
  if ((kinds & person) && chance(30)) return {.pronoun = &pick(pronouns())};
  return determined_phrase(kinds);  // "Old women sing" would be a statement about all of them
}

NounPhrase Sampler::object(unsigned kinds) {
  if ((kinds & person) && chance(20)) return {.pronoun = &pick(pronouns())};
  return noun_phrase(kinds);
}

/// A definite place: "in the old garden", "in my house".
NounPhrase Sampler::location() {
  while (true) {
    NounPhrase phrase = noun_phrase(place);
    if (!phrase.plural && !says(phrase, "every") && !says(phrase, "no")) return phrase;
  }
}

/// A noun phrase with a determiner or a number.
NounPhrase Sampler::determined_phrase(unsigned kinds) {
  while (true) {
    NounPhrase phrase = noun_phrase(kinds);
    if (phrase.determiner || phrase.count) return phrase;
  }
}

NounPhrase Sampler::noun_phrase(unsigned kinds) {
  NounPhrase phrase;
  phrase.noun = &pick_for(nouns(), kinds);
  determine(phrase);
  if (chance(35)) phrase.adjective = &pick_for(adjectives(), phrase.noun->kind);
  return phrase;
}

void Sampler::determine(NounPhrase& phrase) {
  Kind kind = phrase.noun->kind;
  bool owned = kind != person, family = kind == kin || kind == parent;
  if (!family && chance(28)) {
    phrase.count = 2 + below(98);
    phrase.plural = true;
    return;
  }
  phrase.plural = kind != parent && chance(30);
  if (phrase.plural && !family && chance(20)) return;  // "old women"
  if (owned && chance(family ? 60 : 25)) {
    do phrase.determiner = &pick(determiners());
    while (!phrase.determiner->possessive);
  } else if (chance(40)) {
    phrase.determiner = &determiners().front();  // "the"
  } else {
    do phrase.determiner = &pick(determiners());
    while (phrase.determiner->possessive || (phrase.plural && !phrase.determiner->english_plural));
  }
}

}  // namespace sixfold::demo
