#include "tasks/translation/markup/xliff_units.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "text/words.h"

namespace sixfold {
namespace {

/// The begin and end of the value of an attribute in a start tag; npos if there is no such attribute.
std::pair<size_t, size_t> find_attribute(std::string_view tag, std::string_view name) {
  constexpr std::string_view spaces = " \t\r\n";
  for (size_t i = tag.find_first_of(spaces); i != tag.npos;) {
    i = tag.find_first_not_of(spaces, i);
    const size_t equals = tag.find('=', i), quote = tag.find_first_of("\"'", equals);
    if (equals == tag.npos) break;
    const std::string_view key = tag.substr(i, equals - i);
    const size_t end = tag.find(tag[quote], quote + 1);
    if (key.substr(0, key.find_last_not_of(spaces) + 1) == name) return {quote + 1, end};
    i = end + 1;
  }
  return {tag.npos, tag.npos};
}

class XliffReader {
 public:
  explicit XliffReader(const MarkupSource& source) : source_(source) {}

  Xliff read() {
    xliff_.xml = read_xml(source_);
    const auto& elements = xliff_.xml.elements;
    const std::string_view root = elements.size() > 1 ? std::string_view(elements[1].name) : "";
    const size_t colon = root.find(':');
    if (colon != root.npos) xliff_.prefix = root.substr(0, colon + 1);
    if (root.substr(xliff_.prefix.size()) != "xliff")
      throw_markup_error(source_, elements.size() > 1 ? elements[1].begin : 0,
                         "is not an XLIFF document, whose root is <xliff>");
    find_tags();
    const std::string_view version = attribute(tag(1), "version");
    xliff_.is_version_2 = version.starts_with("2.");
    if (!xliff_.is_version_2 && !version.starts_with("1."))
      throw_markup_error(source_, elements[1].begin, "is of version '{}' of XLIFF; those known are 1.x and 2.x",
                         version);
    find_units();
    std::erase_if(xliff_.units, [&](const Xliff::Unit& unit) { return !needs_translation(unit); });
    return std::move(xliff_);
  }

 private:
  static constexpr size_t none = XmlElement::none;

  std::string_view tag(size_t element) const {
    const XmlEvent& event = xliff_.xml.events[xliff_.starts[element]];
    return source_.bytes.substr(event.begin, event.end - event.begin);
  }
  void find_tags() {
    xliff_.starts.resize(xliff_.xml.elements.size());
    xliff_.ends = xliff_.starts;
    for (size_t i = 0; i < xliff_.xml.events.size(); ++i) {
      const XmlEvent& event = xliff_.xml.events[i];
      if (event.kind == XmlEvent::Kind::start_tag) xliff_.starts[event.element] = i;
      if (event.kind == XmlEvent::Kind::end_tag) xliff_.ends[event.element] = i;
    }
  }

  void find_units() {
    std::vector<XmlElement>& elements = xliff_.xml.elements;
    std::vector<size_t> units(elements.size(), none);  // for each element, the index of its unit
    std::vector<bool> in_text(elements.size());
    for (size_t i = 1; i < elements.size(); ++i) {
      XmlElement& element = elements[i];
      const size_t parent = element.parent;
      // Inherits values of the parent that are not set.
      element.translate = element.translate.value_or(elements[parent].translate.value_or(true));
      element.keeps_space = element.keeps_space.value_or(elements[parent].keeps_space.value_or(false));
      const std::string_view name = xliff_.name(i);
      in_text[i] = in_text[parent] || name == "source" || name == "seg-source" || name == "target";
      if (name == (xliff_.is_version_2 ? "segment" : "trans-unit") && !in_text[i]) {
        units[i] = xliff_.units.size();
        xliff_.units.push_back({i, xliff_.units.size()});
      }
      if (units[parent] == none) continue;
      Xliff::Unit& unit = xliff_.units[units[parent]];
      if ((name == "source" && unit.source == none) || (name == "seg-source" && !xliff_.is_version_2))
        unit.source = i;
      if (name == "target" && unit.target == none) unit.target = i;
    }
  }

  bool has_words(const XmlEvent& event) const {
    return count_words(source_.bytes.substr(event.begin, event.end - event.begin)) > 0;
  }
  /// Whether an element contains anything but white space.
  bool has_content(size_t element) const {
    const auto& events = xliff_.xml.events;
    for (size_t i = xliff_.starts[element] + 1; i < xliff_.ends[element]; ++i)
      if (events[i].kind != XmlEvent::Kind::text || has_words(events[i])) return true;
    return false;
  }
  /// Whether an element of version 1 contains marks of segments, all of them empty, and beside them at most
  /// `<g>`. Programs that divide a unit into segments write such targets.
  bool has_only_empty_segments(size_t element) const {
    const auto& events = xliff_.xml.events;
    bool any = false;
    size_t inside = none;
    for (size_t i = xliff_.starts[element] + 1; i < xliff_.ends[element]; ++i) {
      const XmlEvent& event = events[i];
      if (event.kind == XmlEvent::Kind::text) {
        if (has_words(event)) return false;
      } else if (event.kind == XmlEvent::Kind::start_tag) {
        const bool is_segment =
            xliff_.name(event.element) == "mrk" && attribute(tag(event.element), "mtype") == "seg";
        if (inside != none || (!is_segment && xliff_.name(event.element) != "g")) return false;
        if (is_segment) inside = event.element, any = true;
      } else if (event.kind == XmlEvent::Kind::end_tag) {
        if (event.element == inside) inside = none;
      } else {
        return false;
      }
    }
    return any && !xliff_.is_version_2;
  }
  bool has_section(size_t element) const {
    const auto& events = xliff_.xml.events;
    return std::any_of(
        events.begin() + static_cast<std::ptrdiff_t>(xliff_.starts[element]),
        events.begin() + static_cast<std::ptrdiff_t>(xliff_.ends[element]),
        [&](const XmlEvent& event) { return source_.bytes.substr(event.begin).starts_with("<![CDATA["); });
  }

  bool needs_translation(const Xliff::Unit& unit) const {
    if (unit.source == none || !*xliff_.xml.elements[unit.element].translate || !has_content(unit.source) ||
        has_section(unit.source) || attribute(tag(unit.element), "approved") == "yes")
      return false;
    if (unit.target == none || !has_content(unit.target) || has_only_empty_segments(unit.target)) return true;
    const std::string_view state = attribute(tag(xliff_.is_version_2 ? unit.element : unit.target), "state");
    return xliff_.is_version_2 ? state == "initial" : state == "new" || state == "needs-translation";
  }

  const MarkupSource& source_;
  Xliff xliff_;
};

/// Finds the parts of a source, and pairs its codes.
class PartFinder {
 public:
  PartFinder(const MarkupSource& source, const Xliff& xliff, size_t element, size_t shift)
      : source_(source), xliff_(xliff), element_(element), shift_(shift) {}

  std::vector<PieceRange> find() {
    const auto& events = xliff_.xml.events;
    for (size_t i = xliff_.starts[element_] + 1; i < xliff_.ends[element_]; ++i) {
      const XmlEvent& event = events[i];
      if (event.kind == XmlEvent::Kind::text)
        add(PieceKind::text, event).keeps_space = *xliff_.xml.elements[event.element].keeps_space;
      else if (event.kind == XmlEvent::Kind::start_tag)
        i = begin_element(i);
      else if (event.kind == XmlEvent::Kind::end_tag)
        end_element(event);
      else
        add(event.kind == XmlEvent::Kind::note ? PieceKind::mark : PieceKind::boundary, event);
    }
    for (PieceRange& part : parts_)
      if (part.kind == PieceKind::open && part.partner == Piece::none) part.kind = PieceKind::mark;
    return std::move(parts_);
  }

 private:
  std::string_view bytes(const XmlEvent& event) const {
    return source_.bytes.substr(event.begin + shift_, event.end - event.begin);
  }
  PieceRange& add(PieceKind kind, const XmlEvent& event) {
    parts_.push_back({kind, event.begin + shift_, event.end + shift_});
    return parts_.back();
  }

  /// Adds an element, or its start tag. Returns the index of the last event that was added.
  size_t begin_element(size_t i) {
    const XmlEvent& event = xliff_.xml.events[i];
    const std::string_view name = xliff_.name(event.element), tag = bytes(event);
    const bool translated =
        *xliff_.xml.elements[event.element].translate && attribute(tag, "mtype") != "protected";
    const bool pair = (name == "g" || name == "pc" || name == "mrk") && translated && !tag.ends_with("/>");
    if (pair) {
      if (attribute(tag, "mtype") == "seg")
        add(PieceKind::boundary, event);
      else
        begin_pair(key_of(event.element), event);
      return i;
    }
    const size_t last = xliff_.ends[event.element];
    const XmlEvent& end = xliff_.xml.events[last];
    const auto id = [&](const char* name_of_id, const char* fallback) {
      const std::string_view value = attribute(tag, name_of_id);
      return std::string(value.data() ? value : attribute(tag, fallback));
    };
    if (name == "bpt" || name == "bx") {
      begin_pair("c" + id("rid", "id"), event);
    } else if (name == "ept" || name == "ex") {
      end_pair("c" + id("rid", "id"), event);
    } else if (name == "sc" || name == "sm") {
      begin_pair("s" + id("id", "id"), event);
    } else if (name == "ec" || name == "em") {
      end_pair("s" + id("startRef", "id"), event);
    } else {
      add(PieceKind::mark, event).stands_for_words =
          !translated ||
          ((name == "x" || name == "ph") && !attribute(tag, "ctype").data() && !attribute(tag, "type").data());
    }
    parts_.back().end = std::max(event.end, end.end) + shift_;
    return last;
  }

  void end_element(const XmlEvent& event) {
    const auto& events = xliff_.xml.events;
    if (attribute(bytes(events[xliff_.starts[event.element]]), "mtype") == "seg") {
      add(PieceKind::boundary, event);
      return;
    }
    // Codes that begin in the element and end after it cross its tags.
    const std::string key = key_of(event.element);
    for (; nested_.back() != open_[key]; nested_.pop_back()) parts_[nested_.back()].kind = PieceKind::boundary;
    end_pair(key, event);
  }

  static std::string key_of(size_t element) { return "e" + std::to_string(element); }

  void begin_pair(const std::string& key, const XmlEvent& event) {
    const bool too_deep = nested_.size() >= max_inline_depth;
    add(too_deep ? PieceKind::boundary : PieceKind::open, event);
    nested_.push_back(parts_.size() - 1);
    open_[key] = parts_.size() - 1;
  }

  void end_pair(const std::string& key, const XmlEvent& event) {
    const auto found = open_.find(key);
    if (found == open_.end()) {
      add(PieceKind::mark, event);
      return;
    }
    const size_t opened = found->second;
    open_.erase(found);
    while (!nested_.empty() && ended_.contains(nested_.back())) nested_.pop_back();
    ended_.insert(opened);
    if (!nested_.empty() && nested_.back() == opened && parts_[opened].kind == PieceKind::open) {
      nested_.pop_back();
      add(PieceKind::close, event).partner = opened;
      parts_[opened].partner = parts_.size() - 1;
    } else {  // the tags cross others
      parts_[opened].kind = PieceKind::boundary;
      add(PieceKind::boundary, event);
    }
  }

  const MarkupSource& source_;
  const Xliff& xliff_;
  size_t element_, shift_;
  std::vector<PieceRange> parts_;
  std::map<std::string, size_t> open_;  // the parts of open codes, by key
  std::vector<size_t> nested_;          // the parts of codes, outermost first; some may have ended
  std::set<size_t> ended_;              // the parts of codes that have ended
};

}  // namespace

std::string_view Xliff::name(size_t element) const {
  const std::string_view full = xml.elements[element].name;
  const std::string_view rest = full.starts_with(prefix) ? full.substr(prefix.size()) : "";
  return rest.find(':') == rest.npos ? rest : "";
}

Xliff read_xliff(const MarkupSource& source) { return XliffReader(source).read(); }

std::string_view attribute(std::string_view tag, std::string_view name) {
  const auto [begin, end] = find_attribute(tag, name);
  return begin == tag.npos ? std::string_view() : tag.substr(begin, end - begin);
}

std::string with_attribute(std::string tag, std::string_view name, std::string_view value) {
  const auto [begin, end] = find_attribute(tag, name);
  if (begin != tag.npos) return tag.replace(begin, end - begin, value);
  return tag.insert(tag.size() - (tag.ends_with("/>") ? 2 : 1), fmt::format(" {}=\"{}\"", name, value));
}

std::string without_attribute(std::string tag, std::string_view name) {
  const auto [value, end] = find_attribute(tag, name);
  if (value == tag.npos) return tag;
  const size_t first = tag.rfind(name, value - name.size() - 2),
               before = tag.find_last_not_of(" \t\r\n", first - 1) + 1;
  return tag.erase(before, end + 1 - before);
}

void add_unit_content(const MarkupSource& source, const Xliff& xliff, size_t element, size_t shift,
                      PieceList& pieces) {
  pieces.add(PartFinder(source, xliff, element, shift).find());
}

}  // namespace sixfold
