#include "text/glossary.h"

#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>

#include "base/error.h"
#include "text/capitals.h"
#include "text/read_text.h"
#include "text/utf8.h"
#include "text/words.h"

namespace sixfold {
namespace {

/// The words of well-formed text, in the normalization form C.
std::vector<std::string> words_of(std::string_view original) {
  const std::string text = composed(original);
  std::vector<std::string> words;
  for (const TextRange& word : phrase_words(text))
    words.push_back(text.substr(word.begin, word.end - word.begin));
  return words;
}

std::string folded(const std::string& text) {
  std::string result;
  icu::UnicodeString::fromUTF8(text).foldCase().toUTF8String(result);
  return result;
}

bool has_capital(const std::string& text) {
  icu::UnicodeString lower = icu::UnicodeString::fromUTF8(text);
  return lower.toLower(icu::Locale::getRoot()) != icu::UnicodeString::fromUTF8(text);
}

void append_word(std::string& key, const std::string& word) { key += word + '\n'; }

std::string key_of(const std::vector<std::string>& words) {
  std::string key;
  for (const std::string& word : words) append_word(key, word);
  return key;
}

void check_phrase(size_t entry, const char* side, const std::string& phrase) {
  const auto refuse = [&](const std::string& what) {
    throw_input_error("entry {} of the glossary: the {} phrase {}", entry + 1, side, what);
  };
  if (phrase.size() > Glossary::longest_phrase)
    refuse(fmt::format("has {} bytes; it may have {}", phrase.size(), Glossary::longest_phrase));
  if (first_invalid_utf8(phrase)) refuse("is not valid UTF-8");
  if (!has_visible_character(phrase)) refuse("is empty");
  const icu::UnicodeString characters = icu::UnicodeString::fromUTF8(phrase);
  for (int32_t i = 0; i < characters.length(); ++i) {
    const char16_t c = characters[i];
    if ((u_iscntrl(c) && !is_within_words(c)) || c == 0x2028 || c == 0x2029) refuse("has a control character");
  }
}

}  // namespace

Glossary::Glossary(std::vector<GlossaryEntry> entries) : entries_(std::move(entries)) {
  require(!entries_.empty(), "the glossary has no entries");
  require(entries_.size() <= most_entries, "the glossary has {} entries; it may have {}", entries_.size(),
          most_entries);
  for (size_t i = 0; i < entries_.size(); ++i) {
    check_phrase(i, "source", entries_[i].source);
    check_phrase(i, "target", entries_[i].target);
    add(i);
  }
}

void Glossary::add(size_t entry) {
  const std::string& source = entries_[entry].source;
  const bool exact = has_capital(source);
  std::vector<std::string> words = words_of(source);
  if (!exact) std::transform(words.begin(), words.end(), words.begin(), folded);
  require(words.size() <= most_words,
          "entry {} of the glossary: the source phrase has {} words; it may have {}", entry + 1, words.size(),
          most_words);
  if (exact) {
    std::string key;
    for (const std::string& word : words) append_word(key, folded(word));
    in_capitals_.emplace(key, entry);  // the first of several that differ only in case
  }
  const auto [known, added] = (exact ? as_written_ : in_any_case_).emplace(key_of(words), entry);
  require(added, "entry {} of the glossary: '{}' is the source phrase of entry {} too", entry + 1, source,
          known->second + 1);
  longest_ = std::max(longest_, words.size());
}

Glossary Glossary::from_tsv(std::string_view text, const std::string& name) {
  std::vector<GlossaryEntry> entries;
  size_t number = 0;
  if (constexpr std::string_view byte_order_mark = "\uFEFF"; text.starts_with(byte_order_mark))
    text.remove_prefix(byte_order_mark.size());
  for (size_t begin = 0; begin < text.size();) {
    ++number;
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    require(!first_invalid_utf8(line), "{}:{}: is not valid UTF-8", name, number);
    if (trim_spaces(line).empty()) continue;
    const size_t tab = line.find('\t');
    require(tab != std::string_view::npos && line.find('\t', tab + 1) == std::string_view::npos,
            "{}:{}: a line has a source phrase, a tab and a target phrase", name, number);
    entries.push_back(
        {std::string(trim_spaces(line.substr(0, tab))), std::string(trim_spaces(line.substr(tab + 1)))});
  }
  try {
    return Glossary(std::move(entries));
  } catch (const Error& error) {
    throw_input_error("{}: {}", name, error.what());
  }
}

std::vector<std::string> Glossary::targets_in(std::string_view text) const {
  const std::vector<std::string> words = words_of(replace_invalid_utf8(text));
  std::vector<std::string> folded_words;
  for (const std::string& word : words) folded_words.push_back(folded(word));
  const bool capitals = !in_capitals_.empty() && is_in_capitals(replace_invalid_utf8(text));
  const auto find = [&](const std::string& exact, const std::string& any) -> const GlossaryEntry* {
    if (const auto entry = as_written_.find(exact); entry != as_written_.end()) return &entries_[entry->second];
    if (const auto entry = in_any_case_.find(any); entry != in_any_case_.end()) return &entries_[entry->second];
    const auto entry = capitals ? in_capitals_.find(any) : in_capitals_.end();
    return entry == in_capitals_.end() ? nullptr : &entries_[entry->second];
  };
  std::vector<std::string> targets;
  for (size_t begin = 0; begin < words.size();) {
    std::string exact, any;
    size_t found = 0;
    const std::string* target = nullptr;
    const size_t max_count = std::min(longest_, words.size() - begin);
    for (size_t count = 1; count <= max_count; ++count) {
      append_word(exact, words[begin + count - 1]);
      append_word(any, folded_words[begin + count - 1]);
      if (const GlossaryEntry* const entry = find(exact, any)) target = &entry->target, found = count;
    }
    if (target) targets.push_back(*target);
    begin += std::max<size_t>(found, 1);
  }
  return targets;
}

std::string Glossary::to_tsv() const {
  std::string text;
  for (const GlossaryEntry& entry : entries_) text += entry.source + '\t' + entry.target + '\n';
  return text;
}

}  // namespace sixfold
