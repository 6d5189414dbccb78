#include "tasks/translation/markup/xml_events.h"

#include <expat.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <new>

#include "text/words.h"

namespace sixfold {
namespace {

constexpr std::string_view root_start = "<sixfold>", root_end = "</sixfold>";
constexpr int max_entities = 1000;  // expat follows references from one to the next by recursion

/// The length of the beginning of a document that may stand only there: a byte order mark and an XML
/// declaration.
size_t declaration_size(std::string_view xml) {
  const size_t mark = xml.starts_with("\uFEFF") ? 3 : 0;
  const std::string_view rest = xml.substr(mark);
  const bool declared =
      rest.starts_with("<?xml") && rest.size() > 5 && std::string_view(" \t\r\n").find(rest[5]) != rest.npos;
  const size_t end = declared ? rest.find("?>") : rest.npos;
  return end == rest.npos ? mark : mark + end + 2;
}

/// Whether a doctype comes before the first element. Only white space, comments and instructions may precede
/// it.
bool has_doctype(std::string_view xml) {
  while (true) {
    xml.remove_prefix(std::min(xml.find_first_not_of(" \t\r\n"), xml.size()));
    const std::string_view end = xml.starts_with("<!--") ? "-->" : xml.starts_with("<?") ? "?>" : "";
    if (end.empty()) return xml.starts_with("<!DOCTYPE");
    const size_t found = xml.find(end, 2);
    if (found == xml.npos) return false;
    xml.remove_prefix(found + end.size());
  }
}

/// Expat's callbacks. They must not throw through expat, and so keep the exception.
class XmlReader {
 public:
  explicit XmlReader(const MarkupSource& source)
      : source_(source), skipped_(declaration_size(source.bytes)), parser_(XML_ParserCreate("UTF-8")) {
    if (!parser_) throw std::bad_alloc();
    result_.elements.emplace_back();
    XML_SetUserData(parser_.get(), this);
    XML_SetElementHandler(parser_.get(), on_start, on_end);
    XML_SetCharacterDataHandler(parser_.get(), on_text);
    XML_SetCommentHandler(parser_.get(), [](void* self, const char*) { on_event(self, XmlEvent::Kind::note); });
    XML_SetProcessingInstructionHandler(
        parser_.get(), [](void* self, const char*, const char*) { on_event(self, XmlEvent::Kind::note); });
    XML_SetCdataSectionHandler(parser_.get(), on_cdata_start, on_cdata_end);
    XML_SetEntityDeclHandler(parser_.get(), on_entity);
    // With it, expat does not replace references to entities.
    XML_SetDefaultHandler(parser_.get(), [](void* self, const char* text, int size) {
      on_default(self, std::string_view(text, static_cast<size_t>(size)));
    });
  }

  XmlEvents read() {
    // A document without a doctype is read within an element of our own, so that it may have several roots.
    fragment_ = !has_doctype(source_.bytes.substr(skipped_));
    std::string document;
    if (fragment_) document = root_start;
    origin_ = document.size();
    document += source_.bytes.substr(skipped_);
    if (fragment_) document += root_end;
    const auto status = XML_Parse(parser_.get(), document.data(), static_cast<int>(document.size()), XML_TRUE);
    if (error_) std::rethrow_exception(error_);
    if (status != XML_STATUS_OK) throw_parse_error();
    return std::move(result_);
  }

 private:
  using Kind = XmlEvent::Kind;

  struct FreeParser {
    void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
  };

  /// The place in the document of what expat is reading; may lie beyond its end.
  size_t place() const {
    const auto byte = static_cast<size_t>(std::max<XML_Index>(XML_GetCurrentByteIndex(parser_.get()), 0));
    return skipped_ + (byte < origin_ ? 0 : byte - origin_);
  }
  size_t end_place() const { return place() + static_cast<size_t>(XML_GetCurrentByteCount(parser_.get())); }

  [[noreturn]] void throw_parse_error() const {
    const XML_Error code = XML_GetErrorCode(parser_.get());
    if (code == XML_ERROR_NO_MEMORY) throw std::bad_alloc();
    if (place() >= source_.bytes.size() && open_.size() > 1)
      throw_markup_error(source_, result_.elements[open_.back()].begin, "the element <{}> is not closed",
                         result_.elements[open_.back()].name);
    throw_markup_error(source_, std::min(place(), source_.bytes.size()), "the XML is not well-formed: {}",
                       XML_ErrorString(code));
  }

  /// Runs what handles an event, unless an earlier one failed.
  template <class Function>
  static void handle(void* self, Function function) {
    auto& reader = *static_cast<XmlReader*>(self);
    if (reader.error_) return;
    try {
      function(reader);
    } catch (...) {
      reader.error_ = std::current_exception();
      XML_StopParser(reader.parser_.get(), XML_FALSE);
    }
  }

  void add(Kind kind, size_t begin, size_t end) {
    if (begin < end || kind == Kind::end_tag) result_.events.push_back({kind, begin, end, open_.back()});
  }

  static void on_event(void* self, Kind kind) {
    handle(self, [&](XmlReader& r) { r.add(kind, r.place(), r.end_place()); });
  }

  static void on_start(void* self, const char* name, const char** attributes) {
    handle(self, [&](XmlReader& r) { r.start(name, attributes); });
  }
  void start(const char* name, const char** attributes) {
    if (fragment_ && !begun_) {  // our own element
      begun_ = true;
      return;
    }
    if (open_.size() > max_markup_depth)
      throw_markup_error(source_, place(), "more than {} elements are nested in each other", max_markup_depth);
    XmlElement element{
        .name = name, .begin = place(), .parent = open_.back(), .translate = {}, .keeps_space = {}};
    for (; *attributes; attributes += 2) {
      const std::string_view key = attributes[0], value = attributes[1];
      if (key == "translate" || key == "its:translate") {
        if (value == "yes" || value == "no") element.translate = value == "yes";
      } else if (key == "xml:space") {
        element.keeps_space = value == "preserve";
      }
    }
    ++result_.elements[open_.back()].elements;
    open_.push_back(result_.elements.size());
    result_.elements.push_back(std::move(element));
    add(Kind::start_tag, place(), end_place());
  }

  static void on_end(void* self, const char*) {
    handle(self, [](XmlReader& r) {
      if (r.open_.size() == 1) {  // of our own element
        if (r.place() < r.source_.bytes.size())
          throw_markup_error(r.source_, r.place(), "the end tag {} has no start tag", root_end);
        return;
      }
      r.add(Kind::end_tag, r.place(), r.end_place());
      r.open_.pop_back();
    });
  }

  static void on_text(void* self, const char* text, int size) {
    handle(self, [&](XmlReader& r) {
      if (count_words(std::string_view(text, static_cast<size_t>(size))) > 0)
        r.result_.elements[r.open_.back()].has_text = true;
      if (r.in_cdata_) return;
      auto& events = r.result_.events;
      const bool goes_on =
          !events.empty() && events.back().kind == Kind::text && events.back().end == r.place();
      if (goes_on)
        events.back().end = r.end_place();
      else
        r.add(Kind::text, r.place(), r.end_place());
    });
  }

  static void on_cdata_start(void* self) {
    handle(self, [](XmlReader& r) {
      r.in_cdata_ = true;
      r.cdata_begin_ = r.place();
    });
  }
  static void on_cdata_end(void* self) {
    handle(self, [](XmlReader& r) {
      r.in_cdata_ = false;
      r.add(Kind::other, r.cdata_begin_, r.end_place());
    });
  }

  static void on_entity(void* self, const char*, int, const char*, int, const char*, const char*, const char*,
                        const char*) {
    handle(self, [](XmlReader& r) {
      if (++r.entities_ > max_entities)
        throw_markup_error(r.source_, r.place(), "the document declares more than {} entities", max_entities);
    });
  }

  static void on_default(void* self, std::string_view text) {
    handle(self, [&](XmlReader& r) {
      const bool beside_root = !r.fragment_ && r.open_.size() == 1;
      if (beside_root || !text.starts_with('&')) return;
      r.result_.elements[r.open_.back()].has_text = true;
      r.add(Kind::other, r.place(), r.end_place());
    });
  }

  const MarkupSource& source_;
  size_t skipped_, origin_ = 0;  // bytes before what expat reads, in the document and in what expat is given
  bool fragment_ = false, begun_ = false;
  std::unique_ptr<XML_ParserStruct, FreeParser> parser_;
  XmlEvents result_;
  std::vector<size_t> open_{0};  // the elements that are open, outermost first
  bool in_cdata_ = false;
  size_t cdata_begin_ = 0;
  int entities_ = 0;
  std::exception_ptr error_;
};

}  // namespace

XmlEvents read_xml(const MarkupSource& source) { return XmlReader(source).read(); }

}  // namespace sixfold
