#include "metrics/ter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "metrics/bleu_tokenizers.h"
#include "metrics/unicode.h"

namespace sixfold {
namespace {

using CharacterRange = std::pair<char32_t, char32_t>;

bool is_in(std::span<const CharacterRange> ranges, char32_t c) {
  return std::ranges::any_of(ranges, [c](const auto& range) { return range.first <= c && c <= range.second; });
}

bool is_asian_punctuation(char32_t c) {
  constexpr CharacterRange ranges[] = {{0x3001, 0x3002}, {0x3008, 0x3011}, {0x3014, 0x301f}, {0xff61, 0xff65},
                                       {0x30fb, 0x30fb}, {0xff0e, 0xff0e}, {0xff0c, 0xff0c}, {0xff1f, 0xff1f},
                                       {0xff1a, 0xff1b}, {0xff01, 0xff02}, {0xff08, 0xff09}};
  return is_in(ranges, c);
}

/// Whether Tercom treats the character as a word. sacreBLEU writes the range of enclosed characters, U+3200 to
/// U+32FF, as \u3200-\u3f22. Its rules for kana have no effect: they match only at the beginning of a sentence,
/// where there is always a space.
bool is_asian_word(char32_t c) {
  constexpr CharacterRange ranges[] = {{0x2e80, 0x2eff}, {0x31c0, 0x31ef}, {0x3200, 0x4dbf},
                                       {0x4e00, 0x9fff}, {0xf900, 0xfaff}, {0xfe30, 0xfe4f}};
  return is_in(ranges, c) || is_asian_punctuation(c);
}

bool is_removed_punctuation(char32_t c) {
  return std::u32string_view(U".,?:;!\"()").find(c) != std::u32string_view::npos;
}

std::u32string normalized(std::u32string_view sentence, bool asian) {
  std::u32string text = replace_all(sentence, U"\n-", U"");
  text = resolve_entities(replace_all(text, U"\n", U" "));
  text = space_around_punctuation(U" " + text + U" ");
  text = space_around_stops(replace_all(text, U"'s ", U" 's "));
  if (!asian) return text;
  std::u32string out;
  for (const char32_t c : text)
    if (is_asian_word(c))
      out.append({U' ', c, U' '});
    else
      out.push_back(c);
  return out;
}

/// Assigns a number to each distinct word.
class WordNumbers {
 public:
  /// `text` must outlive this object.
  std::vector<uint32_t> of(std::u32string_view text) {
    std::vector<uint32_t> found;
    for (const std::u32string_view word : split_words(text))
      found.push_back(numbers_.try_emplace(word, static_cast<uint32_t>(numbers_.size())).first->second);
    return found;
  }

 private:
  std::unordered_map<std::u32string_view, uint32_t> numbers_;
};

// The limits of sacreBLEU.
constexpr size_t max_shift_size = 10;
constexpr size_t max_shift_distance = 50;
constexpr int max_attempts = 1000;
constexpr int64_t beam_width = 25;

using Words = std::vector<uint32_t>;

enum class Edit : uint8_t { keep, replace, insert, remove };

struct Cell {
  int distance;
  Edit edit;  // the last edit
};

/// The positions of the words of a reference in a translation, and the errors of both.
struct Alignment {
  // For each word of the reference, its position in the translation, or that of the word after which it is
  // missing.
  std::vector<int64_t> place;
  std::vector<int> reference_errors,
      translation_errors;  // the number of errors among the words before each position
};

/// The distances in edits, without shifts, of the beginnings of a translation from those of a reference: a row
/// for each number of words of the translation. A row has the cells near the diagonal from the first corner to
/// the last; each of them is next to one of the row before, so that none is out of reach.
class EditMatrix {
 public:
  EditMatrix(std::span<const uint32_t> reference, size_t words);

  /// Computes the rows of a translation. Its first `equal` words are those of the last call.
  void fill(const Words& words, size_t equal);
  int distance() const { return rows_.back().cells.back().distance; }
  /// The distance of a translation that differs from that of `fill` only in the words [begin, end).
  int distance_of(const Words& words, size_t begin, size_t end) const;
  Alignment alignment() const;

 private:
  struct Row {
    int64_t begin = 0;  // the number of words of the reference in the first cell
    std::vector<Cell> cells;

    bool contains(int64_t j) const { return j >= begin && j < begin + std::ssize(cells); }
    const Cell& at(int64_t j) const { return cells[static_cast<size_t>(j - begin)]; }
  };

  void fill_row(uint32_t word, const Row& before, Row& row) const;

  std::span<const uint32_t> reference_;
  std::vector<Row> rows_;
};

EditMatrix::EditMatrix(std::span<const uint32_t> reference, size_t words)
    : reference_(reference), rows_(words + 1) {
  const auto columns = std::ssize(reference) + 1;
  rows_[0].cells.resize(static_cast<size_t>(columns));
  for (int j = 0; j < columns; ++j) rows_[0].cells[static_cast<size_t>(j)] = {j, Edit::insert};
  const double ratio = words > 0 ? static_cast<double>(reference.size()) / static_cast<double>(words) : 1;
  // Rows are wide enough to overlap.
  const int64_t width =
      beam_width < ratio / 2 ? static_cast<int64_t>(std::ceil(ratio / 2 + beam_width)) : beam_width;
  for (size_t i = 1; i <= words; ++i) {
    const auto diagonal = static_cast<int64_t>(std::floor(static_cast<double>(i) * ratio));
    const int64_t end = i == words ? columns : std::min(columns, diagonal + width);
    rows_[i].begin = std::max<int64_t>(0, diagonal - width);
    rows_[i].cells.resize(static_cast<size_t>(end - rows_[i].begin));
  }
}

void EditMatrix::fill_row(uint32_t word, const Row& before, Row& row) const {
  constexpr int out_of_reach = 1'000'000'000;
  const auto distance_before = [&](int64_t j) {
    return before.contains(j) ? before.at(j).distance : out_of_reach;
  };
  int left = out_of_reach, above_left = distance_before(row.begin - 1);
  for (size_t place = 0; place < row.cells.size(); ++place) {
    const int64_t j = row.begin + static_cast<int64_t>(place);
    const bool equal = j > 0 && reference_[static_cast<size_t>(j - 1)] == word;
    const int above = distance_before(j);
    // Of edits that cost the same, the first counts.
    Cell best{j > 0 ? above_left + (equal ? 0 : 1) : out_of_reach, equal ? Edit::keep : Edit::replace};
    if (above + 1 < best.distance) best = {above + 1, Edit::remove};
    if (left + 1 < best.distance) best = {left + 1, Edit::insert};
    row.cells[place] = best;
    left = best.distance;
    above_left = above;
  }
}

void EditMatrix::fill(const Words& words, size_t equal) {
  for (size_t i = equal; i < words.size(); ++i) fill_row(words[i], rows_[i], rows_[i + 1]);
}

int EditMatrix::distance_of(const Words& words, size_t begin, size_t end) const {
  Row before = rows_[begin], row;
  for (size_t i = begin; i < words.size(); ++i) {
    const Row& known = rows_[i + 1];
    row.begin = known.begin;
    row.cells.resize(known.cells.size());
    fill_row(words[i], before, row);
    // If all cells of a row differ by the same amount, so do all following rows, since their words are the
    // same.
    const int more = row.cells[0].distance - known.cells[0].distance;
    const auto is_known = [more](const Cell& a, const Cell& b) { return a.distance == b.distance + more; };
    if (i + 1 >= end && std::ranges::equal(row.cells, known.cells, is_known)) return distance() + more;
    std::swap(before, row);
  }
  return before.cells.back().distance;
}

Alignment EditMatrix::alignment() const {
  const size_t words = rows_.size() - 1;
  Alignment found{.place = std::vector<int64_t>(reference_.size()),
                  .reference_errors = std::vector<int>(reference_.size() + 1),
                  .translation_errors = std::vector<int>(words + 1)};
  size_t i = words, j = reference_.size();
  while (i > 0 || j > 0) {
    const Edit edit = rows_[i].at(static_cast<int64_t>(j)).edit;
    const int error = edit == Edit::keep ? 0 : 1;
    const bool in_translation = edit != Edit::insert, in_reference = edit != Edit::remove;
    if (in_reference) {
      found.reference_errors[j] = error;
      found.place[--j] = static_cast<int64_t>(i) - 1;
    }
    if (in_translation) found.translation_errors[i--] = error;
  }
  for (std::vector<int>* errors : {&found.reference_errors, &found.translation_errors})
    for (size_t k = 1; k < errors->size(); ++k) (*errors)[k] += (*errors)[k - 1];
  return found;
}

/// A block of words that moves so that it stands before another word.
struct Shift {
  size_t begin, length, target;

  /// The words after the shift; [first, last) are those that may have changed.
  Words applied(const Words& words) const {
    Words shifted = words;
    const auto at = [&](size_t place) { return shifted.begin() + static_cast<std::ptrdiff_t>(place); };
    if (target < begin)
      std::rotate(at(target), at(begin), at(begin + length));
    else
      std::rotate(at(begin), at(begin + length), at(last(words)));
    return shifted;
  }
  size_t first() const { return std::min(begin, target); }
  size_t last(const Words& words) const {
    if (target < begin || target > begin + length) return std::max(begin + length, target);
    return std::min(words.size(), length + target);  // the block moves by `target - begin` words
  }
};

/// The greedy search for shifts.
class ShiftSearch {
 public:
  ShiftSearch(Words words, std::span<const uint32_t> reference)
      : words_(std::move(words)), reference_(reference), matrix_(reference, words_.size()) {
    matrix_.fill(words_, 0);
    for (size_t j = 0; j < reference.size(); ++j) {
      if (reference[j] >= places_.size()) places_.resize(reference[j] + size_t{1});
      places_[reference[j]].push_back(j);
    }
  }

  int64_t edits() {
    int64_t shifts = 0;
    while (const std::optional<Shift> best = best_shift()) {
      words_ = best->applied(words_);
      matrix_.fill(words_, best->first());
      ++shifts;
    }
    return shifts + matrix_.distance();
  }

 private:
  /// The shift that saves most edits; none if no shift saves edits, or if the limit of attempts is reached.
  std::optional<Shift> best_shift();
  /// Tries to shift a block of the translation to the position that it has in the reference.
  void try_block(size_t begin, size_t place, size_t length);
  void try_shift(const Shift& shift);

  Words words_;
  std::span<const uint32_t> reference_;
  EditMatrix matrix_;
  std::vector<std::vector<size_t>> places_;  // the positions of each word in the reference
  Alignment alignment_;
  std::optional<Shift> best_;
  int best_saved_ = 0;
  int attempts_ = 0;
};

std::optional<Shift> ShiftSearch::best_shift() {
  alignment_ = matrix_.alignment();
  best_.reset();
  for (size_t begin = 0; begin < words_.size(); ++begin) {
    if (words_[begin] >= places_.size()) continue;
    const std::vector<size_t>& places = places_[words_[begin]];
    const size_t nearest = begin - std::min(begin, max_shift_distance);
    for (auto place = std::ranges::lower_bound(places, nearest);
         place != places.end() && *place <= begin + max_shift_distance; ++place) {
      const size_t longest = std::min({max_shift_size, words_.size() - begin, reference_.size() - *place});
      for (size_t length = 1;
           length <= longest && words_[begin + length - 1] == reference_[*place + length - 1]; ++length) {
        try_block(begin, *place, length);
        if (attempts_ >= max_attempts) return {};
      }
    }
  }
  return best_ && best_saved_ > 0 ? best_ : std::nullopt;
}

void ShiftSearch::try_block(size_t begin, size_t place, size_t length) {
  const auto errors = [length](const std::vector<int>& sums, size_t from) {
    return sums[from + length] - sums[from];
  };
  if (errors(alignment_.translation_errors, begin) == 0 || errors(alignment_.reference_errors, place) == 0)
    return;
  const auto first = static_cast<int64_t>(begin), end = static_cast<int64_t>(begin + length);
  if (alignment_.place[place] >= first && alignment_.place[place] < end) return;  // it would move into itself
  int64_t previous = -1;
  for (size_t word = place; word <= place + length; ++word) {
    const int64_t target = word == 0 ? 0 : alignment_.place[word - 1] + 1;
    if (target == previous) continue;
    previous = target;
    try_shift({begin, length, static_cast<size_t>(target)});
  }
}

void ShiftSearch::try_shift(const Shift& shift) {
  ++attempts_;
  const int saved =
      matrix_.distance() - matrix_.distance_of(shift.applied(words_), shift.first(), shift.last(words_));
  // Of shifts that save as much, the longest counts, and of these the first.
  const auto rank = [](int saves, const Shift& s) {
    return std::tuple(saves, s.length, -static_cast<int64_t>(s.begin), -static_cast<int64_t>(s.target));
  };
  if (best_ && rank(saved, shift) <= rank(best_saved_, *best_)) return;
  best_ = shift;
  best_saved_ = saved;
}

}  // namespace

void visit(OptionVisitor& v, TerOptions& o) {
  v.field("normalized", o.normalized, "let TER split punctuation from words");
  v.field("no_punct", o.no_punct, "let TER ignore punctuation");
  v.field("asian_support", o.asian_support,
          "let normalized and no_punct of TER know the characters and the punctuation of Chinese and Japanese");
  v.field("case_sensitive", o.case_sensitive, "let TER tell upper from lower case");
}

std::u32string tokenize_as_tercom(std::u32string_view sentence, const TerOptions& options) {
  std::u32string text(without_space_at_end(sentence));
  if (!options.case_sensitive) text = to_lower(text);
  if (options.normalized) text = normalized(text, options.asian_support);
  if (options.no_punct)
    std::erase_if(text, [&](char32_t c) {
      return is_removed_punctuation(c) || (options.asian_support && is_asian_punctuation(c));
    });
  return normalize_spaces(text);
}

int64_t translation_edits(std::span<const uint32_t> translation, std::span<const uint32_t> reference) {
  if (reference.empty()) return std::ssize(translation);
  return ShiftSearch(Words(translation.begin(), translation.end()), reference).edits();
}

MetricStatistics Ter::statistics(std::string_view output, std::span<const std::string> references) const {
  require(!references.empty(), "TER needs at least one reference for each sentence");
  const std::u32string translation = tokenize_as_tercom(decode_utf8(output), options_);
  int64_t edits = std::numeric_limits<int64_t>::max(), words = 0;
  for (const std::string& one : references) {
    // sacreBLEU splits references twice, which can split more: ",.5" becomes ", .5", and then ", . 5".
    const std::u32string reference =
        tokenize_as_tercom(tokenize_as_tercom(decode_utf8(one), options_), options_);
    WordNumbers numbers;
    const std::vector<uint32_t> right = numbers.of(reference);
    edits = std::min(edits, translation_edits(numbers.of(translation), right));
    words += std::ssize(right);
  }
  return {{static_cast<double>(edits), static_cast<double>(words) / static_cast<double>(references.size())}};
}

double Ter::score(std::span<const double> sums, int64_t /*outputs*/) const {
  if (sums[1] > 0) return 100 * (sums[0] / sums[1]);
  return sums[0] > 0 ? 100 : 0;
}

std::string Ter::settings() const {
  const auto yes_or_no = [](bool value) { return value ? "yes" : "no"; };
  return fmt::format("case:{}|tok:tercom|norm:{}|punct:{}|asian:{}", options_.case_sensitive ? "mixed" : "lc",
                     yes_or_no(options_.normalized), yes_or_no(!options_.no_punct),
                     yes_or_no(options_.asian_support));
}

}  // namespace sixfold
