#include <algorithm>
#include <set>
#include <string>

#include "tasks/translation/markup/translate_pieces.h"
#include "tasks/translation/markup/xliff_units.h"
#include "text/language.h"

namespace sixfold {
namespace {

/// The language code in the form of BCP 47, which XLIFF uses: "de-DE" for "de_DE".
std::string bcp47(std::string code) {
  std::ranges::replace(code, '_', '-');
  return code;
}

/// Writes the document that is then translated in place: each unit that needs a translation gets a target with
/// the content of its source.
class TargetWriter {
 public:
  TargetWriter(const MarkupSource& source, const Xliff& xliff, const TextTranslator& translate)
      : source_(source), xliff_(xliff), translate_(translate) {}

  std::string write() {
    write_languages();
    for (const Xliff::Unit& unit : xliff_.units) write_target(unit);
    std::ranges::stable_sort(edits_, {}, &Edit::begin);
    std::string prepared;
    size_t written = 0;
    for (const Edit& edit : edits_) {
      prepared += source_.bytes.substr(written, edit.begin - written);
      prepared += edit.before;
      if (edit.source != XmlElement::none) {
        const size_t begin = tag_event(edit.source).end;
        contents_.push_back({edit.source, prepared.size() - begin});
        prepared += source_.bytes.substr(begin, end_event(edit.source).begin - begin);
      }
      prepared += edit.after;
      written = edit.end;
    }
    return prepared += source_.bytes.substr(written);
  }

  /// A source that was copied, and the number to add to positions in the source for those in its target. The
  /// addition may wrap around.
  struct Content {
    size_t element, shift;
  };
  const std::vector<Content>& contents() const { return contents_; }

 private:
  static constexpr size_t none = XmlElement::none;

  /// A replacement of bytes of the document.
  struct Edit {
    size_t begin, end;
    std::string before;
    size_t source = none;  ///< the element whose content is inserted after `before`
    std::string after = {};
  };

  const XmlEvent& tag_event(size_t element) const { return xliff_.xml.events[xliff_.starts[element]]; }
  const XmlEvent& end_event(size_t element) const { return xliff_.xml.events[xliff_.ends[element]]; }
  std::string tag(size_t element) const {
    const XmlEvent& event = tag_event(element);
    return std::string(source_.bytes.substr(event.begin, event.end - event.begin));
  }
  void change_tag(size_t element, const std::string& changed) {
    const XmlEvent& event = tag_event(element);
    if (changed != tag(element)) edits_.push_back({event.begin, event.end, changed});
  }

  /// Compares the languages of the document with those of the model, and adds the target language if it is
  /// missing.
  void write_languages() {
    for (size_t i = 1; i < xliff_.xml.elements.size(); ++i) {
      if (xliff_.name(i) != (xliff_.is_version_2 ? "xliff" : "file")) continue;
      const std::string written = tag(i);
      const char* const target = xliff_.is_version_2 ? "trgLang" : "target-language";
      compare(i, attribute(written, xliff_.is_version_2 ? "srcLang" : "source-language"),
              translate_.source_language, "from");
      compare(i, attribute(written, target), translate_.target_language, "into");
      if (xliff_.units.empty() || attribute(written, target).data()) continue;
      if (!translate_.target_language.empty())
        change_tag(i, with_attribute(written, target, bcp47(translate_.target_language)));
      else if (xliff_.is_version_2)
        throw_markup_error(
            source_, tag_event(i).begin,
            "has no trgLang, which a document with translations needs, and the language of the model "
            "is not known; add it");
    }
  }
  void compare(size_t element, std::string_view document, std::string_view model, const char* direction) const {
    if (document.empty() || model.empty() || is_same_language(document, model)) return;
    throw_markup_error(
        source_, tag_event(element).begin,
        "is to be translated {} {}, but the model translates {} {}; choose another model or language",
        direction, document, direction, model);
  }

  void write_target(const Xliff::Unit& unit) {
    if (xliff_.is_version_2)  // a substate belongs to the state that was replaced
      change_tag(unit.element,
                 with_attribute(without_attribute(tag(unit.element), "subState"), "state", "translated"));
    const std::string name = std::string(xliff_.prefix) + "target";
    std::string start = unit.target == none ? "<" + name + ">" : tag(unit.target);
    if (start.ends_with("/>")) start.erase(start.size() - 2, 1);
    if (!xliff_.is_version_2)
      start = with_attribute(with_attribute(start, "state", "needs-review-translation"), "state-qualifier",
                             "leveraged-mt");
    const std::string end = "</" + name + ">";
    if (unit.target != none) {
      const size_t last = std::max(tag_event(unit.target).end, end_event(unit.target).end);
      edits_.push_back({tag_event(unit.target).begin, last, start, unit.source, end});
      return;
    }
    const size_t after = std::max(tag_event(unit.source).end, end_event(unit.source).end);
    edits_.push_back({after, after, space_before(unit.source) + start, unit.source, end});
  }
  /// The white space before an element.
  std::string space_before(size_t element) const {
    const std::string_view before = source_.bytes.substr(0, tag_event(element).begin);
    return std::string(before.substr(before.find_last_not_of(" \t\r\n") + 1));
  }

  const MarkupSource& source_;
  const Xliff& xliff_;
  const TextTranslator& translate_;
  std::vector<Edit> edits_;
  std::vector<Content> contents_;
};

}  // namespace

std::string translate_xliff(std::string_view xliff, const TextTranslator& translate, const std::string& name) {
  const MarkupSource source{xliff, name};
  require_text(source);
  Xliff document = read_xliff(source);
  const TextTranslator translate_once = translator_of_once(translate, name);
  for (;;) {
    TargetWriter writer(source, document, translate_once);
    const std::string prepared = writer.write();
    const MarkupSource with_targets{prepared, name};
    PieceList pieces(with_targets, MarkupLanguage::xliff);
    for (const TargetWriter::Content& content : writer.contents())
      add_unit_content(with_targets, document, content.element, content.shift, pieces);
    std::string output = translate_pieces(with_targets, pieces.take(), MarkupLanguage::xliff, translate_once);
    // Units whose translation is empty would be translated again, and stay as they are.
    std::set<size_t> empty;
    for (const Xliff::Unit& unit : read_xliff({output, name}).units) empty.insert(unit.number);
    if (std::erase_if(document.units, [&](const Xliff::Unit& unit) { return empty.contains(unit.number); }) ==
        0)
      return output;
  }
}

}  // namespace sixfold
