#include <algorithm>
#include <map>
#include <string>

#include "base/ascii.h"
#include "tasks/translation/markup/html_tokens.h"
#include "tasks/translation/markup/markdown_tokens.h"

namespace sixfold {
namespace {

using Token = MarkdownToken;

/// Finds the bytes of all tokens of a leaf. md4c reports only the bytes of texts; the bytes between them must
/// be the markup of spans and line ends.
class LeafReader {
 public:
  LeafReader(std::string_view bytes, const std::vector<Token>& tokens, EmptyLines& empty_lines)
      : bytes_(bytes),
        tokens_(tokens),
        empty_lines_(empty_lines),
        next_texts_(tokens.size() + 1, bytes.size()) {
    for (size_t i = tokens.size(); i-- > 0;)
      next_texts_[i] = tokens[i].end > 0 ? tokens[i].begin : next_texts_[i + 1];
    find_end_tags();
  }

  /// Returns no parts if some markup is not as expected.
  std::vector<PieceRange> read() {
    find_begin();
    for (i_ = 0; i_ < tokens_.size() && valid_; ++i_) read_token(tokens_[i_]);
    if (!valid_ || !open_.empty()) return {};
    for (PieceRange& part : parts_)
      if (part.kind == PieceKind::open && part.partner == Piece::none) part.kind = PieceKind::boundary;
    return std::move(parts_);
  }

 private:
  struct OpenSpan {
    size_t part;       ///< index of the part that opens it
    size_t size;       ///< size of that part
    std::string name;  ///< name of an HTML element
  };

  /// The name of an HTML tag, in lower case.
  static std::string name_of(std::string_view tag) {
    std::string name;
    for (size_t i = tag.starts_with("</") ? 2 : 1;
         i < tag.size() && (is_ascii_letter(tag[i]) || is_ascii_digit(tag[i])); ++i)
      name += ascii_lower(tag[i]);
    return name;
  }
  std::string_view bytes_of(const Token& token) const {
    return bytes_.substr(token.begin, token.end - token.begin);
  }
  /// Finds the end tags of HTML elements that lie in one span.
  void find_end_tags() {
    end_tags_.assign(tokens_.size(), Piece::none);
    std::vector<size_t> spans{Piece::none};
    std::map<std::pair<std::string, size_t>, std::vector<size_t>> open;  // start tags, by name and span
    for (size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].kind == Token::Kind::enter) spans.push_back(i);
      if (tokens_[i].kind == Token::Kind::leave && spans.size() > 1) spans.pop_back();
      if (tokens_[i].kind != Token::Kind::html) continue;
      const std::string_view tag = bytes_of(tokens_[i]);
      std::vector<size_t>& starts = open[{name_of(tag), spans.back()}];
      if (!tag.starts_with("</")) {
        if (!tag.ends_with("/>")) starts.push_back(i);
      } else if (!starts.empty()) {
        end_tags_[starts.back()] = i;
        starts.pop_back();
      }
    }
  }

  char at(size_t i) const { return i < bytes_.size() ? bytes_[i] : '\0'; }
  size_t run_of(char c, size_t begin) const {
    return std::min(bytes_.find_first_not_of(c, begin), bytes_.size()) - begin;
  }

  /// Sets `at_` to the beginning of the leaf, by moving from its first text to the left over the markup of the
  /// tokens before it. Whether this is the expected markup is checked when the tokens are read.
  void find_begin() {
    size_t first = 0;
    while (first < tokens_.size() && tokens_[first].end == 0) ++first;
    if (first == tokens_.size()) return void(valid_ = false);
    at_ = tokens_[first].begin;
    if (is_escaped(at_)) --at_;
    while (first-- > 0 && valid_) {
      const Token& token = tokens_[first];
      if (token.kind == Token::Kind::enter)
        at_ -= size_before(token.span, at_);
      else if (token.kind == Token::Kind::leave &&
               (token.span == MarkdownSpan::image || token.span == MarkdownSpan::link))
        skip_empty_back(token.span, first);
      else if (token.kind == Token::Kind::soft_break || token.kind == Token::Kind::hard_break)
        at_ = bytes_.find_last_not_of(" \t>\r\n\\", at_ - 1) + 1;
      else
        valid_ = false;
    }
  }
  /// Moves to the left over an image or a link without text.
  void skip_empty_back(MarkdownSpan span, size_t& token) {
    if (tokens_[token - 1].kind != Token::Kind::enter)
      return;  // an element within a link, which is skipped as a whole
    const size_t begin = bytes_.rfind(span == MarkdownSpan::image ? "![" : "[", at_ - 1);
    valid_ = begin != bytes_.npos;
    if (valid_) at_ = begin, --token;
  }
  bool is_escaped(size_t i) const {
    size_t begin = i;
    while (begin > 0 && bytes_[begin - 1] == '\\') --begin;
    return (i - begin) % 2 == 1 && is_ascii_punctuation(at(i));
  }
  /// The length of the markup, ending at `end`, that opens a span.
  size_t size_before(MarkdownSpan span, size_t end) const {
    const auto before = [&](size_t n) { return end >= n ? bytes_[end - n] : '\0'; };
    if (span == MarkdownSpan::emphasis) return std::min<size_t>(1, end);
    if (span == MarkdownSpan::strong || span == MarkdownSpan::image) return std::min<size_t>(2, end);
    if (span == MarkdownSpan::deleted) return before(2) == '~' ? 2 : 1;
    if (span == MarkdownSpan::link) return before(1) == '[' || before(1) == '<' ? 1 : 0;
    size_t n = 1;  // code
    while (before(n) == ' ' || before(n) == '\n' || before(n) == '\r') ++n;
    while (before(n) == '`') ++n;
    return n - 1;
  }

  void read_token(const Token& token) {
    switch (token.kind) {
      case Token::Kind::text: {
        const bool escape = at_ + 1 == token.begin && at(at_) == '\\';
        valid_ = at_ == token.begin || escape;
        if (!parts_.empty() && parts_.back().kind == PieceKind::text && parts_.back().end == at_)
          parts_.back().end = token.end;
        else
          add(PieceKind::text, token.end);
        break;
      }
      case Token::Kind::html:
        valid_ = at_ == token.begin;
        add_html(token);
        return;
      case Token::Kind::soft_break:
      case Token::Kind::hard_break:
        add_line_end(token.kind == Token::Kind::hard_break);
        return;
      case Token::Kind::enter:
        enter(token.span);
        return;
      case Token::Kind::leave:
        leave(token.span);
        return;
    }
    at_ = token.end;
  }

  PieceRange& add(PieceKind kind, size_t end) {
    valid_ = valid_ && at_ <= end && end <= bytes_.size();
    return parts_.emplace_back(PieceRange{kind, at_, end});
  }

  /// Adds a line end, with white space around it and quotation marks (">") after it.
  void add_line_end(bool hard) {
    size_t end = std::min(bytes_.find_first_not_of(" \t", at_), bytes_.size());
    if (hard && at(end) == '\\') ++end;
    end += at(end) == '\r' ? 1 : 0;
    valid_ = valid_ && at(end) == '\n';
    end = std::min(bytes_.find_first_not_of(" \t>", end + 1), bytes_.size());
    add(hard ? PieceKind::boundary : PieceKind::space, end);
    at_ = end;
  }

  void enter(MarkdownSpan span) {
    if (open_.size() >= max_inline_depth) valid_ = false;
    if (span == MarkdownSpan::code || span == MarkdownSpan::image) return add_whole(span);
    size_t size = 0;
    const char c = at(at_);
    if (span == MarkdownSpan::emphasis || span == MarkdownSpan::strong) {
      size = span == MarkdownSpan::emphasis ? 1 : 2;
      valid_ = valid_ && (c == '*' || c == '_') && run_of(c, at_) >= size;
    } else if (span == MarkdownSpan::deleted) {
      size = std::min<size_t>(run_of('~', at_), 2);
      valid_ = valid_ && size > 0;
    } else if (span == MarkdownSpan::link) {
      if (c != '[') return add_whole(span);
      size = 1;
    } else {
      valid_ = false;
    }
    open_.push_back({parts_.size(), size, ""});
    add(PieceKind::open, at_ + size);
    at_ += size;
  }

  void leave(MarkdownSpan span) {
    if (open_.empty()) return void(valid_ = false);
    const OpenSpan open = open_.back();
    open_.pop_back();
    while (!html_.empty() && html_.back().size > open_.size()) html_.pop_back();
    const size_t size = span == MarkdownSpan::link ? tail_size(at_) : open.size;
    valid_ = valid_ && size > 0 && (span == MarkdownSpan::link || at(at_) == bytes_[parts_[open.part].begin]);
    add(PieceKind::close, at_ + size).partner = open.part;
    parts_[open.part].partner = parts_.size() - 1;
    at_ += size;
  }

  /// Adds code, an image or an autolink as a whole, since it contains no text to translate.
  void add_whole(MarkdownSpan span) {
    size_t inner = at_, last = i_ + 1, depth = 1;
    size_t marks = 0;
    if (span == MarkdownSpan::code)
      inner += marks = run_of('`', at_);
    else if (span == MarkdownSpan::image)
      inner += 2;
    else if (at(at_) == '<')
      inner += 1;
    for (; last < tokens_.size(); ++last) {
      const Token& token = tokens_[last];
      if (token.end > 0) inner = std::max(inner, token.end);
      if (token.kind == Token::Kind::enter) ++depth;
      if (token.kind == Token::Kind::leave && --depth == 0) break;
    }
    i_ = last;
    size_t end = inner;
    if (span == MarkdownSpan::code) {
      end = std::min(bytes_.find('`', inner), bytes_.size());
      end += run_of('`', end);
      valid_ = valid_ && marks > 0 && at_ + marks < end && run_of('`', end - marks) == marks;
    } else if (span == MarkdownSpan::image) {
      // The description may contain markup, but ends after all of it.
      const size_t bracket = end_of_bracket(at_ + 1, empty_lines_.after(inner));
      end = bracket + tail_size(bracket);
      valid_ = valid_ && bytes_.substr(at_, 2) == "![" && bracket >= inner && end > bracket;
    } else if (at(at_) == '<') {
      valid_ = valid_ && at(end) == '>';
      ++end;
    }
    add(span == MarkdownSpan::code ? PieceKind::boundary : PieceKind::mark, end).stands_for_words =
        span != MarkdownSpan::image;
    at_ = end;
  }

  /// The position of the "]" that matches the "[" at `i`; `limit` if there is none before it.
  size_t end_of_bracket(size_t i, size_t limit) const {
    for (int depth = 0; i < limit; ++i) {
      if (bytes_[i] == '\\') {
        ++i;
      } else if (bytes_[i] == '[') {
        ++depth;
      } else if (bytes_[i] == ']' && --depth == 0) {
        return i;
      }
    }
    return limit;
  }

  /// The length of the end of a link or an image, from its "]" on, with a target or a reference if there is
  /// one. It ends before the next text.
  size_t tail_size(size_t begin) {
    if (at(begin) != ']') return 0;
    const size_t next = next_texts_[std::min(i_ + 1, tokens_.size())], open = begin + 1;
    const size_t limit = std::min(next, empty_lines_.after(open));
    size_t end = open;
    if (at(open) == '(') {
      end = end_of_target(open, limit);
    } else if (at(open) == '[') {
      end = end_of_bracket(open, limit) + 1;
    }
    return (end > limit ? open : end) - begin;
  }
  /// The position after "(target 'title')"; after `limit` if it does not end before it.
  size_t end_of_target(size_t i, size_t limit) const {
    int depth = 0;
    char quote = '\0';
    for (; i < limit; ++i) {
      const char c = bytes_[i];
      if (c == '\\') {
        ++i;
      } else if (quote != '\0') {
        if (c == quote) quote = '\0';
      } else if (c == '<' && at(i - 1) != '\\' && depth == 1) {
        quote = '>';
      } else if ((c == '"' || c == '\'') && (at(i - 1) == ' ' || at(i - 1) == '\n' || at(i - 1) == '\t')) {
        quote = c;
      } else if (c == '(') {
        ++depth;
      } else if (c == ')' && --depth == 0) {
        return i + 1;
      }
    }
    return limit + 1;
  }

  /// Adds an HTML tag. A start tag and its end tag are an inline element; all other tags are boundaries.
  void add_html(const Token& token) {
    const std::string_view tag = bytes_of(token);
    const bool closes = tag.starts_with("</");
    const std::string name = name_of(tag);
    if (!closes && add_untranslated(tag)) return;
    const bool is_end_of_last =
        closes && !html_.empty() && html_.back().name == name && html_.back().size == open_.size();
    if (is_end_of_last) {
      const size_t open = html_.back().part;
      html_.pop_back();
      add(PieceKind::close, token.end).partner = open;
      parts_[open].partner = parts_.size() - 1;
    } else {
      const bool opens = !closes && !name.empty() && !tag.ends_with("/>") && html_.size() < max_inline_depth;
      if (opens) html_.push_back({parts_.size(), open_.size(), name});
      add(opens ? PieceKind::open : PieceKind::boundary, token.end);
    }
    at_ = token.end;
  }
  /// Adds an HTML element whose content is not translated as a whole. Returns whether the start tag begins one
  /// that ends in the same span.
  bool add_untranslated(std::string_view tag) {
    const HtmlContent content = content_of(tag);
    if (content == HtmlContent::translated || end_tags_[i_] == Piece::none) return false;
    i_ = end_tags_[i_];
    add(content == HtmlContent::aside ? PieceKind::mark : PieceKind::boundary, tokens_[i_].end)
        .stands_for_words = content == HtmlContent::words;
    at_ = tokens_[i_].end;
    return true;
  }

  std::string_view bytes_;
  const std::vector<Token>& tokens_;
  EmptyLines& empty_lines_;
  std::vector<size_t> next_texts_;  // for each token, the begin of the next text
  std::vector<size_t> end_tags_;    // for each token that is a start tag of HTML, its end tag
  std::vector<PieceRange> parts_;
  std::vector<OpenSpan> open_;  // open spans, outermost first
  std::vector<OpenSpan> html_;  // open HTML elements; `size` is the number of spans around them
  size_t at_ = 0, i_ = 0;       // the byte after the last part; the index of the token
  bool valid_ = true;
};

}  // namespace

std::vector<PieceRange> find_markdown_parts(std::string_view bytes, const std::vector<MarkdownToken>& tokens,
                                            EmptyLines& empty_lines) {
  return LeafReader(bytes, tokens, empty_lines).read();
}

}  // namespace sixfold
