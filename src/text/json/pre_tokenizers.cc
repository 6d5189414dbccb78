#include "text/json/pre_tokenizers.h"

#include "text/json/normalizers.h"
#include "text/json/text_edit.h"
#include "text/json/unicode_rules.h"
#include "text/json/word_pattern.h"

// The types are defined in the documentation of Hugging Face's tokenizers.

namespace sixfold {
namespace {

/// What a split does with the matches and the text between them.
enum class Behavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

Behavior behavior_of(const JsonStage& json, const char* usual) {
  const std::string name = json.text_or("behavior", usual);
  constexpr std::pair<std::string_view, Behavior> names[] = {
      {"Removed", Behavior::removed},
      {"Isolated", Behavior::isolated},
      {"MergedWithPrevious", Behavior::merged_with_previous},
      {"MergedWithNext", Behavior::merged_with_next},
      {"Contiguous", Behavior::contiguous}};
  for (const auto& [known, behavior] : names)
    if (known == name) return behavior;
  json.refuse(fmt::format("the behavior '{}' is not known", name));
}

/// Splits a text with these matches, which are relative to `word`.
void split_word(TextRange word, const std::vector<TextRange>& matches, Behavior behavior, bool inverted,
                std::vector<TextRange>& words) {
  bool before = false;  // whether the part before was a match
  const size_t first = words.size();
  const auto add = [&](size_t begin, size_t end, bool match) {
    if (begin == end) return;
    const TextRange part{word.begin + begin, word.begin + end};
    const bool has_previous = words.size() > first && words.back().end == part.begin;
    const bool joins = has_previous && ((behavior == Behavior::merged_with_previous && match && !before) ||
                                        (behavior == Behavior::merged_with_next && !match && before) ||
                                        (behavior == Behavior::contiguous && match == before));
    if (joins)
      words.back().end = part.end;
    else if (!match || behavior != Behavior::removed)
      words.push_back(part);
    before = match;
  };
  size_t done = 0;
  for (const TextRange& match : matches) {
    add(done, match.begin, inverted);
    add(match.begin, match.end, !inverted);
    done = match.end;
  }
  add(done, word.end - word.begin, inverted);
}

template <class Matches>
void split_words(SplitText& text, Behavior behavior, bool inverted, Matches matches) {
  std::vector<TextRange> words;
  for (const TextRange& word : text.words)
    split_word(word, matches(std::string_view(text.text.text).substr(word.begin, word.end - word.begin)),
               behavior, inverted, words);
  text.words = std::move(words);
}

/// Splits at each character for which `matches` is true.
template <class Matches>
void split_characters(SplitText& text, Behavior behavior, Matches matches) {
  split_words(text, behavior, false, [&](std::string_view word) {
    std::vector<TextRange> found;
    for (size_t begin = 0, end = 0; begin < word.size(); begin = end)
      if (matches(next_character(word, end))) found.push_back({begin, end});
    return found;
  });
}

/// Rewrites each word with `write(edit, word)`.
template <class Write>
void rewrite_words(SplitText& text, Write write) {
  TextEdit edit(text.text);
  for (TextRange& word : text.words) {
    const size_t begin = edit.size();
    write(edit, word);
    word = {begin, edit.size()};
  }
  edit.finish();
}

class BertPreTokenizer : public PreTokenizer {
 public:
  explicit BertPreTokenizer(const JsonStage&) {}
  void apply(SplitText& text) const override {
    std::vector<TextRange> words;
    for (const TextRange& word : text.words) split(text.text.text, word, words);
    text.words = std::move(words);
  }
  bool splits_at_spaces() const override { return true; }

 private:
  static void split(std::string_view text, TextRange word, std::vector<TextRange>& words) {
    size_t begin = word.begin;
    for (size_t at = word.begin, next = at; at < word.end; at = next) {
      const UChar32 c = next_character(text, next);
      const bool space = is_white_space(c);
      if (!space && !is_bert_punctuation(c)) continue;
      if (at > begin) words.push_back({begin, at});
      if (!space) words.push_back({at, next});
      begin = next;
    }
    if (begin < word.end) words.push_back({begin, word.end});
  }
};

class ByteLevel : public PreTokenizer {
 public:
  explicit ByteLevel(const JsonStage& json)
      : adds_space_(json.flag("add_prefix_space", true)), splits_(json.flag("use_regex", true)) {}
  void apply(SplitText& text) const override {
    if (adds_space_ && !text.words.empty()) {
      const std::string before = text.text.text;
      rewrite_words(text, [&](TextEdit& edit, const TextRange& word) {
        if (before[word.begin] != ' ') edit.put(" ", word.begin, word.begin);
        edit.keep(word.begin, word.end);
      });
    }
    if (splits_)
      split_words(text, Behavior::isolated, false,
                  [](std::string_view word) { return gpt2_pattern.words(word); });
  }
  bool is_byte_level() const override { return true; }
  bool adds_space() const override { return adds_space_; }
  bool splits_at_spaces() const override { return splits_; }
  bool splits_after_letters() const override { return splits_ && !adds_space_; }

 private:
  bool adds_space_, splits_;
};

class Digits : public PreTokenizer {
 public:
  explicit Digits(const JsonStage& json)
      : behavior_(json.flag("individual_digits", false) ? Behavior::isolated : Behavior::contiguous) {}
  void apply(SplitText& text) const override { split_characters(text, behavior_, is_numeric); }

 private:
  Behavior behavior_;
};

class Metaspace : public PreTokenizer {
 public:
  explicit Metaspace(const JsonStage& json)
      : mark_(json.short_text("replacement")), splits_(json.flag("split", true)) {
    scheme_ = json.text_or("prepend_scheme", json.flag("add_prefix_space", true) ? "always" : "never");
    size_t end = 0;
    if (!mark_.empty()) next_character(mark_, end);
    if (mark_.empty() || end != mark_.size()) json.refuse("'replacement' is not one character");
    if (scheme_ != "always" && scheme_ != "first" && scheme_ != "never")
      json.refuse(fmt::format("the prepend_scheme '{}' is not known", scheme_));
    if (!json.flag("add_prefix_space", true)) scheme_ = "never";
  }
  void apply(SplitText& text) const override {
    const std::string before = text.text.text;
    rewrite_words(text, [&](TextEdit& edit, const TextRange& word) {
      const bool marked = before[word.begin] == ' ' || before.compare(word.begin, mark_.size(), mark_) == 0;
      if (!marked && (scheme_ == "always" || (scheme_ == "first" && text.begins && word.begin == 0)))
        edit.put(mark_, word.begin, word.begin);
      for (size_t begin = word.begin; begin < word.end;) {
        const size_t space = std::min(before.find(' ', begin), word.end);
        edit.keep(begin, space);
        if (space < word.end) edit.put(mark_, space, space + 1);
        begin = space + 1;
      }
    });
    if (!splits_) return;
    split_words(text, Behavior::merged_with_next, false, [&](std::string_view word) {
      std::vector<TextRange> marks;
      for (size_t at = word.find(mark_); at != word.npos; at = word.find(mark_, at + mark_.size()))
        marks.push_back({at, at + mark_.size()});
      return marks;
    });
  }
  bool looks_at_beginning() const override { return scheme_ == "first"; }
  bool splits_at_spaces() const override { return splits_; }

 private:
  std::string mark_, scheme_;
  bool splits_;
};

class Punctuation : public PreTokenizer {
 public:
  explicit Punctuation(const JsonStage& json) : behavior_(behavior_of(json, "Isolated")) {}
  void apply(SplitText& text) const override { split_characters(text, behavior_, is_bert_punctuation); }

 private:
  Behavior behavior_;
};

class Split : public PreTokenizer {
 public:
  explicit Split(const JsonStage& json)
      : behavior_(behavior_of(json, "")), inverted_(json.flag("invert", false)) {
    const JsonStage pattern = json.part("pattern");
    const std::string expression = pattern.has("Regex") ? pattern.text("Regex") : "";
    if (const auto words = word_pattern(expression)) {
      is_word_pattern_ = behavior_ == Behavior::isolated || (behavior_ == Behavior::removed && inverted_);
      find_ = [words](std::string_view text) { return words->words(text); };
    } else {
      find_ = read_pattern(pattern);
    }
  }
  void apply(SplitText& text) const override { split_words(text, behavior_, inverted_, find_); }
  bool splits_at_spaces() const override { return is_word_pattern_; }
  bool splits_after_letters() const override { return is_word_pattern_; }

 private:
  Behavior behavior_;
  bool inverted_, is_word_pattern_ = false;
  FindMatches find_;
};

class WhitespaceSplit : public PreTokenizer {
 public:
  explicit WhitespaceSplit(const JsonStage&) {}
  void apply(SplitText& text) const override { split_characters(text, Behavior::removed, is_white_space); }
  bool splits_at_spaces() const override { return true; }
};

/// \w+|[^\w\s]+
class Whitespace : public PreTokenizer {
 public:
  explicit Whitespace(const JsonStage&) {}
  void apply(SplitText& text) const override {
    split_words(text, Behavior::removed, true, [](std::string_view word) {
      std::vector<TextRange> found;
      int before = 0;
      for (size_t begin = 0, end = 0; begin < word.size(); begin = end) {
        const UChar32 c = next_character(word, end);
        const int kind = is_word_character(c) ? 1 : is_white_space(c) ? 0 : 2;
        if (kind != 0 && kind == before)
          found.back().end = end;
        else if (kind != 0)
          found.push_back({begin, end});
        before = kind;
      }
      return found;
    });
  }
  bool splits_at_spaces() const override { return true; }
};

class PreTokenizerSequence final : public PreTokenizer {
 public:
  explicit PreTokenizerSequence(const JsonStage& json) {
    for (const JsonStage& step : json.list("pretokenizers")) {
      if (is_byte_level()) step.refuse("no step may follow ByteLevel");
      steps_.push_back(make_pre_tokenizer(step));
    }
  }
  void apply(SplitText& text) const override {
    for (const auto& step : steps_) step->apply(text);
  }
  bool is_byte_level() const override { return !steps_.empty() && steps_.back()->is_byte_level(); }
  bool adds_space() const override { return !steps_.empty() && steps_.back()->adds_space(); }
  bool looks_at_beginning() const override {
    return std::ranges::any_of(steps_, [](const auto& step) { return step->looks_at_beginning(); });
  }
  bool splits_at_spaces() const override {
    return std::ranges::any_of(steps_, [](const auto& step) { return step->splits_at_spaces(); });
  }
  /// It requires that the last step is ByteLevel, since a step such as Metaspace rewrites the beginnings of
  /// words.
  bool splits_after_letters() const override {
    return std::ranges::any_of(steps_, [](const auto& step) { return step->splits_after_letters(); }) &&
           is_byte_level();
  }

 private:
  std::vector<std::unique_ptr<const PreTokenizer>> steps_;
};

constexpr StageType<PreTokenizer> pre_tokenizer_types[] = {
    {"BertPreTokenizer", make_as<PreTokenizer, BertPreTokenizer>},
    {"ByteLevel", make_as<PreTokenizer, ByteLevel>},
    {"Digits", make_as<PreTokenizer, Digits>},
    {"Metaspace", make_as<PreTokenizer, Metaspace>},
    {"Punctuation", make_as<PreTokenizer, Punctuation>},
    {"Sequence", make_as<PreTokenizer, PreTokenizerSequence>},
    {"Split", make_as<PreTokenizer, Split>},
    {"Whitespace", make_as<PreTokenizer, Whitespace>},
    {"WhitespaceSplit", make_as<PreTokenizer, WhitespaceSplit>},
};

}  // namespace

std::unique_ptr<const PreTokenizer> make_pre_tokenizer(const JsonStage& json) {
  return make_stage(pre_tokenizer_types, json);
}

}  // namespace sixfold
