#include "search/constraints.h"

#include <algorithm>

#include "base/error.h"

namespace sixfold {
namespace {

using WordGoesOn = std::function<bool(int32_t)>;

/// The failure function of Knuth, Morris and Pratt, without the prefixes that would begin within a word.
std::vector<int32_t> borders_of(const std::vector<int32_t>& ids, const WordGoesOn& word_goes_on) {
  std::vector<int32_t> borders(ids.size());
  int32_t border = 0;
  for (size_t i = 1; i < ids.size(); ++i) {
    while (border > 0 && ids[i] != ids[static_cast<size_t>(border)])
      border = borders[static_cast<size_t>(border) - 1];
    if (ids[i] == ids[static_cast<size_t>(border)]) ++border;
    borders[i] = border;
  }
  if (!word_goes_on) return borders;
  std::vector<int32_t> allowed(ids.size());
  for (size_t i = 1; i < ids.size(); ++i)
    for (border = borders[i]; border > 0; border = borders[static_cast<size_t>(border) - 1])
      if (!word_goes_on(ids[i - static_cast<size_t>(border)])) {
        allowed[i] = border;
        break;
      }
  return allowed;
}

}  // namespace

std::vector<int32_t> LexicalConstraints::tokens() const {
  std::vector<int32_t> all = prefix;
  for (const auto& phrase : phrases) all.insert(all.end(), phrase.begin(), phrase.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

PhraseSet::PhraseSet(std::span<const std::vector<int32_t>> phrases, WordGoesOn word_goes_on,
                     std::function<bool(int32_t, int32_t)> continues_word)
    : word_goes_on_(std::move(word_goes_on)), continues_word_(std::move(continues_word)) {
  for (size_t i = 0; i < phrases.size(); ++i) {
    require(!phrases[i].empty(), "phrase {} is empty", i + 1);
    auto known = std::find_if(phrases_.begin(), phrases_.end(),
                              [&](const Phrase& phrase) { return phrase.ids == phrases[i]; });
    if (known == phrases_.end())
      known = phrases_.insert(
          known, {.ids = phrases[i], .borders = borders_of(phrases[i], word_goes_on_), .indices = {}});
    known->indices.push_back(i);
    tokens_ += static_cast<int>(phrases[i].size());
  }
}

PhraseProgress PhraseSet::start() const {
  PhraseProgress progress{.matched = std::vector<int32_t>(phrases_.size()), .missing = {}};
  for (const Phrase& phrase : phrases_) progress.missing.push_back(static_cast<int32_t>(phrase.indices.size()));
  return progress;
}

PhraseProgress PhraseSet::after(const PhraseProgress& progress, int32_t token) const {
  PhraseProgress next = progress;
  next.just_met.clear();
  if (continues_word_)
    for (const size_t i : progress.just_met)
      if (continues_word_(phrases_[i].ids.back(), token)) ++next.missing[i];
  for (size_t i = 0; i < phrases_.size(); ++i) {
    const Phrase& phrase = phrases_[i];
    int32_t& matched = next.matched[i];
    while (matched > 0 && phrase.ids[static_cast<size_t>(matched)] != token)
      matched = phrase.borders[static_cast<size_t>(matched) - 1];
    const bool may_match = matched > 0 || !progress.within_word;
    if (may_match && phrase.ids[static_cast<size_t>(matched)] == token) ++matched;
    if (matched < std::ssize(phrase.ids)) continue;
    matched = phrase.borders.back();
    if (next.missing[i] == 0) continue;
    --next.missing[i];
    next.just_met.push_back(i);
  }
  next.within_word = word_goes_on_ && word_goes_on_(token);
  return next;
}

int PhraseSet::met(const PhraseProgress& progress) const {
  int met = tokens_, farthest = 0;
  for (size_t i = 0; i < phrases_.size(); ++i) {
    met -= progress.missing[i] * static_cast<int>(phrases_[i].ids.size());
    if (progress.missing[i] > 0) farthest = std::max(farthest, progress.matched[i]);
  }
  return met + farthest;
}

std::vector<size_t> PhraseSet::unmet(const PhraseProgress& progress) const {
  std::vector<size_t> indices;
  for (size_t i = 0; i < phrases_.size(); ++i)
    indices.insert(indices.end(), phrases_[i].indices.end() - progress.missing[i], phrases_[i].indices.end());
  std::sort(indices.begin(), indices.end());
  return indices;
}

std::vector<size_t> divide_beam(size_t slots, std::span<const size_t> candidates) {
  const size_t banks = candidates.size();
  std::vector<size_t> divided(banks);
  size_t left = slots % banks;
  for (size_t bank = banks; bank-- > 0;) {
    left += slots / banks;
    divided[bank] = std::min(left, candidates[bank]);
    left -= divided[bank];
  }
  for (size_t bank = banks; bank-- > 0;) {
    const size_t more = std::min(left, candidates[bank] - divided[bank]);
    divided[bank] += more;
    left -= more;
  }
  return divided;
}

}  // namespace sixfold
