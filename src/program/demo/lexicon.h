#pragma once
#include <span>
#include <string>

/// The words of the demo corpus (grammar.h). Each English word has one reading and therefore one German
/// translation. Entries include what German grammar needs besides the word: gender, plural, case.
namespace sixfold::demo {

enum class Gender { masculine, feminine, neuter };
enum class Case { nominative, accusative, dative };

/// The kind of thing that a noun denotes. Verbs and adjectives list the kinds that they go with, as a sum of
/// these bits.
enum Kind : unsigned {
  person = 1,       // man, woman, boy, girl: without possessives
  role = 2,         // king, doctor, child
  kin = 4,          // brother, aunt: without large numbers
  parent = 8,       // father, mother: one of each
  animal = 16,      //
  food = 32,        //
  text = 64,        // can be written and read
  newspaper = 128,  // can only be read
  thing = 256,      //
  closable = 512,   // door, window, box
  place = 1024,     //
  people = person | role | kin | parent,
  living = people | animal,
  goods = food | text | newspaper | thing,
  anything = 2047,
};

struct Noun {
  const char* english;
  const char* english_plural;
  const char* german;
  const char* german_plural;  // nominative
  Gender gender;
  Kind kind;
  bool weak = false;  // der Junge, den Jungen: has the plural's form outside the nominative
};

struct Adjective {
  const char* english;
  const char* german;  // as a predicate: "teuer"
  const char* stem;    // before an ending: "teur-"
  unsigned kinds;
  bool passing = false;  // describes a temporary state, so that it can be combined with a time
};

/// The declension of a determiner, which also decides the endings of adjectives after it.
enum class Declension { article, der_word, ein_word };

struct Determiner {
  const char* english;
  const char* english_plural;  // nullptr: only singular
  const char* stem;
  Declension declension;
  bool possessive = false;
  bool quantifier = false;  // "a", "every", "no": not the subject of a negated sentence
};

/// The verb form that a subject needs.
enum class Agreement { i, he, they };

struct Pronoun {
  const char* english;
  const char* english_object;
  const char* german[3];  // by case
  Agreement agreement;
  bool first_person = false;
};

/// The prepositions, as bits that a verb can name.
enum Link : unsigned { in = 1, with = 2, for_ = 4, without = 8, to = 16 };

struct Preposition {
  const char* english;
  const char* german;
  Case governs;    // of its object in German
  unsigned kinds;  // of its object
  Link link;
};

struct Verb {
  const char* english;     // "read"
  const char* english_he;  // "reads"
  const char* english_particle;
  const char* infinitive;  // without the particle; also the form of "wir" and "sie"
  const char* ich;
  const char* er;
  const char* particle;  // separable: "an" of "anrufen"
  unsigned subjects;     // kinds
  unsigned objects = 0;  // kinds; 0: none
  Case governs = Case::accusative;
  bool indirect = false;  // takes an indirect object: gives somebody something
  unsigned links = 0;     // prepositions that may follow
  bool lasting = false;   // describes a lasting state ("have", "love"), so that it is not combined with a time
};

/// A verb with an object clause: "says that", "asks whether".
struct ClauseVerb {
  Verb verb;
  bool that;
  bool whether;
};

struct Modal {
  const char* english;     // "want to"
  const char* english_he;  // "wants to"
  const char* singular;
  const char* plural;
  bool needs_do = false;  // "Does he want to", but "Can he"
};

struct Adverbial {
  const char* english;
  const char* german;
  bool frequency = false;  // in English before the verb and never first in the sentence
};

struct WordPair {
  const char* english;
  const char* german;
};

std::span<const Noun> nouns();
std::span<const Adjective> adjectives();
std::span<const Determiner> determiners();
/// I, he, she, we, they.
std::span<const Pronoun> pronouns();
/// The interrogative pronoun "who".
const Pronoun& who();
std::span<const Preposition> prepositions();
std::span<const Verb> verbs();
std::span<const ClauseVerb> clause_verbs();
std::span<const Modal> modals();
std::span<const Adverbial> adverbials();
/// because, when: conjunctions of clauses that may come first or last.
std::span<const WordPair> adverbial_conjunctions();
const WordPair& that_conjunction();
const WordPair& whether_conjunction();
/// why, where, in this order.
std::span<const WordPair> question_words();

/// A number from 2 to 99 in words: "twenty-one", "einundzwanzig".
std::string english_number(int n);
std::string german_number(int n);

}  // namespace sixfold::demo
