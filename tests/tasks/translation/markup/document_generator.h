#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "text/utf8.h"

namespace sixfold {

/// Makes documents from a seed: nested block and inline elements with attributes, references, comments and what
/// is not translated. Every element has its own id, so that no two start tags are equal.
class DocumentGenerator {
 public:
  explicit DocumentGenerator(uint64_t seed) : random_(seed, 7) {}

  /// Valid HTML; some end tags that may be left out are.
  std::string html() {
    text_.clear();
    if (chance(3))
      text_ += "<!DOCTYPE html>\n<html lang=\"en\"><head><title>" + words(3) + "</title></head><body>\n";
    for (uint32_t i = 1 + below(4); i > 0; --i) block(0);
    return text_;
  }

  /// HTML with pieces cut out, doubled, exchanged, and put where they don't belong.
  std::string broken_html() {
    std::string text = html();
    static const std::vector<std::string> scraps{"<",
                                                 "</",
                                                 "<!",
                                                 "</b>",
                                                 "</p>",
                                                 "<p>",
                                                 "<b>",
                                                 "<i x=",
                                                 "</i>",
                                                 "<table>",
                                                 "<tr>",
                                                 "</table>",
                                                 "<a href=\"",
                                                 "<!--",
                                                 "-->",
                                                 "<script>",
                                                 "</script>",
                                                 "<svg>",
                                                 "</svg>",
                                                 "<![CDATA[",
                                                 "]]>",
                                                 "&",
                                                 "&#",
                                                 "&nbsp",
                                                 "<div",
                                                 "</div>",
                                                 "<select>",
                                                 "<option>",
                                                 "<code>",
                                                 "</span>",
                                                 "<span translate=no>",
                                                 "<br/>",
                                                 "</br>",
                                                 "<textarea>",
                                                 "<math>",
                                                 "<li>",
                                                 "<ruby><rb>x<rt>",
                                                 "<button>",
                                                 "</body>",
                                                 "<plaintext>",
                                                 "'",
                                                 "\"",
                                                 ">",
                                                 "<?x",
                                                 "<p/>"};
    for (uint32_t i = 1 + below(5); i > 0 && !text.empty(); --i) {
      const size_t at = below(text.size()), size = below(30), to = below(text.size());
      switch (below(4)) {
        case 0:
          text.erase(at, size);
          break;
        case 1:
          text.insert(to, text.substr(at, size));
          break;
        default:
          text.insert(at, scraps[below(scraps.size())]);
      }
    }
    return replace_invalid_utf8(text);  // where a character was cut
  }

  /// Well-formed XML with one or several roots.
  std::string xml() {
    text_.clear();
    if (chance(4)) text_ += "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    for (uint32_t i = 1 + below(3); i > 0; --i) xml_element(0);
    return text_;
  }

 private:
  uint32_t below(size_t n) { return random_.below(static_cast<uint32_t>(n)); }
  bool chance(uint32_t n) { return below(n) == 0; }
  std::string_view any(const std::vector<std::string_view>& of) { return of[below(of.size())]; }
  std::string space() { return std::string(any({" ", " ", " ", "\n", "  ", "\t", " \n "})); }

  std::string word() {
    return std::string(any({"the",
                            "old",
                            "dog",
                            "sees",
                            "two",
                            "cats",
                            "in",
                            "a",
                            "red",
                            "house",
                            "R&amp;D",
                            "&eacute;t&eacute;",
                            "10",
                            "&mdash;",
                            "end.",
                            "(see",
                            "it)",
                            "na\u00efve",
                            "\u6f22\u5b57",
                            "&lt;tag&gt;",
                            "x&nbsp;y",
                            "AT&T",
                            "3 < 4",
                            "it's",
                            "\"so\"",
                            "&#8230;",
                            "&notanentity;",
                            "\u00ab\u00a0oui\u00a0\u00bb"}));
  }
  std::string words(uint32_t most) {
    std::string result;
    for (uint32_t i = 1 + below(most); i > 0; --i) result += word() + (i > 1 ? space() : "");
    return result;
  }

  std::string start(std::string_view name) {
    std::string tag =
        "<" + std::string(chance(20) ? upper(name) : std::string(name)) + " id=" + std::to_string(++ids_);
    if (chance(4))
      tag += std::string(
          any({" class=\"a b\"", " title='x > \"y\" &amp; z'", " data-x=\"<b>\"", " href=/a/", " hidden"}));
    if (chance(25))
      tag += std::string(
          any({" translate=no", " class='c notranslate'", " translate=\"yes\"", " translate=\"NO\""}));
    return tag + (chance(10) ? " >" : ">");
  }
  static std::string upper(std::string_view name) {
    std::string result(name);
    for (char& c : result) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
    return result;
  }
  static std::string end(std::string_view name) { return "</" + std::string(name) + ">"; }
  std::string comment() { return "<!-- c" + std::to_string(++ids_) + " <b> -->"; }

  void inline_content(int depth) {
    for (uint32_t i = 1 + below(4); i > 0; --i) {
      if (!chance(4)) text_ += space();
      const uint32_t kind = depth > 3 ? below(10) : below(16);
      if (kind < 8) {
        text_ += words(4);
      } else if (kind == 8) {
        text_ += chance(2) ? comment() : start(any({"img", "br", "wbr", "input"}));
      } else if (kind == 9) {
        untranslated();
      } else {
        const std::string_view name =
            any({"b", "i", "em", "span", "sup", "font", "abbr", "x-y", "label", "u", "cite"});
        text_ += start(name);
        if (!chance(10)) inline_content(depth + 1);
        text_ += end(name);
      }
      if (chance(3)) text_ += space();
    }
  }

  void untranslated() {
    const std::string id = std::to_string(++ids_);
    switch (below(6)) {
      case 0:
        text_ += start("code") + "x &lt; y" + end("code");
        break;
      case 1:
        text_ += start("kbd") + "Ctrl " + start("b") + "C" + end("b") + end("kbd");
        break;
      case 2:
        text_ += "<svg id=" + id + "><title>icon</title><path d=\"M0\"/></svg>";
        break;
      case 3:
        text_ += "<script id=" + id + ">if (a<b) \"</p>\";</script>";
        break;
      case 4:
        text_ += "<math id=" + id + "><mi>x</mi></math>";
        break;
      default:
        text_ += "<textarea id=" + id + ">type <b>here</textarea>";
    }
  }

  void block(int depth) {
    if (chance(3)) text_ += space();
    switch (depth > 2 ? 0 : below(8)) {
      case 0:
      case 1: {
        const std::string_view name = any({"p", "h2", "p", "address"});
        text_ += start(name);
        inline_content(0);
        if (name != "p" || !chance(4))
          text_ += end(name);
        else
          text_ += "<hr id=" + std::to_string(++ids_) + ">";
        break;
      }
      case 2:
        list(depth);
        break;
      case 3:
        table(depth);
        break;
      case 4:
        text_ += start("pre") + " keep\n <b>this</b> &amp;\n" + end("pre");
        break;
      case 5:
        text_ += comment();
        break;
      default: {
        const std::string_view name = any({"div", "section", "blockquote", "nav", "article"});
        text_ += start(name);
        if (chance(3)) inline_content(0);
        for (uint32_t i = below(4); i > 0; --i) block(depth + 1);
        text_ += end(name);
      }
    }
    if (chance(3)) text_ += space();
  }

  void list(int depth) {
    text_ += start("ul");
    for (uint32_t i = 1 + below(4); i > 0; --i) {
      text_ += start("li");
      inline_content(0);
      if (chance(3)) block(depth + 1);
      if (!chance(3)) text_ += end("li");
    }
    text_ += end("ul");
  }

  void table(int depth) {
    text_ += start("table") + start("tbody");
    for (uint32_t row = 1 + below(3); row > 0; --row) {
      text_ += start("tr");
      for (uint32_t cell = 1 + below(3); cell > 0; --cell) {
        text_ += start("td");
        inline_content(0);
        if (chance(5)) block(depth + 1);
        if (!chance(3)) text_ += end("td");
      }
      if (!chance(3)) text_ += end("tr");
    }
    text_ += end("tbody") + end("table");
  }

  void xml_element(int depth) {
    const std::string_view name = any({"p", "item", "b", "i", "x:y", "keep", "a"});
    const std::string id = std::to_string(++ids_);
    text_ += "<" + std::string(name) + " id=\"" + id + "\"" + (chance(8) ? " xml:space=\"preserve\"" : "") +
             (chance(20) ? " translate=\"no\"" : "");
    if (chance(8)) {
      text_ += "/>";
      return;
    }
    text_ += ">";
    for (uint32_t i = below(6); i > 0; --i) {
      if (chance(2)) text_ += space();
      switch (depth > 5 ? 0 : below(8)) {
        case 0:
        case 1:
        case 2:
        case 3:
          text_ +=
              any({"the dog", "sees", "R&amp;D", "&lt;x&gt;", "&#233;t&#xE9;", "end.", "10", "&quot;so&quot;"});
          break;
        case 4:
          text_ += chance(2)   ? "<!--" + id + "-->"
                   : chance(2) ? "<?pi " + id + "?>"
                               : "<![CDATA[<" + id + "]]>";
          break;
        default:
          xml_element(depth + 1);
      }
      if (chance(2)) text_ += space();
    }
    text_ += end(name);
  }

  RandomStream random_;
  std::string text_;
  int ids_ = 0;
};

}  // namespace sixfold
