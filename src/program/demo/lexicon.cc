#include "program/demo/lexicon.h"

#include "base/error.h"

namespace sixfold::demo {
namespace {

constexpr Gender m = Gender::masculine, f = Gender::feminine, n = Gender::neuter;

constexpr Noun noun_table[] = {
    {"man", "men", "Mann", "Männer", m, person},
    {"woman", "women", "Frau", "Frauen", f, person},
    {"boy", "boys", "Junge", "Jungen", m, person, true},
    {"girl", "girls", "Mädchen", "Mädchen", n, person},
    {"king", "kings", "König", "Könige", m, role},
    {"queen", "queens", "Königin", "Königinnen", f, role},
    {"prince", "princes", "Prinz", "Prinzen", m, role, true},
    {"teacher", "teachers", "Lehrer", "Lehrer", m, role},
    {"doctor", "doctors", "Arzt", "Ärzte", m, role},
    {"child", "children", "Kind", "Kinder", n, role},
    {"brother", "brothers", "Bruder", "Brüder", m, kin},
    {"sister", "sisters", "Schwester", "Schwestern", f, kin},
    {"father", "fathers", "Vater", "Väter", m, parent},
    {"mother", "mothers", "Mutter", "Mütter", f, parent},
    {"son", "sons", "Sohn", "Söhne", m, kin},
    {"daughter", "daughters", "Tochter", "Töchter", f, kin},
    {"uncle", "uncles", "Onkel", "Onkel", m, kin},
    {"aunt", "aunts", "Tante", "Tanten", f, kin},
    {"dog", "dogs", "Hund", "Hunde", m, animal},
    {"cat", "cats", "Katze", "Katzen", f, animal},
    {"horse", "horses", "Pferd", "Pferde", n, animal},
    {"bird", "birds", "Vogel", "Vögel", m, animal},
    {"bear", "bears", "Bär", "Bären", m, animal, true},
    {"mouse", "mice", "Maus", "Mäuse", f, animal},
    {"apple", "apples", "Apfel", "Äpfel", m, food},
    {"egg", "eggs", "Ei", "Eier", n, food},
    {"pear", "pears", "Birne", "Birnen", f, food},
    {"cake", "cakes", "Kuchen", "Kuchen", m, food},
    {"book", "books", "Buch", "Bücher", n, text},
    {"letter", "letters", "Brief", "Briefe", m, text},
    {"newspaper", "newspapers", "Zeitung", "Zeitungen", f, newspaper},
    {"key", "keys", "Schlüssel", "Schlüssel", m, thing},
    {"bag", "bags", "Tasche", "Taschen", f, thing},
    {"coat", "coats", "Mantel", "Mäntel", m, thing},
    {"picture", "pictures", "Bild", "Bilder", n, thing},
    {"lamp", "lamps", "Lampe", "Lampen", f, thing},
    {"chair", "chairs", "Stuhl", "Stühle", m, thing},
    {"flower", "flowers", "Blume", "Blumen", f, thing},
    {"car", "cars", "Auto", "Autos", n, thing},
    {"bottle", "bottles", "Flasche", "Flaschen", f, thing},
    {"door", "doors", "Tür", "Türen", f, closable},
    {"window", "windows", "Fenster", "Fenster", n, closable},
    {"box", "boxes", "Kiste", "Kisten", f, closable},
    {"garden", "gardens", "Garten", "Gärten", m, place},
    {"house", "houses", "Haus", "Häuser", n, place},
    {"kitchen", "kitchens", "Küche", "Küchen", f, place},
    {"room", "rooms", "Zimmer", "Zimmer", n, place},
    {"city", "cities", "Stadt", "Städte", f, place},
    {"forest", "forests", "Wald", "Wälder", m, place},
    {"school", "schools", "Schule", "Schulen", f, place},
};

constexpr unsigned made = text | newspaper | thing | closable;

constexpr Adjective adjective_table[] = {
    {"old", "alt", "alt", living | made | place},
    {"young", "jung", "jung", living},
    {"small", "klein", "klein", anything},
    {"big", "groß", "groß", anything},
    {"beautiful", "schön", "schön", living | thing | closable | place},
    {"tired", "müde", "müd", living, true},
    {"friendly", "freundlich", "freundlich", people, true},
    {"happy", "glücklich", "glücklich", people, true},
    {"rich", "reich", "reich", people},
    {"clever", "klug", "klug", living},
    {"sick", "krank", "krank", living, true},
    {"strong", "stark", "stark", living},
    {"new", "neu", "neu", made | place},
    {"red", "rot", "rot", food | thing | closable},
    {"blue", "blau", "blau", thing | closable},
    {"green", "grün", "grün", food | thing | closable},
    {"white", "weiß", "weiß", animal | thing | closable},
    {"black", "schwarz", "schwarz", animal | thing | closable},
    {"heavy", "schwer", "schwer", text | thing | closable},
    {"expensive", "teuer", "teur", food | made},
    {"cheap", "billig", "billig", food | made},
    {"dark", "dunkel", "dunkl", place},
};

constexpr Determiner determiner_table[] = {
    {"the", "the", "d", Declension::article},
    {"this", "these", "dies", Declension::der_word},
    {"every", nullptr, "jed", Declension::der_word, false, true},
    {"a", nullptr, "ein", Declension::ein_word, false, true},
    {"no", "no", "kein", Declension::ein_word, false, true},
    {"my", "my", "mein", Declension::ein_word, true},
    {"his", "his", "sein", Declension::ein_word, true},
    {"her", "her", "ihr", Declension::ein_word, true},
    {"our", "our", "unser", Declension::ein_word, true},
    {"their", "their", "ihr", Declension::ein_word, true},
};

constexpr Pronoun pronoun_table[] = {
    {"I", "me", {"ich", "mich", "mir"}, Agreement::i, true},
    {"he", "him", {"er", "ihn", "ihm"}, Agreement::he},
    {"she", "her", {"sie", "sie", "ihr"}, Agreement::he},
    {"we", "us", {"wir", "uns", "uns"}, Agreement::they, true},
    {"they", "them", {"sie", "sie", "ihnen"}, Agreement::they},
};

constexpr Pronoun asked_subject = {"who", "whom", {"wer", "wen", "wem"}, Agreement::he};

constexpr Preposition preposition_table[] = {
    {"in", "in", Case::dative, place, in},
    {"with", "mit", Case::dative, living, with},
    {"for", "für", Case::accusative, people, for_},
    {"without", "ohne", Case::accusative, living | thing, without},
    {"to", "zu", Case::dative, people, to},
};

constexpr Verb verb_table[] = {
    {"sleep", "sleeps", "", "schlafen", "schlafe", "schläft", "", living, 0, {}, false, in},
    {"work", "works", "", "arbeiten", "arbeite", "arbeitet", "", people, 0, {}, false, in | with | for_},
    {"laugh", "laughs", "", "lachen", "lache", "lacht", "", people, 0, {}, false, in | with},
    {"sing", "sings", "", "singen", "singe", "singt", "", people, 0, {}, false, in | with | for_},
    {"play", "plays", "", "spielen", "spiele", "spielt", "", living, 0, {}, false, in | with},
    {"go", "goes", "", "gehen", "gehe", "geht", "", people, 0, {}, false, to},
    {"go", "goes", "out", "gehen", "gehe", "geht", "aus", people, 0, {}, false, with | without},
    {"come", "comes", "back", "kommen", "komme", "kommt", "zurück", living, 0, {}, false, with | without},

    {"see", "sees", "", "sehen", "sehe", "sieht", "", living, anything, Case::accusative, false, in},
    {"find", "finds", "", "finden", "finde", "findet", "", living, anything, Case::accusative, false, in},
    {"love", "loves", "", "lieben", "liebe", "liebt", "", people, living, Case::accusative, false, 0, true},
    {"ask", "asks", "", "fragen", "frage", "fragt", "", people, people},
    {"visit", "visits", "", "besuchen", "besuche", "besucht", "", people, people, Case::accusative, false,
     with},
    {"call", "calls", "", "rufen", "rufe", "ruft", "an", people, people},
    {"invite", "invites", "", "laden", "lade", "lädt", "ein", people, people},
    {"pick", "picks", "up", "holen", "hole", "holt", "ab", people, people},

    {"buy", "buys", "", "kaufen", "kaufe", "kauft", "", people, goods | animal, Case::accusative, false,
     in | for_},
    {"read", "reads", "", "lesen", "lese", "liest", "", people, text | newspaper, Case::accusative, false, in},
    {"write", "writes", "", "schreiben", "schreibe", "schreibt", "", people, text, Case::accusative, false,
     in | for_},
    {"eat", "eats", "", "essen", "esse", "isst", "", people, food, Case::accusative, false, in | with},
    {"have", "has", "", "haben", "habe", "hat", "", people, goods | animal, Case::accusative, false, 0, true},
    {"need", "needs", "", "brauchen", "brauche", "braucht", "", people, goods | role, Case::accusative, false,
     for_},
    {"open", "opens", "", "machen", "mache", "macht", "auf", people, closable, Case::accusative, false, for_},

    {"help", "helps", "", "helfen", "helfe", "hilft", "", people, living, Case::dative, false, in},
    {"thank", "thanks", "", "danken", "danke", "dankt", "", people, people, Case::dative},
    {"follow", "follows", "", "folgen", "folge", "folgt", "", living, living, Case::dative},
    {"listen", "listens", "to", "hören", "höre", "hört", "zu", people, people, Case::dative, false, in},

    {"give", "gives", "", "geben", "gebe", "gibt", "", people, goods, Case::accusative, true},
    {"show", "shows", "", "zeigen", "zeige", "zeigt", "", people, goods | animal | place, Case::accusative,
     true},
    {"send", "sends", "", "schicken", "schicke", "schickt", "", people, text | thing, Case::accusative, true},
};

constexpr ClauseVerb clause_verb_table[] = {
    {{"say", "says", "", "sagen", "sage", "sagt", "", people}, true, false},
    {{"hope", "hopes", "", "hoffen", "hoffe", "hofft", "", people}, true, false},
    {{"know", "knows", "", "wissen", "weiß", "weiß", "", people, 0, {}, false, 0, true}, true, true},
    {{"ask", "asks", "", "fragen", "frage", "fragt", "", people}, false, true},
};

constexpr Modal modal_table[] = {
    {"can", "can", "kann", "können"},
    {"must", "must", "muss", "müssen"},
    {"should", "should", "sollte", "sollten"},
    {"want to", "wants to", "will", "wollen", true},
};

constexpr Adverbial adverbial_table[] = {
    {"today", "heute"},
    {"now", "jetzt"},
    {"every day", "jeden Tag"},
    {"in the morning", "am Morgen"},
    {"in the evening", "am Abend"},
    {"on Monday", "am Montag"},
    {"on Sunday", "am Sonntag"},
    {"in summer", "im Sommer"},
    {"in winter", "im Winter"},
    {"often", "oft", true},
    {"always", "immer", true},
    {"sometimes", "manchmal", true},
};

constexpr WordPair conjunction_table[] = {{"because", "weil"}, {"when", "wenn"}};
constexpr WordPair that = {"that", "dass"};
constexpr WordPair whether = {"whether", "ob"};
constexpr WordPair question_word_table[] = {{"why", "warum"}, {"where", "wo"}};

constexpr const char* english_small[] = {"",        "one",     "two",       "three",    "four",
                                         "five",    "six",     "seven",     "eight",    "nine",
                                         "ten",     "eleven",  "twelve",    "thirteen", "fourteen",
                                         "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
constexpr const char* english_tens[] = {"",      "",      "twenty",  "thirty", "forty",
                                        "fifty", "sixty", "seventy", "eighty", "ninety"};
constexpr const char* german_small[] = {
    "",     "ein", "zwei",  "drei",     "vier",     "fünf",     "sechs",    "sieben",   "acht",     "neun",
    "zehn", "elf", "zwölf", "dreizehn", "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn"};
constexpr const char* german_tens[] = {"",        "",        "zwanzig", "dreißig", "vierzig",
                                       "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"};

}  // namespace

std::span<const Noun> nouns() { return noun_table; }
std::span<const Adjective> adjectives() { return adjective_table; }
std::span<const Determiner> determiners() { return determiner_table; }
std::span<const Pronoun> pronouns() { return pronoun_table; }
const Pronoun& who() { return asked_subject; }
std::span<const Preposition> prepositions() { return preposition_table; }
std::span<const Verb> verbs() { return verb_table; }
std::span<const ClauseVerb> clause_verbs() { return clause_verb_table; }
std::span<const Modal> modals() { return modal_table; }
std::span<const Adverbial> adverbials() { return adverbial_table; }
std::span<const WordPair> adverbial_conjunctions() { return conjunction_table; }
const WordPair& that_conjunction() { return that; }
const WordPair& whether_conjunction() { return whether; }
std::span<const WordPair> question_words() { return question_word_table; }

std::string english_number(int number) {
  require(number >= 2 && number <= 99, "the demo grammar has numbers from 2 to 99, not {}", number);
  if (number < 20) return english_small[number];
  std::string ten = english_tens[number / 10];
  return number % 10 == 0 ? ten : ten + "-" + english_small[number % 10];
}

std::string german_number(int number) {
  require(number >= 2 && number <= 99, "the demo grammar has numbers from 2 to 99, not {}", number);
  if (number < 20) return german_small[number];
  std::string ten = german_tens[number / 10];
  return number % 10 == 0 ? ten : std::string(german_small[number % 10]) + "und" + ten;
}

}  // namespace sixfold::demo
