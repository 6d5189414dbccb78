#include "text/json/normalizers.h"

#include <unicode/normalizer2.h>
#include <unicode/uniset.h>

#include "text/json/charsmap.h"
#include "text/json/text_edit.h"
#include "text/json/unicode_rules.h"
#include "text/normal_form.h"

// The types are defined in the documentation of Hugging Face's tokenizers.

namespace sixfold {
namespace {

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// Calls `change(edit, character, begin, end)` for each character.
template <class Change>
void change_characters(NormalizedText& text, Change change) {
  TextEdit edit(text);
  for (size_t begin = 0, end = 0; begin < text.text.size(); begin = end) {
    const UChar32 c = next_character(text.text, end);
    change(edit, c, begin, end);
  }
  edit.finish();
}

/// A Unicode normalization form of the characters of Unicode 9. Hugging Face's tokenizers does not know later
/// characters.
class Form {
 public:
  using Instance = const icu::Normalizer2* (*)(UErrorCode&);
  explicit Form(Instance instance) {
    UErrorCode failed = U_ZERO_ERROR;
    static const icu::UnicodeSet known = [] {
      UErrorCode failed_set = U_ZERO_ERROR;
      icu::UnicodeSet set(icu::UnicodeString("[:age=9.0:]"), failed_set);
      if (U_FAILURE(failed_set)) throw_environment_error("ICU lacks data: {}", u_errorName(failed_set));
      set.freeze();
      return set;
    }();
    const icu::Normalizer2* const all = instance(failed);
    if (U_FAILURE(failed)) throw_environment_error("ICU can't normalize text: {}", u_errorName(failed));
    form_ = std::make_unique<icu::FilteredNormalizer2>(*all, known);
  }
  void apply(NormalizedText& text) const {
    if (!is_ascii(text.text)) normalize(*form_, text);
  }

 private:
  std::unique_ptr<const icu::FilteredNormalizer2> form_;
};

template <Form::Instance instance>
class UnicodeForm : public TextNormalizer {
 public:
  explicit UnicodeForm(const JsonStage&) : form_(instance) {}
  void apply(NormalizedText& text) const override { form_.apply(text); }

 private:
  Form form_;
};

/// Lowers each character by itself, so that a final sigma is treated like any other sigma.
void put_lower(TextEdit& edit, UChar32 c, size_t begin, size_t end) {
  const UChar32 lower = u_tolower(c);
  if (lower == c) return edit.keep(begin, end);
  std::string changed;
  append_character(changed, lower);
  if (c == 0x130) changed = "i\u0307";  // the only one that becomes two characters
  edit.put(changed, begin, end);
}

void lower(NormalizedText& text) {
  if (text.origins.empty() && is_ascii(text.text)) {
    for (char& c : text.text)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 32);
  } else {
    change_characters(text, put_lower);
  }
}

class Lowercase : public TextNormalizer {
 public:
  explicit Lowercase(const JsonStage&) {}
  void apply(NormalizedText& text) const override { lower(text); }
};

void leave_out(NormalizedText& text, bool (*is_left_out)(UChar32)) {
  if (is_ascii(text.text)) return;
  change_characters(text, [&](TextEdit& edit, UChar32 c, size_t begin, size_t end) {
    if (!is_left_out(c)) edit.keep(begin, end);
  });
}

class StripAccents : public TextNormalizer {
 public:
  explicit StripAccents(const JsonStage&) {}
  void apply(NormalizedText& text) const override { leave_out(text, is_combining_mark); }
};

/// The normalization of BERT, which comes before words are split (Devlin et al. 2019).
class BertNormalizer : public TextNormalizer {
 public:
  explicit BertNormalizer(const JsonStage& json)
      : cleans_(json.flag("clean_text", true)),
        ideographs_(json.flag("handle_chinese_chars", true)),
        lower_(json.flag("lowercase", true)),
        strips_accents_(json.flag("strip_accents", lower_)),
        decomposed_(icu::Normalizer2::getNFDInstance) {}

  void apply(NormalizedText& text) const override {
    if (cleans_ || ideographs_) change_characters(text, [this](auto&... rest) { clean(rest...); });
    if (strips_accents_) {
      decomposed_.apply(text);
      leave_out(text, is_bert_accent);
    }
    if (lower_) lower(text);
  }

 private:
  void clean(TextEdit& edit, UChar32 c, size_t begin, size_t end) const {
    if (c > ' ' && c < 0x7F) return edit.keep(begin, end);
    if (cleans_) {
      if (is_white_space(c)) {
        // Vertical tabs and form feeds, U+0085 too, are control characters first.
        const bool left_out = c != '\t' && c != '\n' && c != '\r' && is_bert_control(c);
        return left_out ? void() : edit.put(" ", begin, end);
      }
      if (c == 0 || c == 0xFFFD || is_bert_control(c)) return;
    }
    if (!ideographs_ || !is_bert_ideograph(c)) return edit.keep(begin, end);
    edit.put(" ", begin, begin);
    edit.keep(begin, end);
    edit.put(" ", end, end);
  }

  bool cleans_, ideographs_, lower_, strips_accents_;
  Form decomposed_;
};

class Nmt : public TextNormalizer {
 public:
  explicit Nmt(const JsonStage&) {}
  void apply(NormalizedText& text) const override {
    change_characters(text, [](TextEdit& edit, UChar32 c, size_t begin, size_t end) {
      if (is_space(c))
        edit.put(" ", begin, end);
      else if (!is_left_out(c))
        edit.keep(begin, end);
    });
  }

 private:
  static bool is_space(UChar32 c) {
    return c == '\t' || c == '\n' || c == '\f' || c == '\r' || c == 0x1680 || (c >= 0x200B && c <= 0x200F) ||
           c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
  }
  static bool is_left_out(UChar32 c) { return (c >= 1 && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F; }
};

class Strip : public TextNormalizer {
 public:
  explicit Strip(const JsonStage& json)
      : left_(json.flag("strip_left", true)), right_(json.flag("strip_right", true)) {}
  void apply(NormalizedText& text) const override {
    size_t first = text.text.size(), last = 0;
    for (size_t begin = 0, end = 0; begin < text.text.size(); begin = end) {
      if (is_white_space(next_character(text.text, end))) continue;
      first = std::min(first, begin);
      last = end;
    }
    TextEdit edit(text);
    if (const size_t begin = left_ ? first : 0, end = right_ ? last : text.text.size(); begin < end)
      edit.keep(begin, end);
    edit.finish();
  }
  bool is_local() const override { return false; }

 private:
  bool left_, right_;
};

class Prepend : public TextNormalizer {
 public:
  explicit Prepend(const JsonStage& json) : text_(json.short_text("prepend")) {}
  void apply(NormalizedText& text) const override {
    TextEdit edit(text);
    edit.put(text_, 0, 0);
    edit.keep(0, text.text.size());
    edit.finish();
  }
  bool is_local() const override { return false; }

 private:
  std::string text_;
};

class Replace : public TextNormalizer {
 public:
  explicit Replace(const JsonStage& json)
      : find_(read_pattern(json.part("pattern"))), by_(json.short_text("content")) {
    const JsonStage pattern = json.part("pattern");
    is_local_ = pattern.has("String") ? pattern.text("String").find(' ') == std::string::npos : by_ == " ";
  }
  void apply(NormalizedText& text) const override {
    const std::vector<TextRange> matches = find_(text.text);
    if (matches.empty()) return;
    TextEdit edit(text);
    size_t done = 0;
    for (const TextRange& match : matches) {
      edit.keep(done, match.begin);
      edit.put(by_, match.begin, match.end);
      done = match.end;
    }
    edit.keep(done, text.text.size());
    edit.finish();
  }
  /// All known regular expressions match white space only.
  bool is_local() const override { return is_local_; }

 private:
  FindMatches find_;
  std::string by_;
  bool is_local_;
};

class Precompiled : public TextNormalizer {
 public:
  explicit Precompiled(const JsonStage& json) : map_(json.text("precompiled_charsmap"), json.where()) {}
  void apply(NormalizedText& text) const override { map_.apply(text); }

 private:
  Charsmap map_;
};

class NormalizerSequence : public TextNormalizer {
 public:
  explicit NormalizerSequence(const JsonStage& json) {
    for (const JsonStage& step : json.list("normalizers")) steps_.push_back(make_normalizer(step));
  }
  void apply(NormalizedText& text) const override {
    const size_t before = text.text.size();
    for (const auto& step : steps_) {
      if (!text.text.empty()) step->apply(text);
      check_growth(before, text.text.size());
    }
  }
  bool is_local() const override {
    return std::ranges::all_of(steps_, [](const auto& step) { return step->is_local(); });
  }

 private:
  std::vector<std::unique_ptr<const TextNormalizer>> steps_;
};

constexpr StageType<TextNormalizer> normalizer_types[] = {
    {"BertNormalizer", make_as<TextNormalizer, BertNormalizer>},
    {"Lowercase", make_as<TextNormalizer, Lowercase>},
    {"NFC", make_as<TextNormalizer, UnicodeForm<icu::Normalizer2::getNFCInstance>>},
    {"NFD", make_as<TextNormalizer, UnicodeForm<icu::Normalizer2::getNFDInstance>>},
    {"NFKC", make_as<TextNormalizer, UnicodeForm<icu::Normalizer2::getNFKCInstance>>},
    {"NFKD", make_as<TextNormalizer, UnicodeForm<icu::Normalizer2::getNFKDInstance>>},
    {"Nmt", make_as<TextNormalizer, Nmt>},
    {"Precompiled", make_as<TextNormalizer, Precompiled>},
    {"Prepend", make_as<TextNormalizer, Prepend>},
    {"Replace", make_as<TextNormalizer, Replace>},
    {"Sequence", make_as<TextNormalizer, NormalizerSequence>},
    {"Strip", make_as<TextNormalizer, Strip>},
    {"StripAccents", make_as<TextNormalizer, StripAccents>},
};

/// Runs of at least `min_length` characters for which `is_match` is true.
template <class Matches>
std::vector<TextRange> runs(std::string_view text, size_t min_length, Matches is_match) {
  std::vector<TextRange> matches;
  size_t first = 0, count = 0;
  for (size_t begin = 0, end = 0; begin <= text.size(); begin = end) {
    const bool found = begin < text.size() && is_match(next_character(text, end));
    if (found && count++ == 0) first = begin;
    if (found) continue;
    if (count >= min_length) matches.push_back({first, begin});
    count = 0;
    if (begin == text.size()) break;
  }
  return matches;
}

std::vector<TextRange> line_characters(std::string_view text) {
  std::vector<TextRange> matches;
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n' || text[i] == '\r' || text[i] == '\t') matches.push_back({i, i + 1});
  return matches;
}

/// A regular expression, and the function that finds its matches. Each reads a text once, from left to right.
struct KnownExpression {
  std::string_view text;
  std::vector<TextRange> (*find)(std::string_view);
};
constexpr KnownExpression known_expressions[] = {
    {" {2,}", [](std::string_view text) { return runs(text, 2, [](UChar32 c) { return c == ' '; }); }},
    {" +", [](std::string_view text) { return runs(text, 1, [](UChar32 c) { return c == ' '; }); }},
    {R"(\s+)", [](std::string_view text) { return runs(text, 1, is_white_space); }},
    {R"(\n)",
     [](std::string_view text) {
       std::vector<TextRange> matches;
       for (size_t i = 0; i < text.size(); ++i)
         if (text[i] == '\n') matches.push_back({i, i + 1});
       return matches;
     }},
    {R"([\n\r\t])", line_characters},
    {R"(\s{2,}|[\n\r\t])",
     [](std::string_view text) {
       std::vector<TextRange> matches;
       for (const TextRange& run : runs(text, 1, is_white_space)) {
         size_t end = run.begin;
         const UChar32 c = next_character(text, end);
         if (end < run.end || c == '\n' || c == '\r' || c == '\t') matches.push_back(run);
       }
       return matches;
     }},
};

}  // namespace

std::unique_ptr<const TextNormalizer> make_normalizer(const JsonStage& json) {
  return make_stage(normalizer_types, json);
}

FindMatches read_pattern(const JsonStage& json) {
  if (json.has("String")) {
    const std::string pattern = json.text("String");
    if (pattern.empty()) json.refuse("the pattern is empty");
    return [pattern](std::string_view text) {
      std::vector<TextRange> matches;
      for (size_t at = text.find(pattern); at != text.npos; at = text.find(pattern, at + pattern.size()))
        matches.push_back({at, at + pattern.size()});
      return matches;
    };
  }
  const std::string expression = json.text("Regex");
  for (const KnownExpression& known : known_expressions)
    if (known.text == expression) return known.find;
  json.refuse(
      fmt::format("the regular expression '{}' is not one of those that are known", expression.substr(0, 200)));
}

}  // namespace sixfold
