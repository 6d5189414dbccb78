#include "tasks/translation/markup/placement.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <tuple>

#include "tasks/translation/markup/punctuation.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

/// Indices of words, from `begin` to `end` (exclusive).
using Words = TextRange;

/// The word alignment of a segment, sorted by source words.
class Alignment {
 public:
  Alignment(size_t source_words, size_t target_words, const std::vector<std::pair<int, int>>& pairs)
      : begins_(source_words + 1), before_(target_words + 1) {
    for (const auto& [source, target] : pairs)
      if (source >= 0 && target >= 0 && static_cast<size_t>(source) < source_words &&
          static_cast<size_t>(target) < target_words)
        pairs_.emplace_back(source, target);
    std::sort(pairs_.begin(), pairs_.end());
    pairs_.erase(std::unique(pairs_.begin(), pairs_.end()), pairs_.end());
    std::vector<size_t> aligned(target_words);
    for (const auto& [source, target] : pairs_) {
      ++begins_[source + 1];
      aligned[target] = 1;
    }
    for (size_t i = 0; i < source_words; ++i) begins_[i + 1] += begins_[i];
    for (size_t i = 0; i < target_words; ++i) before_[i + 1] = before_[i] + aligned[i];
    for (const auto& [source, target] : pairs_)
      if (sources_.empty() || sources_.back() != source) sources_.push_back(source);
  }

  /// The pairs (source, target) of these source words, in order of the source.
  std::span<const std::pair<size_t, size_t>> of(Words source) const {
    return std::span(pairs_).subspan(begins_[source.begin], begins_[source.end] - begins_[source.begin]);
  }
  /// The number of target words from `begin` to `end` that are aligned to a source word.
  size_t count(size_t begin, size_t end) const { return begin < end ? before_[end] - before_[begin] : 0; }
  /// The source words that are aligned to a target word.
  const std::vector<size_t>& sources() const { return sources_; }

 private:
  std::vector<std::pair<size_t, size_t>> pairs_;  // sorted
  std::vector<size_t> begins_;  // for each source word, the index of its first pair in `pairs_`
  std::vector<size_t> before_;  // for each target word, the number of aligned words before it
  std::vector<size_t> sources_;
};

class Placer {
 public:
  Placer(const Segment& segment, const TranslatedText& translation)
      : elements_(segment.elements),
        source_(segment.text),
        target_(translation.text),
        source_words_(word_parts(source_)),
        target_words_(word_parts(target_)),
        alignment_(source_words_.size(), target_words_.size(), translation.alignment) {
    placement_.ranges.resize(elements_.size());
    placement_.children.resize(elements_.size() + 1);
    for (size_t i = 0; i < elements_.size(); ++i)
      placement_.children[std::min(elements_[i].parent, elements_.size())].push_back(i);
    words_.resize(elements_.size());
    ends_sentence_.resize(target_words_.size());
    if (!target_words_.empty()) ends_sentence_.back() = true;
    for (size_t source = 0; source < source_words_.size(); ++source) {
      const TextRange word = source_words_[source];
      if (skip_final_marks_back(source_, word.begin, word.end, true) == word.end) continue;
      for (const auto& [own, target] : alignment_.of({source, source + 1})) ends_sentence_[target] = true;
    }
  }

  Placement place() {
    place_children(elements_.size(), {0, target_words_.size()}, {0, target_.size()});
    return std::move(placement_);
  }

 private:
  /// The placement of the children of one element.
  struct Level {
    Words words;                      // words of the parent in the translation
    TextRange bytes;                  // bytes of the parent in the translation
    std::map<size_t, size_t> placed;  // begin and end, in words, of the placed children
    std::vector<size_t> covered;      // the children that have words, in order
    TextRange between;  // the bytes between children fixed to the beginning and children fixed to the end
  };
  /// The words that belong to one child.
  struct Share {
    size_t child;
    std::vector<size_t> words;  // in order
  };

  bool began_before(size_t i) const { return elements_[i].open == SegmentElement::none; }
  bool ends_after(size_t i) const { return elements_[i].close == SegmentElement::none && !elements_[i].mark; }
  bool is_fixed(size_t i) const { return began_before(i) || ends_after(i); }

  /// The source words of which an element covers at least one character.
  Words source_words(size_t i) const {
    const SegmentElement& e = elements_[i];
    if (e.begin >= e.end) return {};
    const auto begin = std::partition_point(source_words_.begin(), source_words_.end(),
                                            [&](TextRange word) { return word.end <= e.begin; });
    const auto end =
        std::partition_point(begin, source_words_.end(), [&](TextRange word) { return word.begin < e.end; });
    return {static_cast<size_t>(begin - source_words_.begin()),
            static_cast<size_t>(end - source_words_.begin())};
  }

  /// Places the children of `parent` and all elements in them. The parent covers these words and bytes.
  void place_children(size_t parent, Words words, TextRange bytes) {
    std::vector<size_t>& children = placement_.children[parent];
    if (children.empty()) return;
    Level level{.words = words, .bytes = bytes, .placed = {}, .covered = {}, .between = bytes};
    for (const Share& share : shares(children, words))
      if (const auto chosen = choose(level, share)) {
        level.placed[chosen->begin] = chosen->end;
        words_[share.child] = *chosen;
        placement_.ranges[share.child] = bytes_of(share.child, *chosen, bytes);
      }
    for (const size_t child : children)
      if (words_[child].begin < words_[child].end) level.covered.push_back(child);
    std::sort(level.covered.begin(), level.covered.end(), [&](size_t left, size_t right) {
      return placement_.ranges[left].begin < placement_.ranges[right].begin;
    });
    place_without_words(level, children);
    const auto order = [&](size_t i) {
      const TextRange range = placement_.ranges[i];
      const int fixed = began_before(i) ? 0 : ends_after(i) ? 2 : 1;
      return std::array<size_t, 4>{static_cast<size_t>(fixed), range.begin, range.begin < range.end ? 1u : 0u,
                                   i};
    };
    std::sort(children.begin(), children.end(), [&](size_t a, size_t b) { return order(a) < order(b); });
    for (const size_t child : children) place_children(child, words_[child], placement_.ranges[child]);
  }

  /// Whether this part of a word consists only of its punctuation.
  bool is_beside_word(TextRange part, TextRange word) const {
    const auto punctuation = [&](TextRange range) {
      return punctuation_count(source_.substr(range.begin, range.end - range.begin)) > 0;
    };
    return part != word && punctuation(part) && !punctuation(word);
  }

  /// Divides the words of a parent among its children. A word that is aligned to several belongs to the one
  /// that covers the most characters of the source word. Returns the shares in the order in which the children
  /// choose.
  std::vector<Share> shares(const std::vector<size_t>& children, Words words) const {
    struct Claim {
      size_t word, characters, child;
    };
    std::vector<Claim> claims;
    for (const size_t child : children) {
      const SegmentElement& e = elements_[child];
      for (const auto& [source, word] : alignment_.of(source_words(child))) {
        const TextRange whole = source_words_[source];
        const TextRange part{std::max(e.begin, whole.begin), std::min(e.end, whole.end)};
        if (word >= words.begin && word < words.end && !is_beside_word(part, whole))
          claims.push_back({word, part.end - part.begin, child});
      }
    }
    std::sort(claims.begin(), claims.end(), [](const Claim& a, const Claim& b) {
      return std::tuple(a.word, b.characters, a.child) < std::tuple(b.word, a.characters, b.child);
    });
    const auto same_word = [](const Claim& a, const Claim& b) { return a.word == b.word; };
    claims.erase(std::unique(claims.begin(), claims.end(), same_word), claims.end());
    std::map<size_t, std::vector<size_t>> by_child;
    for (const size_t child : children)
      if (is_fixed(child)) by_child[child];
    for (const Claim& claim : claims) by_child[claim.child].push_back(claim.word);
    std::vector<Share> result;
    for (auto& [child, own_words] : by_child) result.push_back({child, std::move(own_words)});
    std::stable_sort(result.begin(), result.end(), [&](const Share& a, const Share& b) {
      return std::pair(!is_fixed(a.child), a.words.size()) < std::pair(!is_fixed(b.child), b.words.size());
    });
    return result;
  }

  /// Chooses the words that a child covers; none if it would cover more words of other children than its own.
  std::optional<Words> choose(const Level& level, const Share& share) const {
    if (share.words.empty()) return std::nullopt;
    if (began_before(share.child)) return choose_beginning(level, share);
    if (ends_after(share.child)) return choose_end(level, share);
    struct Candidate {
      int64_t score = 0;  // own words minus words of others
      size_t own_words = 0, begin = 0, end = 0;
    };
    Candidate best, current;
    for (const size_t word : share.words) {
      const auto next = level.placed.upper_bound(word);
      if (next != level.placed.begin() && std::prev(next)->second > word) {  // within another child
        current = {};
        continue;
      }
      const bool blocked =
          current.own_words > 0 && next != level.placed.begin() && std::prev(next)->first >= current.end;
      const int64_t others = static_cast<int64_t>(alignment_.count(current.end, word));
      if (current.own_words == 0 || blocked || current.score < others)
        current = {.score = 1, .own_words = 1, .begin = word, .end = word + 1};
      else
        current = {current.score - others + 1, current.own_words + 1, current.begin, word + 1};
      if (std::pair(current.score, current.own_words) > std::pair(best.score, best.own_words)) best = current;
    }
    if (best.own_words == 0) return std::nullopt;
    return Words{best.begin, best.end};
  }

  /// Chooses words from the beginning of the parent on, up to the end with the best score.
  std::optional<Words> choose_beginning(const Level& level, const Share& share) const {
    const size_t begin = level.words.begin;
    const size_t limit = level.placed.empty() ? level.words.end : level.placed.begin()->first;
    int64_t best = 0;
    size_t end = begin;
    for (size_t i = 0; i < share.words.size() && share.words[i] < limit; ++i) {
      const size_t all = alignment_.count(begin, share.words[i] + 1);
      const int64_t score = 2 * static_cast<int64_t>(i + 1) - static_cast<int64_t>(all);
      if (score >= best) best = score, end = share.words[i] + 1;
    }
    if (begin == end) return std::nullopt;
    return Words{begin, end};
  }

  /// Chooses words up to the end of the parent, from the beginning with the best score.
  std::optional<Words> choose_end(const Level& level, const Share& share) const {
    const size_t end = level.words.end;
    const size_t limit = level.placed.empty() ? level.words.begin : std::prev(level.placed.end())->second;
    int64_t best = 0;
    size_t begin = end;
    for (size_t i = share.words.size(); i-- > 0 && share.words[i] >= limit;) {
      const size_t all = alignment_.count(share.words[i], end);
      const int64_t score = 2 * static_cast<int64_t>(share.words.size() - i) - static_cast<int64_t>(all);
      if (score >= best) best = score, begin = share.words[i];
    }
    if (begin == end) return std::nullopt;
    return Words{begin, end};
  }

  /// Whether the text of an element in the source ends with punctuation.
  bool ends_with_punctuation(size_t i) const {
    const SegmentElement& e = elements_[i];
    const std::string_view text = trim_spaces(source_.substr(e.begin, e.end - e.begin));
    const bool one_character = text.size() <= 4 && punctuation_count(text) == 1;
    return one_character || skip_punctuation_back(text, 0, text.size(), 1) < text.size();
  }

  /// The bytes of an element that covers these words. If punctuation of its first or last word is outside of
  /// the element in the source, it is left out on the same side. Final marks of its last word are left out
  /// unless it ends with punctuation in the source: they belong to the sentence, whose end moved to this word.
  TextRange bytes_of(size_t i, Words words, TextRange parent) const {
    const SegmentElement& e = elements_[i];
    TextRange bytes{target_words_[words.begin].begin, target_words_[words.end - 1].end};
    const Words source = source_words(i);
    const TextRange first = source_words_[source.begin], last = source_words_[source.end - 1];
    if (e.begin > first.begin)
      bytes.begin = skip_punctuation(target_, bytes.begin, bytes.end,
                                     punctuation_count(source_.substr(first.begin, e.begin - first.begin)));
    if (e.end < last.end)
      bytes.end = skip_punctuation_back(target_, bytes.begin, bytes.end,
                                        punctuation_count(source_.substr(e.end, last.end - e.end)));
    if (!ends_with_punctuation(i)) {
      const TextRange word = target_words_[words.end - 1];
      const size_t end = skip_final_marks_back(target_, word.begin, word.end, ends_sentence_[words.end - 1]);
      bytes.end = std::clamp(end, bytes.begin, bytes.end);
    }
    if (began_before(i)) bytes.begin = parent.begin;
    if (ends_after(i)) bytes.end = parent.end;
    bytes.begin = std::clamp(bytes.begin, parent.begin, parent.end);
    bytes.end = std::clamp(bytes.end, bytes.begin, parent.end);
    return bytes;
  }

  /// Places marks and elements that cover no words.
  void place_without_words(Level& level, const std::vector<size_t>& children) {
    const auto is_empty = [&](size_t i) { return words_[i].begin >= words_[i].end; };
    for (const size_t child : children) {
      TextRange& range = placement_.ranges[child];
      if (is_empty(child) && began_before(child)) range = {level.bytes.begin, level.bytes.begin};
      if (is_empty(child) && ends_after(child)) range = {level.bytes.end, level.bytes.end};
      if (began_before(child)) level.between.begin = range.end;
      if (ends_after(child)) level.between.end = range.begin;
    }
    for (const size_t child : children) {
      if (!is_empty(child) || is_fixed(child)) continue;
      size_t point = std::clamp(point_of(child), level.bytes.begin, level.bytes.end);
      const auto other = std::partition_point(level.covered.begin(), level.covered.end(),
                                              [&](size_t i) { return placement_.ranges[i].end <= point; });
      if (other != level.covered.end() && placement_.ranges[*other].begin <= point)  // not within another child
        point = child < *other ? placement_.ranges[*other].begin : placement_.ranges[*other].end;
      point = std::clamp(point, level.between.begin, level.between.end);
      placement_.ranges[child] = {point, point};
    }
  }

  /// The position of a mark or of an element without words: next to the translation of the word that it follows
  /// or precedes, or else next to that of the nearest aligned word.
  size_t point_of(size_t i) const {
    const SegmentElement& e = elements_[i];
    const auto& sources = alignment_.sources();
    const auto next =
        static_cast<size_t>(std::partition_point(source_words_.begin(), source_words_.end(),
                                                 [&](TextRange word) { return word.begin < e.begin; }) -
                            source_words_.begin());  // the first word after it
    if (sources.empty()) return proportional_point(next);
    const auto following = std::lower_bound(sources.begin(), sources.end(), next);
    const bool has_before = following != sources.begin(), has_following = following != sources.end();
    const size_t to_before = has_before ? next - *std::prev(following) - 1 : SIZE_MAX;
    const size_t to_following = has_following ? *following - next : SIZE_MAX;
    const bool follows = to_before != to_following ? to_before < to_following : e.follows_text;
    const size_t source = follows ? *std::prev(following) : *following;
    const auto pairs = alignment_.of({source, source + 1});
    return follows ? target_words_[pairs.back().second].end : target_words_[pairs.front().second].begin;
  }

  /// The beginning of the target word at the same relative position as `word` in the source.
  size_t proportional_point(size_t word) const {
    if (target_words_.empty()) return target_.size();
    const size_t place = target_words_.size() * word / source_words_.size();
    return place < target_words_.size() ? target_words_[place].begin : target_words_.back().end;
  }

  const std::vector<SegmentElement>& elements_;
  std::string_view source_, target_;
  std::vector<TextRange> source_words_, target_words_;
  Alignment alignment_;
  Placement placement_;
  std::vector<Words> words_;  // for each element, the words that it covers in the translation
  /// For each word of the translation, whether it is the last, or aligned to a word with a final mark.
  std::vector<bool> ends_sentence_;
};

}  // namespace

Placement place_elements(const Segment& segment, const TranslatedText& translation) {
  return Placer(segment, translation).place();
}

}  // namespace sixfold
