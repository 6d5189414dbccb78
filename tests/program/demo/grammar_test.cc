#include "program/demo/grammar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string_view>

#include "base/error.h"

namespace sixfold::demo {
namespace {

template <class Word>
const Word& find(std::span<const Word> words, std::string_view english) {
  for (const Word& word : words)
    if (word.english == english) return word;
  throw_input_error("the lexicon has no \"{}\"", english);
}

/// "he", "him", or a determiner, a number or nothing, perhaps an adjective, and a noun: read from English.
NounPhrase phrase(const std::string& text) {
  NounPhrase result;
  for (const Pronoun& pronoun : pronouns())
    if (text == pronoun.english || text == pronoun.english_object) return {.pronoun = &pronoun};
  if (text == "who") return {.pronoun = &who()};
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word == "an") word = "a";
    for (const Determiner& entry : determiners())
      if (word == entry.english || (entry.english_plural && word == entry.english_plural))
        result.determiner = &entry;
    for (int n = 2; n <= 99; ++n)
      if (word == english_number(n)) result.count = n;
    for (const Adjective& entry : adjectives())
      if (word == entry.english) result.adjective = &entry;
    for (const Noun& entry : nouns()) {
      if (word != entry.english && word != entry.english_plural) continue;
      result.noun = &entry;
      result.plural = word == entry.english_plural;
    }
  }
  if (!result.noun) throw_input_error("no noun in \"{}\"", text);
  return result;
}

/// The verb with this English base form and particle ("pick up", "go").
const Verb* verb(const std::string& text) {
  for (const Verb& entry : verbs()) {
    std::string particle = entry.english_particle;
    if (text == (particle.empty() ? entry.english : entry.english + (" " + particle))) return &entry;
  }
  throw_input_error("the lexicon has no \"{}\"", text);
}

Clause does(const std::string& subject, const std::string& what, const std::string& object = "") {
  Clause clause;
  clause.subject = phrase(subject);
  clause.verb = verb(what);
  if (!object.empty()) clause.object = phrase(object);
  return clause;
}

Clause is(const std::string& subject, const std::string& predicate) {
  Clause clause;
  clause.subject = phrase(subject);
  clause.predicate = &find(adjectives(), predicate);
  return clause;
}

Clause reports(const std::string& subject, const std::string& what) {
  Clause clause;
  clause.subject = phrase(subject);
  for (const ClauseVerb& entry : clause_verbs())
    if (entry.verb.english == what) clause.verb = &entry.verb;
  return clause;
}

Clause to_whom(Clause clause, const std::string& indirect) {
  clause.indirect = phrase(indirect);
  return clause;
}

Clause modal(Clause clause, std::string_view word) {
  clause.modal = &find(modals(), word);
  return clause;
}

Clause where(Clause clause, std::string_view preposition, const std::string& object) {
  clause.preposition = &find(prepositions(), preposition);
  clause.prepositional = phrase(object);
  return clause;
}

Clause when(Clause clause, std::string_view time, bool first = false) {
  clause.adverbial = &find(adverbials(), time);
  clause.adverbial_first = first;
  return clause;
}

Clause negated(Clause clause) {
  clause.negated = true;
  return clause;
}

Sentence ask(Clause clause, const WordPair* question_word = nullptr) {
  Sentence sentence;
  sentence.main = std::move(clause);
  sentence.question = true;
  sentence.question_word = question_word;
  return sentence;
}

Sentence join(Clause main, const WordPair& conjunction, Clause subordinate, bool subordinate_first = false) {
  Sentence sentence;
  sentence.main = std::move(main);
  sentence.conjunction = &conjunction;
  sentence.subordinate = std::move(subordinate);
  sentence.subordinate_first = subordinate_first;
  return sentence;
}

constexpr bool first = true;

void expect(const Sentence& sentence, std::string_view in_english, std::string_view in_german) {
  EXPECT_EQ(english(sentence).text(), in_english);
  EXPECT_EQ(german(sentence).text(), in_german);
}

void expect(Clause clause, std::string_view in_english, std::string_view in_german) {
  Sentence sentence;
  sentence.main = std::move(clause);
  expect(sentence, in_english, in_german);
}

TEST(DemoGrammar, ArticleAdjectiveAndNounAgree) {
  expect(does("the old woman", "read", "a new book"), "The old woman reads a new book.",
         "Die alte Frau liest ein neues Buch.");
  expect(does("a small girl", "eat", "the red apple"), "A small girl eats the red apple.",
         "Ein kleines Mädchen isst den roten Apfel.");
  expect(does("my strong brother", "have", "an expensive coat"), "My strong brother has an expensive coat.",
         "Mein starker Bruder hat einen teuren Mantel.");
  expect(does("these boys", "buy", "old books"), "These boys buy old books.",
         "Diese Jungen kaufen alte Bücher.");
  expect(does("every child", "love", "this white horse"), "Every child loves this white horse.",
         "Jedes Kind liebt dieses weiße Pferd.");
  expect(does("no dog", "follow", "our sick cat"), "No dog follows our sick cat.",
         "Kein Hund folgt unserer kranken Katze.");
  expect(does("we", "need", "her cheap lamps"), "We need her cheap lamps.",
         "Wir brauchen ihre billigen Lampen.");
  expect(is("this expensive car", "green"), "This expensive car is green.", "Dieses teure Auto ist grün.");
  expect(where(does("the mouse", "sleep"), "in", "a dark room"), "The mouse sleeps in a dark room.",
         "Die Maus schläft in einem dunklen Zimmer.");
}

TEST(DemoGrammar, DativeTakesItsEndings) {
  expect(does("the teacher", "help", "the young women"), "The teacher helps the young women.",
         "Der Lehrer hilft den jungen Frauen.");
  expect(does("I", "thank", "her rich uncles"), "I thank her rich uncles.", "Ich danke ihren reichen Onkeln.");
  expect(does("they", "help", "old kings"), "They help old kings.", "Sie helfen alten Königen.");
  expect(does("he", "listen to", "his clever daughter"), "He listens to his clever daughter.",
         "Er hört seiner klugen Tochter zu.");
  expect(does("the dogs", "follow", "a small bird"), "The dogs follow a small bird.",
         "Die Hunde folgen einem kleinen Vogel.");
}

TEST(DemoGrammar, WeakNounsChangeOutsideTheNominative) {
  expect(does("the boy", "see", "the boy"), "The boy sees the boy.", "Der Junge sieht den Jungen.");
  expect(does("a prince", "thank", "a friendly prince"), "A prince thanks a friendly prince.",
         "Ein Prinz dankt einem freundlichen Prinzen.");
  expect(does("she", "find", "our bear"), "She finds our bear.", "Sie findet unseren Bären.");
}

TEST(DemoGrammar, GivingTakesDativeBeforeAccusative) {
  expect(to_whom(does("the queen", "give", "a flower"), "the boy"), "The queen gives the boy a flower.",
         "Die Königin gibt dem Jungen eine Blume.");
  expect(to_whom(does("he", "show", "the big city"), "us"), "He shows us the big city.",
         "Er zeigt uns die große Stadt.");
  expect(when(to_whom(does("my aunt", "send", "a letter"), "me"), "today"), "My aunt sends me a letter today.",
         "Meine Tante schickt mir heute einen Brief.");
}

TEST(DemoGrammar, VerbStandsSecond) {
  expect(when(does("the old woman", "read", "a book"), "today", first), "Today the old woman reads a book.",
         "Heute liest die alte Frau ein Buch.");
  expect(when(does("he", "help", "me"), "in the evening", first), "In the evening he helps me.",
         "Am Abend hilft er mir.");
  expect(when(does("she", "see", "him"), "every day"), "She sees him every day.", "Sie sieht ihn jeden Tag.");
  expect(when(does("the man", "buy", "an egg"), "often"), "The man often buys an egg.",
         "Der Mann kauft oft ein Ei.");
  expect(when(is("I", "tired"), "always"), "I am always tired.", "Ich bin immer müde.");
  expect(negated(is("the flowers", "blue")), "The flowers are not blue.", "Die Blumen sind nicht blau.");
}

TEST(DemoGrammar, SeparableVerbsPartAndJoin) {
  expect(does("he", "call", "his brother"), "He calls his brother.", "Er ruft seinen Bruder an.");
  expect(does("the man", "pick up", "his son"), "The man picks up his son.", "Der Mann holt seinen Sohn ab.");
  expect(does("the man", "pick up", "him"), "The man picks him up.", "Der Mann holt ihn ab.");
  expect(when(does("their father", "open", "the windows"), "on Sunday", first),
         "On Sunday their father opens the windows.", "Am Sonntag macht ihr Vater die Fenster auf.");
  expect(modal(does("we", "invite", "the doctor"), "want to"), "We want to invite the doctor.",
         "Wir wollen den Arzt einladen.");
  expect(
      join(does("she", "laugh"), find(adverbial_conjunctions(), "because"), does("he", "call", "his brother")),
      "She laughs because he calls his brother.", "Sie lacht, weil er seinen Bruder anruft.");
  expect(join(reports("I", "hope"), that_conjunction(),
              where(does("the children", "come back"), "without", "the mouse")),
         "I hope that the children come back without the mouse.",
         "Ich hoffe, dass die Kinder ohne die Maus zurückkommen.");
}

TEST(DemoGrammar, ModalsSendTheInfinitiveLast) {
  expect(modal(does("the child", "read", "the newspaper"), "can"), "The child can read the newspaper.",
         "Das Kind kann die Zeitung lesen.");
  expect(when(modal(does("we", "work"), "must"), "in winter", first), "In winter we must work.",
         "Im Winter müssen wir arbeiten.");
  expect(modal(does("they", "ask", "the teacher"), "should"), "They should ask the teacher.",
         "Sie sollten den Lehrer fragen.");
  expect(join(reports("he", "know"), that_conjunction(), modal(does("she", "pick up", "them"), "want to")),
         "He knows that she wants to pick them up.", "Er weiß, dass sie sie abholen will.");
}

TEST(DemoGrammar, SubordinateClausesEndInTheVerb) {
  const WordPair& because = find(adverbial_conjunctions(), "because");
  const WordPair& whenever = find(adverbial_conjunctions(), "when");
  expect(join(does("the mother", "call", "the doctor"), because, is("the child", "sick"), first),
         "Because the child is sick, the mother calls the doctor.",
         "Weil das Kind krank ist, ruft die Mutter den Arzt an.");
  expect(join(does("the dogs", "play"), whenever, where(does("the king", "sleep"), "in", "the garden")),
         "The dogs play when the king sleeps in the garden.",
         "Die Hunde spielen, wenn der König im Garten schläft.");
  expect(
      join(reports("the girl", "ask"), whether_conjunction(), when(does("her uncle", "help", "us"), "today")),
      "The girl asks whether her uncle helps us today.", "Das Mädchen fragt, ob ihr Onkel uns heute hilft.");
  expect(join(modal(reports("the prince", "know"), "want to"), whether_conjunction(), is("the pears", "green")),
         "The prince wants to know whether the pears are green.",
         "Der Prinz will wissen, ob die Birnen grün sind.");
  expect(join(reports("they", "say"), that_conjunction(), modal(does("his son", "write", "a letter"), "must")),
         "They say that his son must write a letter.", "Sie sagen, dass sein Sohn einen Brief schreiben muss.");
}

TEST(DemoGrammar, PrepositionsGovernACase) {
  expect(where(does("the girl", "play"), "with", "the small dogs"), "The girl plays with the small dogs.",
         "Das Mädchen spielt mit den kleinen Hunden.");
  expect(where(does("she", "buy", "a key"), "for", "her brother"), "She buys a key for her brother.",
         "Sie kauft einen Schlüssel für ihren Bruder.");
  expect(where(does("he", "go"), "to", "the old doctor"), "He goes to the old doctor.",
         "Er geht zum alten Arzt.");
  expect(where(does("I", "go"), "to", "the queen"), "I go to the queen.", "Ich gehe zur Königin.");
  expect(where(does("the boys", "go"), "to", "the aunts"), "The boys go to the aunts.",
         "Die Jungen gehen zu den Tanten.");
  expect(where(does("the cats", "sleep"), "in", "the kitchen"), "The cats sleep in the kitchen.",
         "Die Katzen schlafen in der Küche.");
  expect(where(does("we", "work"), "with", "him"), "We work with him.", "Wir arbeiten mit ihm.");
}

TEST(DemoGrammar, QuestionsPutTheVerbFirst) {
  expect(ask(does("the man", "read", "the letter")), "Does the man read the letter?",
         "Liest der Mann den Brief?");
  expect(ask(modal(does("our son", "open", "the box"), "can")), "Can our son open the box?",
         "Kann unser Sohn die Kiste aufmachen?");
  expect(ask(modal(does("the teacher", "sing"), "want to")), "Does the teacher want to sing?",
         "Will der Lehrer singen?");
  expect(ask(is("the women", "happy")), "Are the women happy?", "Sind die Frauen glücklich?");
  expect(ask(does("the child", "sleep"), &find(question_words(), "where")), "Where does the child sleep?",
         "Wo schläft das Kind?");
  expect(ask(does("the boys", "laugh"), &find(question_words(), "why")), "Why do the boys laugh?",
         "Warum lachen die Jungen?");
  expect(does("who", "help", "the child"), "Who helps the child?", "Wer hilft dem Kind?");
}

TEST(DemoGrammar, NumbersTakeThePlural) {
  expect(does("twenty-one old men", "read", "a book"), "Twenty-one old men read a book.",
         "Einundzwanzig alte Männer lesen ein Buch.");
  expect(where(does("he", "play"), "with", "seven small cats"), "He plays with seven small cats.",
         "Er spielt mit sieben kleinen Katzen.");
  expect(does("she", "thank", "thirty-six girls"), "She thanks thirty-six girls.",
         "Sie dankt sechsunddreißig Mädchen.");
  expect(does("they", "follow", "twelve new cars"), "They follow twelve new cars.",
         "Sie folgen zwölf neuen Autos.");
}

TEST(DemoLexicon, CountsFromTwoToNinetyNine) {
  const std::pair<int, std::pair<const char*, const char*>> known[] = {
      {2, {"two", "zwei"}},
      {3, {"three", "drei"}},
      {12, {"twelve", "zwölf"}},
      {16, {"sixteen", "sechzehn"}},
      {17, {"seventeen", "siebzehn"}},
      {20, {"twenty", "zwanzig"}},
      {21, {"twenty-one", "einundzwanzig"}},
      {30, {"thirty", "dreißig"}},
      {38, {"thirty-eight", "achtunddreißig"}},
      {45, {"forty-five", "fünfundvierzig"}},
      {66, {"sixty-six", "sechsundsechzig"}},
      {77, {"seventy-seven", "siebenundsiebzig"}},
      {99, {"ninety-nine", "neunundneunzig"}}};
  for (const auto& [n, words] : known) {
    EXPECT_EQ(english_number(n), words.first);
    EXPECT_EQ(german_number(n), words.second);
  }
  std::vector<std::string> english_words, german_words;
  for (int n = 2; n <= 99; ++n) {
    english_words.push_back(english_number(n));
    german_words.push_back(german_number(n));
    // The two languages say tens and ones in opposite order.
    if (n > 20 && n % 10) {
      EXPECT_EQ(english_words.back(),
                english_number(n / 10 * 10) + "-" + (n % 10 == 1 ? "one" : english_number(n % 10)));
      EXPECT_EQ(german_words.back(),
                (n % 10 == 1 ? "ein" : german_number(n % 10)) + "und" + german_number(n / 10 * 10));
    }
  }
  for (auto* words : {&english_words, &german_words}) {
    std::sort(words->begin(), words->end());
    EXPECT_EQ(std::adjacent_find(words->begin(), words->end()), words->end());
  }
  EXPECT_THROW(english_number(1), Error);
  EXPECT_THROW(german_number(100), Error);
}

TEST(DemoLexicon, OneReadingForEachWord) {
  std::vector<std::string> forms;
  for (const Noun& noun : nouns()) forms.insert(forms.end(), {noun.english, noun.english_plural});
  for (const Adjective& adjective : adjectives()) forms.push_back(adjective.english);
  std::sort(forms.begin(), forms.end());
  EXPECT_EQ(std::adjacent_find(forms.begin(), forms.end()), forms.end());
}

/// The whole table of endings, for one noun of each gender and the plural, against a school grammar.
TEST(DemoGrammar, Declension) {
  auto in_case = [](const std::string& text, const char* what) {
    Sentence sentence;
    sentence.main = does("who", what, text);
    std::string words = german(sentence).text();  // "Wer sieht den großen Hund?"
    size_t begin = words.find(' ', 4) + 1;
    return words.substr(begin, words.size() - 1 - begin);
  };
  const char* table[][3] = {
      {"the big dog", "den großen Hund", "dem großen Hund"},
      {"the big cat", "die große Katze", "der großen Katze"},
      {"the big horse", "das große Pferd", "dem großen Pferd"},
      {"the big dogs", "die großen Hunde", "den großen Hunden"},
      {"a big dog", "einen großen Hund", "einem großen Hund"},
      {"a big cat", "eine große Katze", "einer großen Katze"},
      {"a big horse", "ein großes Pferd", "einem großen Pferd"},
      {"our big dogs", "unsere großen Hunde", "unseren großen Hunden"},
      {"this big dog", "diesen großen Hund", "diesem großen Hund"},
      {"every big cat", "jede große Katze", "jeder großen Katze"},
      {"this big horse", "dieses große Pferd", "diesem großen Pferd"},
      {"these big cats", "diese großen Katzen", "diesen großen Katzen"},
      {"no big horses", "keine großen Pferde", "keinen großen Pferden"},
      {"big mice", "große Mäuse", "großen Mäusen"},
      {"two big bears", "zwei große Bären", "zwei großen Bären"},
  };
  for (auto [text, accusative, dative] : table) {
    EXPECT_EQ(in_case(text, "see"), accusative) << text;
    EXPECT_EQ(in_case(text, "help"), dative) << text;
  }
}

}  // namespace
}  // namespace sixfold::demo
