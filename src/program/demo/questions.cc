#include "program/demo/questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/random.h"

namespace sixfold::demo {
namespace {

using Words = std::vector<std::string>;

constexpr std::string_view onsets[] = {"b", "d", "f", "g", "h", "j", "k", "l",  "m",  "n",
                                       "p", "r", "s", "t", "v", "w", "z", "br", "dr", "st"};
constexpr std::string_view vowels[] = {"a", "e", "i", "o", "u"};
constexpr std::string_view name_endings[] = {"ra", "len", "mo", "via", "dor", "nit", "sa", "kel", "ron", "lis"};
constexpr std::string_view place_endings[] = {"dale",  "ford",  "wick",  "ton",
                                              "haven", "field", "brook", "stead"};
/// The number of names of people, and of places. If there are few names, a model soon learns to look for the
/// name in the question in the text.
constexpr size_t names_of_a_kind = 30;
constexpr std::string_view jobs[] = {"baker",  "carpenter", "dentist", "farmer",  "gardener",  "hairdresser",
                                     "judge",  "lawyer",    "miller",  "nurse",   "painter",   "plumber",
                                     "potter", "sailor",    "tailor",  "teacher", "watchmaker"};
constexpr std::string_view colour_words[] = {"black", "blue", "brown", "green",
                                             "grey",  "red",  "white", "yellow"};
constexpr std::string_view things[] = {"bicycle", "boat", "car",  "coat",  "dog",  "guitar", "hat",
                                       "horse",   "kite", "lamp", "piano", "tent", "van"};
constexpr std::string_view foods[] = {"apples",  "beans",  "bread", "carrots", "cheese", "cherries", "honey",
                                      "noodles", "olives", "pears", "plums",   "rice",   "soup",     "walnuts"};

/// A kind of fact. `{}` stands for the value in `clause` and `ask_person`, and for the person in `ask_value`.
struct FactKind {
  std::string_view clause;
  std::array<std::string_view, 2> ask_value;   ///< questions for the value of a person
  std::array<std::string_view, 2> ask_person;  ///< questions for the person with a value
};

constexpr std::array<FactKind, 5> kinds = {{
    {"lives in {}",
     {"Where does {} live?", "In which place does {} live?"},
     {"Who lives in {}?", "Whose home is {}?"}},
    {"works as a {}",
     {"What is the job of {}?", "What does {} do for a living?"},
     {"Who works as a {}?", "Who is a {}?"}},
    {"owns a {}", {"What does {} own?", "Which thing belongs to {}?"}, {"Who owns a {}?", "Who has a {}?"}},
    {"was born in {}",
     {"When was {} born?", "In which year was {} born?"},
     {"Who was born in {}?", "Whose year of birth is {}?"}},
    {"likes {}",
     {"What does {} like to eat?", "Which food does {} like?"},
     {"Who likes {}?", "Who is fond of {}?"}},
}};

uint32_t draw(RandomStream& random, size_t count) { return random.below(static_cast<uint32_t>(count)); }

std::string capitalized(std::string word) {
  word[0] = static_cast<char>(word[0] - 'a' + 'A');
  return word;
}

/// Random names that consist of an onset, a vowel and an ending.
Words names_with(std::span<const std::string_view> endings, RandomStream& random) {
  Words names;
  for (const std::string_view onset : onsets)
    for (const std::string_view vowel : vowels)
      for (const std::string_view ending : endings)
        names.push_back(capitalized(fmt::format("{}{}{}", onset, vowel, ending)));
  shuffle(names, random);
  names.resize(names_of_a_kind);
  return names;
}

/// The names that occur in the texts.
struct Lexicon {
  Words people, places;
};

std::string draw_value(size_t kind, const Lexicon& lexicon, RandomStream& random) {
  const auto one = [&](auto& words) { return std::string(words[draw(random, std::size(words))]); };
  switch (kind) {
    case 0:
      return one(lexicon.places);
    case 1:
      return one(jobs);
    case 2: {
      const std::string colour = one(colour_words);
      return colour + " " + one(things);
    }
    case 3:
      return std::to_string(1950 + draw(random, 40));
    default:
      return one(foods);
  }
}

/// Draws until a value differs from the others.
template <class Draw>
std::string draw_other(const Words& others, const Draw& draw_one) {
  while (true)
    if (std::string one = draw_one(); std::ranges::count(others, one) == 0) return one;
}

struct Fact {
  size_t kind = 0;
  std::string person, value;
};

std::string filled(std::string_view pattern, const std::string& word) {
  const size_t gap = pattern.find("{}");
  return std::string(pattern.substr(0, gap)) + word + std::string(pattern.substr(gap + 2));
}

/// "Karo lives in Mirdale, owns a red boat and likes plums."
std::string sentence_of(std::span<const Fact> facts) {
  std::string sentence = facts[0].person;
  for (size_t i = 0; i < facts.size(); ++i) {
    sentence += i == 0 ? " " : i + 1 == facts.size() ? " and " : ", ";
    sentence += filled(kinds[facts[i].kind].clause, facts[i].value);
  }
  return sentence + ".";
}

/// Draws people and facts about them. The facts are of a few kinds, of which each person has some, with
/// different values for different people. Many texts have two people and one kind: from these a model learns to
/// find the name in the question in the text, which it hardly learns from texts with many facts.
std::vector<std::vector<Fact>> draw_facts(const Lexicon& lexicon, RandomStream& random) {
  const size_t people = std::max(2u, 1 + draw(random, 4));
  std::vector<size_t> chosen{0, 1, 2, 3, 4};
  shuffle(chosen, random);
  chosen.resize(draw(random, 4) > 0 ? 1 : 2 + draw(random, 2));
  std::array<Words, kinds.size()> used;
  Words names;
  std::vector<std::vector<Fact>> facts;
  for (size_t i = 0; i < people; ++i) {
    names.push_back(draw_other(names, [&] { return lexicon.people[draw(random, lexicon.people.size())]; }));
    shuffle(chosen, random);
    const size_t count = 1 + draw(random, chosen.size());
    std::vector<Fact>& of_person = facts.emplace_back();
    for (const size_t kind : std::span(chosen).first(count)) {
      used[kind].push_back(draw_other(used[kind], [&] { return draw_value(kind, lexicon, random); }));
      of_person.push_back({kind, names.back(), used[kind].back()});
    }
  }
  return facts;
}

/// The facts whose kind occurs for several people of the text.
std::vector<Fact> shared_kinds(const std::vector<std::vector<Fact>>& people) {
  std::array<int, kinds.size()> counts{};
  for (const auto& facts : people)
    for (const Fact& fact : facts) ++counts[fact.kind];
  std::vector<Fact> shared;
  for (const auto& facts : people)
    for (const Fact& fact : facts)
      if (counts[fact.kind] > 1) shared.push_back(fact);
  return shared;
}

FactQuestion draw_question(const std::string& text, const Fact& fact, RandomStream& random) {
  const FactKind& kind = kinds[fact.kind];
  const bool asks_value = draw(random, 2) > 0;  // both directions equally often, so that a model learns both
  const auto& patterns = asks_value ? kind.ask_value : kind.ask_person;
  const std::string_view pattern = patterns[draw(random, patterns.size())];
  if (asks_value) return {text, filled(pattern, fact.person), fact.value};
  return {text, filled(pattern, fact.value), fact.person};
}

/// Whether the words occur exactly once in the text.
bool occurs_once(const std::string& text, const std::string& words) {
  const size_t first = text.find(words);
  return first != text.npos && text.find(words, first + 1) == text.npos;
}

/// Draws a text that is not in `known`, adds it there, and adds questions about it to `questions`.
void add_text(const Lexicon& lexicon, RandomStream& random, std::set<std::string>& known,
              std::vector<FactQuestion>& questions) {
  std::vector<Fact> asked;
  std::string text;
  const auto is_ambiguous = [&](const Fact& fact) {
    return !occurs_once(text, fact.person) || !occurs_once(text, fact.value);
  };
  do {
    const std::vector<std::vector<Fact>> people = draw_facts(lexicon, random);
    text.clear();
    for (const auto& facts : people) text += (text.empty() ? "" : " ") + sentence_of(facts);
    asked = shared_kinds(people);
  } while (asked.size() < questions_of_text || std::ranges::any_of(asked, is_ambiguous) ||
           known.contains(text));
  known.insert(text);
  shuffle(asked, random);
  for (const Fact& fact : std::span(asked).first(questions_of_text))
    questions.push_back(draw_question(text, fact, random));
}

}  // namespace

Questions make_questions(const QuestionOptions& options) {
  require(options.train >= 1, "the number of training texts is {}; it must be at least 1", options.train);
  for (const auto& [name, count] : {std::pair("validation", options.valid), std::pair("test", options.test)})
    require(count >= 0, "the number of {} texts is {}; it must be at least 0", name, count);
  const int64_t texts = int64_t{options.train} + options.valid + options.test;
  require(texts <= max_question_texts, "{} texts are too many; at most {} can be generated", texts,
          max_question_texts);
  RandomStream random(options.seed, 0);
  Lexicon all;
  all.people = names_with(name_endings, random);
  all.places = names_with(place_endings, random);
  std::set<std::string> known;  // texts
  const auto part = [&](int count, uint64_t number) {
    RandomStream random_of_part(options.seed, number);
    std::vector<FactQuestion> questions;
    for (int i = 0; i < count; ++i) add_text(all, random_of_part, known, questions);
    return questions;
  };
  // The test first, so that it does not depend on the size of the others.
  Questions questions;
  questions.test = part(options.test, 3);
  questions.valid = part(options.valid, 2);
  questions.train = part(options.train, 1);
  return questions;
}

}  // namespace sixfold::demo
