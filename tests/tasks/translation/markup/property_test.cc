#include <gtest/gtest.h>
#include <gumbo.h>

#include <memory>
#include <set>

#include "tasks/translation/markup/document_generator.h"
#include "tasks/translation/markup/invariants.h"

namespace sixfold {
namespace {

constexpr uint64_t documents = 10'000;

/// A translator by turns.
TextTranslator translator(uint64_t seed) {
  switch (seed % 6) {
    case 0:
      return reversed();
    case 1:
      return upper_case();
    case 2:
      return dropping();
    case 3:
      return adding();
    case 4:
      return without_spaces();
    default:
      return arbitrary();
  }
}

TEST(MarkupProperties, ValidHtmlKeepsItsStructure) {
  for (uint64_t seed = 0; seed < documents; ++seed) {
    const std::string html = DocumentGenerator(seed).html();
    ASSERT_EQ(broken_html_invariant(html, translator(seed)), "") << "seed " << seed << "\n" << html;
  }
}

TEST(MarkupProperties, BrokenHtmlKeepsItsStructure) {
  for (uint64_t seed = 0; seed < documents; ++seed) {
    const std::string html = DocumentGenerator(seed).broken_html();
    ASSERT_EQ(broken_html_invariant(html, translator(seed)), "") << "seed " << seed << "\n" << html;
  }
}

TEST(MarkupProperties, XmlKeepsItsStructure) {
  // What is inline must not depend on what the translation leaves of the text.
  const XmlOptions options{
      .outline_detection = false, .splitting_tags = {"p", "item"}, .ignore_tags = {"keep"}};
  for (uint64_t seed = 0; seed < documents; ++seed) {
    const std::string xml = DocumentGenerator(seed).xml();
    ASSERT_EQ(broken_xml_invariant(xml, translator(seed), options), "") << "seed " << seed << "\n" << xml;
  }
}

TEST(MarkupProperties, WithoutTranslationEveryByteStays) {
  for (uint64_t seed = 0; seed < documents; ++seed) {
    const std::string html = DocumentGenerator(seed).html(), broken = DocumentGenerator(seed).broken_html(),
                      xml = DocumentGenerator(seed).xml();
    ASSERT_EQ(translate_html(html, identity()), html) << "seed " << seed;
    ASSERT_EQ(translate_html(broken, identity()), broken) << "seed " << seed;
    ASSERT_EQ(translate_xml(xml, identity()), xml) << "seed " << seed;
  }
}

/// A document as gumbo understands it: another reading of the HTML standard than ours.
class GumboDocument {
 public:
  explicit GumboDocument(const std::string& html)
      : output_(gumbo_parse_with_options(&kGumboDefaultOptions, html.data(), html.size())) {
    walk(output_->root, true, "");
  }
  ~GumboDocument() { gumbo_destroy_output(&kGumboDefaultOptions, output_); }
  GumboDocument(const GumboDocument&) = delete;
  GumboDocument& operator=(const GumboDocument&) = delete;

  /// The text to translate, without white space.
  const std::string& text() const { return text_; }
  /// The id of the parent of each element, by its own.
  const std::map<std::string, std::string>& parents() const { return parents_; }

 private:
  void walk(const GumboNode* node, bool translated, const std::string& parent) {
    if (node->type == GUMBO_NODE_TEXT && translated)
      for (const std::string& word : words_of(node->v.text.text)) text_ += word;
    if (node->type != GUMBO_NODE_ELEMENT) return;
    const GumboElement& element = node->v.element;
    const auto attribute = [&](const char* name) {
      const GumboAttribute* found = gumbo_get_attribute(&element.attributes, name);
      return std::string(found ? found->value : "");
    };
    static const std::set<GumboTag> hidden{GUMBO_TAG_CODE,     GUMBO_TAG_KBD, GUMBO_TAG_PRE, GUMBO_TAG_SCRIPT,
                                           GUMBO_TAG_TEXTAREA, GUMBO_TAG_SVG, GUMBO_TAG_MATH};
    if (hidden.contains(element.tag) || attribute("class").find("notranslate") != std::string::npos)
      translated = false;
    if (const std::string how = upper(attribute("translate")); !how.empty()) translated = how == "YES";
    const std::string id = attribute("id");
    if (!id.empty()) parents_[id] = parent;
    for (unsigned i = 0; i < element.children.length; ++i)
      walk(static_cast<const GumboNode*>(element.children.data[i]), translated, id.empty() ? parent : id);
  }

  GumboOutput* output_;
  std::string text_;
  std::map<std::string, std::string> parents_;
};

/// The text to translate as we find it, without white space.
std::string text_to_translate(const std::string& html) {
  const MarkupSource source{html, "html"};
  CharacterReferences references(MarkupLanguage::html);
  std::string text;
  for (const Piece& piece : html_pieces(source))
    if (piece.kind == PieceKind::text)
      for (const std::string& word :
           words_of(references.decode_text(html.substr(piece.begin, piece.end - piece.begin))))
        text += word;
  return text;
}

TEST(MarkupProperties, AnotherParserReadsTheSame) {
  for (uint64_t seed = 0; seed < documents; ++seed) {
    const std::string html = DocumentGenerator(seed).html(), output = translate_html(html, translator(seed));
    const GumboDocument before(html), after(output);
    ASSERT_EQ(text_to_translate(html), before.text()) << "seed " << seed << "\n" << html;
    ASSERT_EQ(text_to_translate(output), after.text()) << "seed " << seed << "\n" << output;
    ASSERT_EQ(before.parents(), after.parents()) << "seed " << seed << "\n" << html << "\n" << output;
  }
}

}  // namespace
}  // namespace sixfold
