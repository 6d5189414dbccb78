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
constexpr int max_entities = 1000;  // expat resolves nested references by recursion

/// The length of a byte order mark and an XML declaration, which only occur at the beginning of a document.
size_t declaration_size(std::string_view xml) {
  const size_t mark = xml.starts_with("\uFEFF") ? 3 : 0;
  const std::string_view rest = xml.substr(mark);
  const bool declared =
      rest.starts_with("<?xml") && rest.size() > 5 && std::string_view(" \t\r\n").find(rest[5]) != rest.npos;
  const size_t end = declared ? rest.find("?>") : rest.npos;
  return end == rest.npos ? mark : mark + end + 2;
}

/// Whether a doctype comes before the first element. Only white space, comments and processing instructions may
/// precede it.
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

/// Reads a document by the callbacks of expat. Exceptions must not pass through expat, and are stored instead.
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
    // If a default handler is set, expat does not replace references to entities.
    XML_SetDefaultHandler(parser_.get(), [](void* self, const char* text, int size) {
      on_default(self, std::string_view(text, static_cast<size_t>(size)));
    });
  }

  XmlEvents read() {
    // A document without a doctype is wrapped in an additional root element, so that it may have several roots.
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

  /// The position in the document of the current event of expat; may be beyond the end of the document.
  size_t position() const {
    const auto byte = static_cast<size_t>(std::max<XML_Index>(XML_GetCurrentByteIndex(parser_.get()), 0));
    return skipped_ + (byte < origin_ ? 0 : byte - origin_);
  }
  size_t end_position() const {
    return position() + static_cast<size_t>(XML_GetCurrentByteCount(parser_.get()));
  }

  [[noreturn]] void throw_parse_error() const {
    const XML_Error code = XML_GetErrorCode(parser_.get());
    if (code == XML_ERROR_NO_MEMORY) throw std::bad_alloc();
    if (position() >= source_.bytes.size() && open_.size() > 1)
      throw_markup_error(source_, result_.elements[open_.back()].begin, "the element <{}> is not closed",
                         result_.elements[open_.back()].name);
    throw_markup_error(source_, std::min(position(), source_.bytes.size()), "the XML is not well-formed: {}",
                       XML_ErrorString(code));
  }

  /// Calls the handler of an event, unless an earlier handler failed.
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
    handle(self, [&](XmlReader& r) { r.add(kind, r.position(), r.end_position()); });
  }

  static void on_start(void* self, const char* name, const char** attributes) {
    handle(self, [&](XmlReader& r) { r.start(name, attributes); });
  }
  void start(const char* name, const char** attributes) {
    if (fragment_ && !begun_) {  // the additional root
      begun_ = true;
      return;
    }
    if (open_.size() > max_markup_depth)
      throw_markup_error(source_, position(), "more than {} elements are nested in each other",
                         max_markup_depth);
    XmlElement element{
        .name = name, .begin = position(), .parent = open_.back(), .translate = {}, .keeps_space = {}};
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
    add(Kind::start_tag, position(), end_position());
  }

  static void on_end(void* self, const char*) {
    handle(self, [](XmlReader& r) {
      if (r.open_.size() == 1) {  // end of the additional root
        if (r.position() < r.source_.bytes.size())
          throw_markup_error(r.source_, r.position(), "the end tag {} has no start tag", root_end);
        return;
      }
      r.add(Kind::end_tag, r.position(), r.end_position());
      r.open_.pop_back();
    });
  }

  static void on_text(void* self, const char* text, int size) {
    handle(self, [&](XmlReader& r) {
      if (count_words(std::string_view(text, static_cast<size_t>(size))) > 0)
        r.result_.elements[r.open_.back()].has_text = true;
      if (r.in_cdata_) return;
      auto& events = r.result_.events;
      const bool continues_text =
          !events.empty() && events.back().kind == Kind::text && events.back().end == r.position();
      if (continues_text)
        events.back().end = r.end_position();
      else
        r.add(Kind::text, r.position(), r.end_position());
    });
  }

  static void on_cdata_start(void* self) {
    handle(self, [](XmlReader& r) {
      r.in_cdata_ = true;
      r.cdata_begin_ = r.position();
    });
  }
  static void on_cdata_end(void* self) {
    handle(self, [](XmlReader& r) {
      r.in_cdata_ = false;
      r.add(Kind::other, r.cdata_begin_, r.end_position());
    });
  }

  static void on_entity(void* self, const char*, int, const char*, int, const char*, const char*, const char*,
                        const char*) {
    handle(self, [](XmlReader& r) {
      if (++r.entities_ > max_entities)
        throw_markup_error(r.source_, r.position(), "the document declares more than {} entities",
                           max_entities);
    });
  }

  static void on_default(void* self, std::string_view text) {
    handle(self, [&](XmlReader& r) {
      const bool beside_root = !r.fragment_ && r.open_.size() == 1;
      if (beside_root || !text.starts_with('&')) return;
      r.result_.elements[r.open_.back()].has_text = true;
      r.add(Kind::other, r.position(), r.end_position());
    });
  }

  const MarkupSource& source_;
  size_t skipped_, origin_ = 0;            // begin of the content, in the document and in the input of expat
  bool fragment_ = false, begun_ = false;  // whether there is an additional root, and whether it has begun
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
