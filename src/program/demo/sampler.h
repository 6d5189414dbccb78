#pragma once
#include <cstdint>

#include "base/random.h"
#include "program/demo/grammar.h"

namespace sixfold::demo {

/// Draws random sentences of 4 to 14 English words, in which no noun occurs twice. The sequence depends only on
/// the seed and is the same on every machine.
class Sampler {
 public:
  explicit Sampler(uint64_t seed) : random_(seed, 0) {}
  Sentence draw();

 private:
  int below(int n) { return static_cast<int>(random_.below(static_cast<uint32_t>(n))); }
  bool chance(int percent) { return below(100) < percent; }
  template <class Word>
  const Word& pick(std::span<const Word> words);
  template <class Word>
  const Word& pick_for(std::span<const Word> words, unsigned kinds);

  Sentence sentence();
  Clause clause();
  Clause predicate_clause();
  Clause reporting_clause(const ClauseVerb& reporting);
  void add_modal_and_time(Clause& clause);
  void add_adverbial(Clause& clause, bool frequency);
  void add_objects(Clause& clause);
  void add_preposition(Clause& clause);
  void put_time_first(Clause& clause);
  NounPhrase subject(unsigned kinds);
  NounPhrase object(unsigned kinds);
  NounPhrase location();
  NounPhrase determined_phrase(unsigned kinds);
  NounPhrase noun_phrase(unsigned kinds);
  void determine(NounPhrase& phrase);

  RandomStream random_;
};

}  // namespace sixfold::demo
