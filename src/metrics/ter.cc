#include "metrics/ter.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "metrics/bleu_tokenizers.h"
#include "metrics/edit_rate.h"
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

/// Whether Tercom makes a word of the character. sacreBLEU writes the range of enclosed characters, U+3200 to
/// U+32FF, as \u3200-\u3f22. Its rules for kana ask that a sentence begins with them, which it does not after
/// the space that it then begins with.
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

/// Numbers of words: the same for equal ones.
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

}  // namespace

void visit(OptionVisitor& v, TerOptions& o) {
  v.field("normalized", o.normalized, "let TER split punctuation from words");
  v.field("no_punct", o.no_punct, "let TER ignore punctuation");
  v.field("asian_support", o.asian_support,
          "let normalized and no_punct of TER know the characters and the punctuation of Chinese and Japanese");
  v.field("case_sensitive", o.case_sensitive, "let TER tell upper from lower case");
}

std::u32string tokenize_as_tercom(std::u32string_view sentence, const TerOptions& options) {
  while (!sentence.empty() && is_space(sentence.back())) sentence.remove_suffix(1);
  std::u32string text(sentence);
  if (!options.case_sensitive) text = to_lower(text);
  if (options.normalized) text = normalized(text, options.asian_support);
  if (options.no_punct)
    std::erase_if(text, [&](char32_t c) {
      return is_removed_punctuation(c) || (options.asian_support && is_asian_punctuation(c));
    });
  return normalize_spaces(text);
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
  const auto said = [](bool value) { return value ? "yes" : "no"; };
  return fmt::format("case:{}|tok:tercom|norm:{}|punct:{}|asian:{}", options_.case_sensitive ? "mixed" : "lc",
                     said(options_.normalized), said(!options_.no_punct), said(options_.asian_support));
}

}  // namespace sixfold
