#include <algorithm>
#include <optional>

#include "tasks/translation/markup/html_elements.h"
#include "tasks/translation/markup/html_tokens.h"
#include "tasks/translation/markup/pieces.h"

namespace sixfold {
namespace {

/// An element that is open.
struct OpenElement {
  std::string name;
  uint32_t traits = 0;
  bool translated = true;
  bool keeps_space = false;
  bool foreign = false;          // SVG or MathML
  bool foreign_content = false;  // its content is SVG or MathML as well
  bool is_inline = false;        // its tags are within a text
  size_t piece = Piece::none;    // the index of its start tag
  size_t joined = Piece::none;   // the index of its first piece, if its pieces are to be joined

  bool limits_scope() const { return (traits & html_scope) != 0 || (foreign && !foreign_content); }
};

/// Reads a document in the order of its bytes, with a stack of open elements. The elements begin and end by the
/// rules of the HTML standard (13.2.6) for start tags, end tags and omitted tags. The tree of the standard is
/// not built, since its order may differ from that of the document: content of tables, and of elements whose
/// tags cross, is moved or repeated.
class HtmlReader {
 public:
  explicit HtmlReader(const MarkupSource& source)
      : source_(source), tokens_(source.bytes), pieces_(source, MarkupLanguage::html) {}

  Pieces read() {
    while (tokens_.next(token_, !stack_.empty() && stack_.back().foreign_content)) {
      switch (token_.kind) {
        case HtmlToken::Kind::text:
          add_text(token_.begin, token_.end);
          break;
        case HtmlToken::Kind::start_tag:
          start();
          break;
        case HtmlToken::Kind::end_tag:
          end();
          break;
        case HtmlToken::Kind::other:
          add(PieceKind::mark);
          break;
      }
    }
    while (!stack_.empty()) pop();
    return pieces_.take();
  }

 private:
  bool translated() const { return stack_.empty() || stack_.back().translated; }

  /// Adds the token as a piece of this kind, or as a boundary if its element is not translated.
  size_t add(PieceKind kind) {
    return pieces_.add(translated() ? kind : PieceKind::boundary, token_.begin, token_.end);
  }

  void add_text(size_t begin, size_t end) {
    if (translated())
      pieces_.add_text(begin, end, !stack_.empty() && stack_.back().keeps_space);
    else if (begin < end)
      pieces_.add(PieceKind::boundary, begin, end);
  }

  void pop() {
    if (stack_.back().is_inline) --inline_depth_;
    stack_.pop_back();
  }
  void pop_to(size_t depth) {
    while (stack_.size() > depth) pop();
  }

  /// Ends an open link where another one begins. Elements that were opened within it stay open.
  void end_link() {
    for (size_t i = stack_.size(); i-- > 0 && !stack_[i].limits_scope();) {
      if (stack_[i].name != "a") continue;
      if (stack_[i].is_inline) --inline_depth_;
      stack_.erase(stack_.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
  }

  /// Ends the elements whose end tags are omitted before this start tag.
  void end_implied(uint32_t traits) {
    if (token_.name == "a") end_link();
    if (traits & html_ends_paragraph)
      for (size_t i = stack_.size(); i-- > 0;) {
        if (stack_[i].name == "p") {
          pop_to(i);
          break;
        }
        if (stack_[i].limits_scope() || stack_[i].name == "button") break;
      }
    const ImpliedEnd* rule = implied_end(token_.name);
    if (!rule) return;
    size_t ended = stack_.size();
    for (size_t i = stack_.size(); i-- > 0;) {
      if (contains(rule->ended, stack_[i].name))
        ended = i;
      else if (rule->current_only || contains(rule->within, stack_[i].name) || stack_[i].foreign)
        break;
    }
    pop_to(ended);
  }

  bool is_open(std::string_view name) const {
    return std::any_of(stack_.begin(), stack_.end(), [&](const OpenElement& e) { return e.name == name; });
  }

  void start() {
    if ((token_.name == "html" || token_.name == "body") &&
        is_open(token_.name)) {  // the standard merges it with the first one
      pieces_.add(PieceKind::boundary, token_.begin, token_.end);
      return;
    }
    uint32_t traits = html_traits(token_.name);
    bool foreign = !stack_.empty() && stack_.back().foreign_content;
    if (foreign && (traits & html_breaks_foreign)) {
      while (!stack_.empty() && stack_.back().foreign_content) pop();
      foreign = false;
      traits |= html_block;  // text that is put before its start tag would be foreign content
    }
    if (foreign)
      traits &= html_foreign | html_untranslated | html_aside;
    else
      end_implied(traits);
    foreign = foreign || (traits & html_foreign) != 0;
    const bool ended = foreign ? token_.self_closing : (traits & html_void) != 0;
    push(traits, foreign);
    if (ended)
      end_of_current();
    else if (!foreign)
      read_raw_text(traits);
  }

  /// Opens the element of the start tag.
  void push(uint32_t traits, bool foreign) {
    if (stack_.size() >= max_markup_depth)
      throw_markup_error(source_, token_.begin,
                         "more than {} elements are nested in each other; close those that are open",
                         max_markup_depth);
    const bool parent_translated = translated(), hidden = (traits & (html_untranslated | html_aside)) != 0;
    const bool empty = !foreign && (traits & html_void) != 0;
    OpenElement element{.name = token_.name, .traits = traits, .foreign = foreign};
    element.translated = token_.translate.value_or(parent_translated && !hidden);
    element.keeps_space = (traits & html_keeps_space) != 0 || (!stack_.empty() && stack_.back().keeps_space);
    element.foreign_content = foreign && !is_integration_point(token_.name);
    element.is_inline = parent_translated && element.translated && !empty && !foreign && !hidden &&
                        (traits & html_block) == 0 && inline_depth_ < max_inline_depth;
    if (parent_translated && !element.translated && ((traits & html_aside) != 0 || (traits & html_block) == 0))
      element.joined = pieces_.size();
    const bool mark = parent_translated && empty && (traits & html_block) == 0;
    element.piece = pieces_.add(element.is_inline ? PieceKind::open
                                : mark            ? PieceKind::mark
                                                  : PieceKind::boundary,
                                token_.begin, token_.end);
    inline_depth_ += element.is_inline ? 1 : 0;
    stack_.push_back(std::move(element));
  }

  /// Reads the content of elements that contain no tags.
  void read_raw_text(uint32_t traits) {
    const size_t begin = token_.end;
    if (traits & html_plaintext)
      add_raw(begin, tokens_.skip_rest());
    else if (traits & html_raw)
      add_raw(begin, tokens_.skip_raw_text(token_.name));
    else if (traits & html_rcdata)
      add_text(begin, tokens_.skip_raw_text(token_.name));
  }
  /// Adds the content of elements without references, which is never translated.
  void add_raw(size_t begin, size_t end) {
    if (begin < end) pieces_.add(PieceKind::boundary, begin, end);
  }

  /// Returns the index of the open element that the end tag ends, if there is one.
  std::optional<size_t> find_open() const {
    const uint32_t traits = html_traits(token_.name);
    const bool block = (traits & html_block) != 0, any = (traits & html_formatting) != 0;
    constexpr std::string_view headings[] = {"h1", "h2", "h3", "h4", "h5", "h6"};
    constexpr std::string_view parts_of_tables[] = {"caption", "col",   "colgroup", "table", "tbody",
                                                    "td",      "tfoot", "th",       "thead", "tr"};
    const bool heading = contains(headings, token_.name), table = contains(parts_of_tables, token_.name);
    for (size_t i = stack_.size(); i-- > 0;) {
      const OpenElement& element = stack_[i];
      if (element.name == token_.name || (heading && contains(headings, element.name))) return i;
      if (table ? element.name == "table" || element.name == "template" : element.limits_scope()) break;
      if (!block && !any && (element.traits & html_block) != 0) break;
      if (token_.name == "li" && (element.name == "ul" || element.name == "ol")) break;
      if (token_.name == "p" && element.name == "button") break;
    }
    return std::nullopt;
  }

  void end() {
    if (token_.name == "html" || token_.name == "body") {  // content after it is still part of the body
      pieces_.add(PieceKind::boundary, token_.begin, token_.end);
      return;
    }
    const bool block = (html_traits(token_.name) & html_block) != 0;
    const std::optional<size_t> found = find_open();
    if (!found) {
      add(block ? PieceKind::boundary : PieceKind::mark);
      return;
    }
    if (stack_[*found].is_inline) return end_inline(*found);
    const bool whole = *found + 1 == stack_.size();
    pop_to(*found + 1);
    pieces_.add(PieceKind::boundary, token_.begin, token_.end);
    end_of_current(whole);
  }

  /// Ends the element that was opened last, by its own end tag. An element that is no part of the text around
  /// it becomes a mark, which may be moved. One that stands for words of that text becomes a single piece, if
  /// all elements in it were ended by their own end tags (`whole`): otherwise it could not be moved.
  void end_of_current(bool whole = true) {
    const OpenElement& element = stack_.back();
    if (element.joined != Piece::none) {
      if (element.traits & html_aside)
        pieces_.join(element.joined, PieceKind::mark);
      else if (whole && pieces_.join(element.joined, PieceKind::boundary))
        pieces_.stands_for_words();
    }
    pop();
  }

  /// Ends an inline element. If its end tag crosses the tags of other elements, it is a boundary. If there are
  /// block elements among those, all of them remain open; otherwise only formatting elements do, which HTML
  /// opens again after the end tag.
  void end_inline(size_t depth) {
    const auto at = stack_.begin() + static_cast<std::ptrdiff_t>(depth), above = at + 1;
    if (above == stack_.end()) {
      pieces_.make_partners(at->piece, pieces_.add(PieceKind::close, token_.begin, token_.end));
      return pop();
    }
    const bool block =
        std::any_of(above, stack_.end(), [](const OpenElement& e) { return (e.traits & html_block) != 0; });
    const auto ends = [](const OpenElement& e) { return (e.traits & html_formatting) == 0; };
    const auto kept_end = block ? stack_.end() : std::remove_if(above, stack_.end(), ends);
    stack_.erase(kept_end, stack_.end());
    stack_.erase(stack_.begin() + static_cast<std::ptrdiff_t>(depth));
    inline_depth_ = static_cast<size_t>(
        std::count_if(stack_.begin(), stack_.end(), [](const OpenElement& e) { return e.is_inline; }));
    pieces_.add(PieceKind::boundary, token_.begin, token_.end);
  }

  const MarkupSource& source_;
  HtmlTokenizer tokens_;
  HtmlToken token_;
  PieceList pieces_;
  std::vector<OpenElement> stack_;
  size_t inline_depth_ = 0;
};

}  // namespace

Pieces html_pieces(const MarkupSource& source) { return HtmlReader(source).read(); }

}  // namespace sixfold
