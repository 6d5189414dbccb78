#include "tasks/translation/markup/html_elements.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace sixfold {
namespace {

using Names = std::span<const std::string_view>;

constexpr std::string_view block[] = {
    "address",  "applet",   "article", "aside",    "audio",    "blockquote", "body",       "br",
    "canvas",   "caption",  "center",  "col",      "colgroup", "datalist",   "dd",         "details",
    "dialog",   "dir",      "div",     "dl",       "dt",       "fieldset",   "figcaption", "figure",
    "footer",   "form",     "frame",   "frameset", "h1",       "h2",         "h3",         "h4",
    "h5",       "h6",       "head",    "header",   "hgroup",   "hr",         "html",       "iframe",
    "legend",   "li",       "listing", "main",     "marquee",  "menu",       "nav",        "noembed",
    "noframes", "noscript", "object",  "ol",       "optgroup", "option",     "p",          "plaintext",
    "pre",      "search",   "section", "select",   "summary",  "table",      "tbody",      "td",
    "template", "tfoot",    "th",      "thead",    "title",    "tr",         "ul",         "video",
    "xmp"};
constexpr std::string_view empty[] = {"area",  "base",  "basefont", "bgsound", "br",    "col",
                                      "embed", "frame", "hr",       "img",     "input", "keygen",
                                      "link",  "meta",  "param",    "source",  "track", "wbr"};
constexpr std::string_view formatting[] = {"a",    "b", "big",   "code",   "em",     "font", "i",
                                           "nobr", "s", "small", "strike", "strong", "tt",   "u"};
constexpr std::string_view scope[] = {"applet", "caption", "html",     "marquee", "object",
                                      "table",  "td",      "template", "th"};
constexpr std::string_view raw[] = {"iframe", "noembed", "noframes", "script", "style", "xmp"};
constexpr std::string_view rcdata[] = {"textarea", "title"};
constexpr std::string_view plaintext[] = {"plaintext"};
constexpr std::string_view untranslated[] = {"code",     "iframe",    "kbd", "listing", "math", "noembed",
                                             "noframes", "plaintext", "pre", "samp",    "xmp"};
constexpr std::string_view asides[] = {"rp", "rt", "rtc", "script", "style", "svg", "textarea"};
constexpr std::string_view keeps_space[] = {"listing", "plaintext", "pre", "textarea", "xmp"};
constexpr std::string_view foreign[] = {"math", "svg"};
constexpr std::string_view breaks_foreign[] = {
    "b",     "big",   "blockquote", "body",   "br",   "center", "code",  "dd", "div",  "dl",   "dt",
    "em",    "embed", "h1",         "h2",     "h3",   "h4",     "h5",    "h6", "head", "hr",   "i",
    "img",   "li",    "listing",    "menu",   "meta", "nobr",   "ol",    "p",  "pre",  "ruby", "s",
    "small", "span",  "strong",     "strike", "sub",  "sup",    "table", "tt", "u",    "ul",   "var"};

constexpr std::string_view ending_paragraphs[] = {
    "address", "article",  "aside",      "blockquote", "center", "details", "dialog",    "dir", "div",
    "dl",      "fieldset", "figcaption", "figure",     "footer", "form",    "h1",        "h2",  "h3",
    "h4",      "h5",       "h6",         "header",     "hgroup", "hr",      "li",        "dd",  "dt",
    "listing", "main",     "menu",       "nav",        "ol",     "p",       "plaintext", "pre", "search",
    "section", "summary",  "table",      "ul",         "xmp"};

std::unordered_map<std::string_view, uint32_t> make_traits() {
  std::unordered_map<std::string_view, uint32_t> traits;
  const auto add = [&](Names names, uint32_t trait) {
    for (const std::string_view name : names) traits[name] |= trait;
  };
  add(block, html_block);
  add(empty, html_void);
  add(formatting, html_formatting);
  add(scope, html_scope);
  add(raw, html_raw);
  add(rcdata, html_rcdata);
  add(plaintext, html_plaintext);
  add(untranslated, html_untranslated);
  add(asides, html_aside);
  add(keeps_space, html_keeps_space);
  add(foreign, html_foreign);
  add(breaks_foreign, html_breaks_foreign);
  add(ending_paragraphs, html_ends_paragraph);
  return traits;
}

constexpr std::string_view headings[] = {"h1", "h2", "h3", "h4", "h5", "h6"};
constexpr std::string_view items[] = {"li"}, definitions[] = {"dd", "dt"};
constexpr std::string_view options[] = {"option"}, option_groups[] = {"option", "optgroup"};
constexpr std::string_view annotations[] = {"rp", "rt"};
constexpr std::string_view cells[] = {"caption", "td", "th"};
constexpr std::string_view rows[] = {"caption", "colgroup", "td", "th", "tr"};
constexpr std::string_view row_groups[] = {"caption", "colgroup", "tbody", "td", "tfoot", "th", "thead", "tr"};
constexpr std::string_view heads[] = {"head"};
constexpr std::string_view tables[] = {"html", "table", "template"};
constexpr std::string_view cell_ends[] = {"html", "table", "template", "tr"};
constexpr std::string_view selects[] = {"datalist", "select", "template"};
constexpr std::string_view rubies[] = {"ruby"};
// The search for an open list item ends at the nearest block element other than address, div and p.
constexpr std::string_view item_limits[] = {
    "applet",  "article", "aside",   "blockquote", "body",       "caption",  "center", "dd",   "details",
    "dir",     "dl",      "dt",      "fieldset",   "figcaption", "figure",   "footer", "form", "header",
    "hgroup",  "html",    "main",    "marquee",    "menu",       "nav",      "object", "ol",   "search",
    "section", "select",  "summary", "table",      "td",         "template", "th",     "ul"};
constexpr std::string_view definition_limits[] = {
    "applet", "article",  "aside",      "blockquote", "body",     "caption", "center", "details", "dir",
    "dl",     "fieldset", "figcaption", "figure",     "footer",   "form",    "header", "hgroup",  "html",
    "li",     "main",     "marquee",    "menu",       "nav",      "object",  "ol",     "search",  "section",
    "select", "summary",  "table",      "td",         "template", "th",      "ul"};

constexpr ImpliedEnd implied_ends[] = {
    {"li", items, item_limits},
    {"dd", definitions, definition_limits},
    {"dt", definitions, definition_limits},
    {"option", options, selects},
    {"optgroup", option_groups, selects},
    {"rt", annotations, rubies},
    {"rp", annotations, rubies},
    {"td", cells, cell_ends},
    {"th", cells, cell_ends},
    {"tr", rows, tables},
    {"caption", row_groups, tables},
    {"colgroup", row_groups, tables},
    {"tbody", row_groups, tables},
    {"thead", row_groups, tables},
    {"tfoot", row_groups, tables},
    {"body", heads, {}},
    {"h1", headings, {}, true},
    {"h2", headings, {}, true},
    {"h3", headings, {}, true},
    {"h4", headings, {}, true},
    {"h5", headings, {}, true},
    {"h6", headings, {}, true},
};

}  // namespace

bool contains(Names names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

uint32_t html_traits(std::string_view name) {
  static const auto traits = make_traits();
  const auto found = traits.find(name);
  return found == traits.end() ? 0 : found->second;
}

bool is_integration_point(std::string_view name) {
  constexpr std::string_view names[] = {"desc", "foreignobject", "mi", "mn", "mo", "ms", "mtext", "title"};
  return contains(names, name);
}

const ImpliedEnd* implied_end(std::string_view start) {
  for (const ImpliedEnd& rule : implied_ends)
    if (rule.start == start) return &rule;
  return nullptr;
}

}  // namespace sixfold
