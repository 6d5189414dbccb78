#include "data/check/pair_faults.h"

#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "base/ascii.h"
#include "text/language.h"
#include "text/utf8.h"
#include "text/words.h"

namespace sixfold {
namespace {

double log_ratio(const LinePair& pair) {
  constexpr double smoothing = 5;  // in characters, since the ratios of short lines vary more
  return std::log((static_cast<double>(count_characters(pair.second)) + smoothing) /
                  (static_cast<double>(count_characters(pair.first)) + smoothing));
}

/// The number of blocks of text in each language.
std::map<std::string, int> votes_of(std::span<const LinePair> sample, std::string LinePair::*side) {
  constexpr size_t block_bytes = 300;
  constexpr int max_blocks = 400;
  std::map<std::string, int> votes;
  int all = 0;
  std::string block;
  for (const LinePair& pair : sample) {
    block += pair.*side + ". ";
    if (block.size() < block_bytes) continue;
    if (const LanguageShares found = find_languages(block); !found.languages.empty())
      ++votes[found.languages[0].code], ++all;
    block.clear();
    if (all == max_blocks) break;
  }
  if (all > 0) return votes;
  if (const LanguageShares found = find_languages(block); found.sure && !found.languages.empty())
    ++votes[found.languages[0].code];
  return votes;
}

/// The language of the majority of the blocks of text in a sample; empty if there is no majority.
std::string language_of(std::span<const LinePair> sample, std::string LinePair::*side) {
  const std::map<std::string, int> votes = votes_of(sample, side);
  const auto count = [](const auto& one) { return one.second; };
  const auto most = std::ranges::max_element(votes, {}, count);
  int all = 0;
  for (const auto& one : votes) all += one.second;
  return most != votes.end() && 2 * most->second > all ? most->first : "";
}

bool is_same_text(const LinePair& pair) {
  return has_letter(pair.first) && as_words(pair.first) == as_words(pair.second);
}

/// The script of most lines; -1 if none has letters.
int script_of(std::span<const LinePair> sample, std::string LinePair::*side) {
  std::map<int, int64_t> lines;
  for (const LinePair& pair : sample) {
    ScriptCounts counts;
    counts.add(pair.*side);
    if (const int script = counts.commonest(); script >= 0) ++lines[script];
  }
  const auto most = std::ranges::max_element(lines, {}, [](const auto& one) { return one.second; });
  return most == lines.end() ? -1 : most->first;
}

/// Whether a line is certainly in another language than `expected`, which CLD2 gets as a hint. For short lines,
/// only the language of the other side of the pair is believed.
bool is_foreign(const std::string& line, const std::string& expected, const std::string& other_side) {
  constexpr size_t min_bytes = 25, min_reliable_bytes = 40;
  if (expected.empty() || line.size() < min_bytes) return false;
  const LanguageShares found = find_languages(line, expected);
  if (!found.sure || found.languages.empty()) return false;
  const auto& [code, percent, score, is_hint] = found.languages[0];
  if (percent < 90 || is_like_language(code, expected)) return false;
  return line.size() >= min_reliable_bytes || (!other_side.empty() && is_same_language(code, other_side));
}

/// Whether most letters of a line are of another script than that of the text. A few letters are allowed, since
/// names in Latin letters occur in all languages. A character of Chinese or Japanese says as much as some three
/// letters.
bool is_in_other_script(const std::string& line, int script) {
  ScriptCounts counts;
  counts.add(line);
  if (script < 0 || counts.letters() == 0) return false;
  const auto own = counts.of(script), others = counts.letters() - own;
  return (ScriptCounts::is_dense(script) ? 3 : 1) * own < others && counts.letters() >= 4;
}

/// The same, without the words that stand in the other side of the pair too, which are names.
bool is_in_other_script(const std::string& line, const std::string& other_side, int script) {
  constexpr size_t sentence_words = 4;
  if (!is_in_other_script(line, script)) return false;
  ScriptCounts counts;  // a sentence without a letter of its script is in the other one, whatever words it has
  counts.add(line);
  if (counts.of(script) == 0 &&
      (count_words(line) >= sentence_words || ScriptCounts::is_dense(counts.commonest())))
    return true;
  const auto words_of = [](const std::string& text) {
    std::vector<std::string_view> words;
    for (const TextRange& word : word_ranges(text))
      words.push_back(std::string_view(text).substr(word.begin, word.end - word.begin));
    return words;
  };
  const std::vector<std::string_view> others = words_of(other_side);
  const std::set<std::string_view> names(others.begin(), others.end());
  std::string rest;
  for (const std::string_view word : words_of(line))
    if (!names.contains(word)) (rest += word) += ' ';
  return is_in_other_script(rest, script);
}

}  // namespace

PairStatistics::PairStatistics(std::span<const LinePair> sample, const PairLanguages& declared)
    : source_script_(script_of(sample, &LinePair::first)),
      target_script_(script_of(sample, &LinePair::second)) {
  constexpr size_t some = 20;
  constexpr double nearly_all = 0.9, most = 0.5;
  std::vector<LinePair> different;
  std::ranges::remove_copy_if(sample, std::back_inserter(different), is_same_text);
  const auto exceeds = [copies = sample.size() - different.size(), &sample](double share) {
    return static_cast<double>(copies) > share * static_cast<double>(sample.size());
  };
  // Copies tell nothing of the language of the other side.
  const std::span<const LinePair> told =
      different.size() >= some ? std::span<const LinePair>(different) : sample;
  detected_ = {language_of(told, &LinePair::first), language_of(told, &LinePair::second)};
  expected_ = {declared.source.empty() ? detected_.source : declared.source,
               declared.target.empty() ? detected_.target : declared.target};
  copies_are_faults_ = expected_.source.empty() || expected_.source != expected_.target || exceeds(nearly_all);
  short_copies_are_faults_ = exceeds(most);
  std::vector<double> ratios;
  for (const LinePair& pair : sample) ratios.push_back(log_ratio(pair));
  if (ratios.empty()) return;
  const auto middle = ratios.begin() + std::ssize(ratios) / 2;
  std::ranges::nth_element(ratios, middle);
  usual_log_ratio_ = *middle;
}

bool PairStatistics::is_copy(const LinePair& pair) const {
  return copies_are_faults_ && (short_copies_are_faults_ || is_to_be_translated(pair.first)) &&
         is_same_text(pair);
}

std::map<std::string, int> language_votes(std::span<const LinePair> sample) {
  return votes_of(sample, &LinePair::first);
}

double PairStatistics::unevenness(const LinePair& pair) const {
  return std::exp(std::abs(log_ratio(pair) - usual_log_ratio_));
}

bool is_to_be_translated(const std::string& text) {
  constexpr size_t min_words = 4, min_letter_bytes = 24;
  if (count_words(text) >= min_words) return !letters_of(text).empty();
  return std::ranges::none_of(text, is_ascii_letter) && letters_of(text).size() >= min_letter_bytes;
}

std::string as_words(std::string_view text) {
  std::string result;
  for (const TextRange& word : word_ranges(text)) {
    if (!result.empty()) result += ' ';
    result += text.substr(word.begin, word.end - word.begin);
  }
  return result;
}

std::string comparison_form(std::string_view text) {
  std::string result = as_words(text);
  if (std::ranges::all_of(result, [](char c) { return static_cast<unsigned char>(c) < 0x80; })) {
    for (char& c : result) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    return result;
  }
  std::string lower;
  icu::UnicodeString::fromUTF8(result).toLower(icu::Locale::getRoot()).toUTF8String(lower);
  return lower;
}

std::string without_spaces(std::string_view text) {
  std::string result = comparison_form(text);
  std::erase(result, ' ');
  return result;
}

std::string letters_of(std::string_view text) {
  std::string letters;
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    UChar32 c = -1;
    U8_NEXT(text.data(), i, text.size(), c);
    if (c >= 0 && (u_isalpha(c) || (U_GET_GC_MASK(c) & U_GC_M_MASK) != 0))
      letters += text.substr(begin, i - begin);
  }
  return letters;
}

std::span<const PairFault> pair_faults() {
  using Pair = const LinePair&;
  using Statistics = const PairStatistics&;
  static constexpr PairFault faults[] = {
      {"mojibake", FaultScope::line,
       "have characters that were decoded in the wrong way, such as 'Ã¤' for 'ä', or U+FFFD",
       "The model learns to write such text. Convert the original files from their true encoding to UTF-8 "
       "again (iconv)",
       0.002, 1, [](Pair p, Statistics) { return has_mojibake(p.first) || has_mojibake(p.second); }},
      {"copies", FaultScope::pair, "have a target that is the source",
       "The model learns to copy instead of to translate. Remove these pairs", 0.01, 1,
       [](Pair p, Statistics statistics) { return statistics.is_copy(p); }},
      {"length-ratio", FaultScope::pair,
       "have a target that is more than three times longer or shorter than usual for such a source",
       "Such a target is seldom a translation of its source: lines may be cut, joined or moved. Remove these "
       "pairs "
       "(data.max_ratio does so by tokens), and see whether both files have the same sentences",
       0.005, 1, [](Pair p, Statistics statistics) { return statistics.unevenness(p) > 3; }},
      {"scripts", FaultScope::text,
       "have a side with letters of another script than the text's, or words with letters of two alphabets",
       "These are other languages, or letters that only look alike, which the model takes for other "
       "characters. Remove or "
       "repair these pairs",
       0.01, 1,
       [](Pair p, Statistics statistics) {
         return is_in_other_script(p.first, p.second, statistics.script(true)) ||
                is_in_other_script(p.second, p.first, statistics.script(false)) || mixes_alphabets(p.first) ||
                mixes_alphabets(p.second);
       }},
      {"languages-mixed", FaultScope::pair, "have a side in another language than the rest of that side",
       "The model can't know which language it is to write. Remove these pairs, or put them into a text of "
       "their own",
       0.03, 0.5,
       [](Pair p, Statistics statistics) {
         const PairLanguages& l = statistics.languages();
         return is_foreign(p.first, l.source, l.target) || is_foreign(p.second, l.target, l.source);
       }},
      {"normal-forms", FaultScope::line,
       "have characters that are not in Unicode's normalization form NFC, such as 'ä' as the two characters "
       "'a' and U+0308",
       "To a tokenizer without normalization the same word is then two. Convert all texts to NFC (uconv -x "
       "nfc)",
       0.005, 1, [](Pair p, Statistics) { return is_decomposed(p.first) || is_decomposed(p.second); }},
      {"white-space", FaultScope::text,
       "have spaces at an end or two in a row, tabs, no-break spaces, zero-width characters, or control "
       "characters",
       "Spaces in a row are read as one, but the other characters are tokens that the model learns to write. "
       "Remove them",
       0.01, 1, [](Pair p, Statistics) { return has_odd_space(p.first) || has_odd_space(p.second); }},
  };
  return faults;
}

}  // namespace sixfold
