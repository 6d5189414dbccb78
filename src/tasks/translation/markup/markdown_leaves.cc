#include "tasks/translation/markup/markdown_leaves.h"

#include <md4c.h>

#include <algorithm>
#include <exception>
#include <new>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "tasks/translation/markup/markdown_tables.h"
#include "tasks/translation/markup/markdown_tokens.h"

namespace sixfold {
namespace {

using Token = MarkdownToken;

/// The length of a byte order mark and of front matter, which is enclosed in lines of "---" or "+++". YAML may
/// end with "..." too.
size_t front_matter_size(std::string_view bytes) {
  const size_t mark = bytes.starts_with("\uFEFF") ? 3 : 0;
  for (const std::string_view delimiter : {"---", "+++"}) {
    const auto is_delimiter = [&](size_t begin, bool is_end) {
      const size_t end = std::min(bytes.find('\n', begin), bytes.size());
      std::string_view line = bytes.substr(begin, end - begin);
      while (line.ends_with(' ') || line.ends_with('\r')) line.remove_suffix(1);
      return line == delimiter || (is_end && delimiter == "---" && line == "...");
    };
    if (!is_delimiter(mark, false)) continue;
    for (size_t at = bytes.find('\n', mark); at != bytes.npos; at = bytes.find('\n', at + 1))
      if (is_delimiter(at + 1, true)) return std::min(bytes.find('\n', at + 1), bytes.size());
  }
  return mark;
}

MarkdownSpan span_of(MD_SPANTYPE type) {
  switch (type) {
    case MD_SPAN_EM:
      return MarkdownSpan::emphasis;
    case MD_SPAN_STRONG:
      return MarkdownSpan::strong;
    case MD_SPAN_DEL:
      return MarkdownSpan::deleted;
    case MD_SPAN_A:
      return MarkdownSpan::link;
    case MD_SPAN_IMG:
      return MarkdownSpan::image;
    case MD_SPAN_CODE:
      return MarkdownSpan::code;
    default:
      return MarkdownSpan::other;
  }
}

/// Reads a document by the callbacks of md4c. Exceptions must not pass through md4c, and are stored instead.
class MarkdownReader {
 public:
  explicit MarkdownReader(std::string_view bytes) : bytes_(bytes), skipped_(front_matter_size(bytes)) {}

  MarkdownDocument read() {
    MD_PARSER parser{};
    parser.flags = MD_DIALECT_GITHUB;
    parser.enter_block = [](MD_BLOCKTYPE type, void* detail, void* self) {
      return handle(self, [&](MarkdownReader& r) { r.enter_block(type, detail); });
    };
    parser.leave_block = [](MD_BLOCKTYPE type, void*, void* self) {
      return handle(self, [&](MarkdownReader& r) { r.leave_block(type); });
    };
    parser.enter_span = [](MD_SPANTYPE type, void* detail, void* self) {
      return handle(self, [&](MarkdownReader& r) { r.enter_span(type, detail); });
    };
    parser.leave_span = [](MD_SPANTYPE type, void*, void* self) {
      return handle(self, [&](MarkdownReader& r) { r.tokens_.push_back({Token::Kind::leave, span_of(type)}); });
    };
    parser.text = [](MD_TEXTTYPE type, const MD_CHAR* text, MD_SIZE size, void* self) {
      return handle(self, [&](MarkdownReader& r) { r.add_text(type, {text, size}); });
    };
    const std::string& text = parsed_.text();
    const int status = md_parse(text.data(), static_cast<MD_SIZE>(text.size()), &parser, this);
    if (error_) std::rethrow_exception(error_);
    if (status != 0) throw std::bad_alloc();
    end_leaf();
    document_.blocks.push_back(std::move(blocks_));
    return std::move(document_);
  }

 private:
  template <class Function>
  static int handle(void* self, Function function) {
    auto& reader = *static_cast<MarkdownReader*>(self);
    try {
      function(reader);
      return 0;
    } catch (...) {
      reader.error_ = std::current_exception();
      return 1;
    }
  }
  static std::string_view text_of(const MD_ATTRIBUTE& attribute) { return {attribute.text, attribute.size}; }

  void enter_block(MD_BLOCKTYPE type, void* detail) {
    end_leaf();
    blocks_ += std::to_string(type) + "(";
    if (type == MD_BLOCK_H) blocks_ += std::to_string(static_cast<MD_BLOCK_H_DETAIL*>(detail)->level);
    if (type == MD_BLOCK_LI) blocks_ += static_cast<MD_BLOCK_LI_DETAIL*>(detail)->is_task ? "task" : "";
    if (type == MD_BLOCK_OL) blocks_ += std::to_string(static_cast<MD_BLOCK_OL_DETAIL*>(detail)->start);
    verbatim_ = type == MD_BLOCK_CODE || type == MD_BLOCK_HTML;
  }
  void leave_block(MD_BLOCKTYPE) {
    end_leaf();
    blocks_ += ")";
    verbatim_ = false;
  }

  void enter_span(MD_SPANTYPE type, void* detail) {
    tokens_.push_back({Token::Kind::enter, span_of(type)});
    if (type == MD_SPAN_A) {
      const auto& link = *static_cast<MD_SPAN_A_DETAIL*>(detail);
      leaf_.spans.push_back("a " + std::string(text_of(link.href)) + " " + std::string(text_of(link.title)));
    } else if (type == MD_SPAN_IMG) {
      const auto& image = *static_cast<MD_SPAN_IMG_DETAIL*>(detail);
      leaf_.spans.push_back("img " + std::string(text_of(image.src)) + " " + std::string(text_of(image.title)));
    } else if (type == MD_SPAN_CODE) {
      leaf_.spans.emplace_back("code");
    } else {
      leaf_.emphases.push_back(std::to_string(type));
    }
  }

  void add_text(MD_TEXTTYPE type, std::string_view text) {
    if (verbatim_) {
      blocks_ += text;
      return;
    }
    const char* const parsed = parsed_.text().data();
    const bool inside = text.data() >= parsed && text.data() + text.size() <= parsed + parsed_.text().size();
    const auto original = [&](const char* at) {
      return inside ? skipped_ + parsed_.original(static_cast<size_t>(at - parsed)) : 0;
    };
    const size_t begin = original(text.data()), end = original(text.data() + text.size());
    if (type == MD_TEXT_SOFTBR || type == MD_TEXT_BR) {
      tokens_.push_back({type == MD_TEXT_BR ? Token::Kind::hard_break : Token::Kind::soft_break});
    } else if (type == MD_TEXT_HTML) {
      leaf_.spans.emplace_back("html " + std::string(text));
      tokens_.push_back({Token::Kind::html, {}, begin, end});
    } else {
      if (type == MD_TEXT_CODE) leaf_.spans.emplace_back("in code " + std::string(text));
      if (type == MD_TEXT_NORMAL)
        for (size_t i = begin; i < end; ++i) leaf_.stray += is_stray(i) ? 1 : 0;
      tokens_.push_back({Token::Kind::text, {}, begin, end});
    }
  }

  /// Whether a character of text could be parsed as markup of emphasis or code.
  bool is_stray(size_t i) const {
    const auto is_word = [&](size_t at) {
      return at < bytes_.size() &&
             (bytes_[at] < 0 || is_ascii_letter(bytes_[at]) || is_ascii_digit(bytes_[at]));
    };
    if (i > 0 && bytes_[i - 1] == '\\') return false;
    return bytes_[i] == '_' ? !(is_word(i - 1) && is_word(i + 1))
                            : std::string_view("*~`").find(bytes_[i]) != std::string_view::npos;
  }

  void end_leaf() {
    if (tokens_.empty()) return;
    leaf_.parts = find_markdown_parts(bytes_, tokens_, empty_lines_);
    tokens_.clear();
    std::ranges::sort(leaf_.spans);
    std::ranges::sort(leaf_.emphases);
    document_.leaves.push_back(std::exchange(leaf_, {}));
    document_.blocks.push_back(std::exchange(blocks_, {}));
  }

  std::string_view bytes_;
  size_t skipped_;
  MarkdownWithTables parsed_{bytes_.substr(skipped_)};
  MarkdownDocument document_;
  MarkdownLeaf leaf_;
  std::string blocks_;
  std::vector<Token> tokens_;  // of the current leaf
  EmptyLines empty_lines_{bytes_};
  bool verbatim_ = false;
  std::exception_ptr error_;
};

}  // namespace

MarkdownDocument read_markdown(std::string_view bytes) { return MarkdownReader(bytes).read(); }

}  // namespace sixfold
