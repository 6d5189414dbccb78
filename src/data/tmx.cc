#include "data/tmx.h"

#include <expat.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <deque>
#include <exception>
#include <new>
#include <set>
#include <string_view>

#include "base/ascii.h"
#include "base/error.h"
#include "data/lines.h"
#include "text/language.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

constexpr size_t max_segment_bytes = 1'000'000;
// Of a token that expat buffers until it is complete, such as a tag.
constexpr int64_t max_token_bytes = 1 << 20;
constexpr int max_depth = 64;

}  // namespace

bool is_tmx(const std::string& path) {
  const std::string name = ascii_lower(path);
  return name.ends_with(".tmx") || name.ends_with(".tmx.gz");
}

/// The callbacks of expat. Exceptions must not pass through expat, so the callbacks store them.
class TmxReader::Parser {
 public:
  Parser(const std::string& path, const std::string& source_language, const std::string& target_language)
      : path_(name_of_text(path)),
        file_(path),
        sides_{Side{source_language}, Side{target_language}},
        parser_(XML_ParserCreate(nullptr)) {
    if (!parser_) throw std::bad_alloc();
    XML_SetUserData(parser_.get(), this);
    XML_SetElementHandler(
        parser_.get(),
        [](void* self, const char* name, const char** attributes) {
          handle(self, [&](Parser& p) { p.start(name, attributes); });
        },
        [](void* self, const char* name) { handle(self, [&](Parser& p) { p.end(name); }); });
    XML_SetCharacterDataHandler(parser_.get(), [](void* self, const char* text, int size) {
      handle(self, [&](Parser& p) { p.add_text({text, static_cast<size_t>(size)}); });
    });
    XML_SetEntityDeclHandler(parser_.get(), [](void* self, const char* name, int, const char*, int, const char*,
                                               const char*, const char*, const char*) {
      handle(self, [&](Parser& p) { p.fail("declares the entity {}; TMX needs none, so remove it", name); });
    });
    XML_SetSkippedEntityHandler(parser_.get(), [](void* self, const char* name, int) {
      handle(self, [&](Parser& p) { p.fail("the entity &{}; is not known", name); });
    });
  }

  bool next(std::string& source, std::string& target) {
    while (pairs_.empty()) {
      if (ended_) {
        require(has_pairs_, "{}: no unit has both {} and {}; its languages are: {}", path_, sides_[0].language,
                sides_[1].language,
                languages_.empty() ? "none" : fmt::format("{}", fmt::join(languages_, ", ")));
        return false;
      }
      parse_some();
    }
    Pair& pair = pairs_.front();
    source = std::move(pair.source), target = std::move(pair.target);
    line_ = pair.line;
    pairs_.pop_front();
    return true;
  }

  std::string place() const { return fmt::format("{}:{}", path_, line_); }
  double fraction_read() const { return file_.fraction_read(); }

 private:
  struct FreeParser {
    void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
  };
  /// One side of the unit that is being read.
  struct Side {
    std::string language;
    std::string text = {};
    /// The rank of `text`: 2 if its code is exactly that of the language, 1 if it is in the language, 0 without
    /// a text.
    int rank = 0;
    int variant_rank = 0;  ///< rank of the variant that is being read
  };
  struct Pair {
    std::string source, target;
    uint64_t line;
  };

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw_input_error("{}:{}: {}", path_, XML_GetCurrentLineNumber(parser_.get()),
                      fmt::format(format, std::forward<Args>(args)...));
  }

  /// Runs the handler of an event, unless an earlier handler failed.
  template <class Function>
  static void handle(void* self, Function function) {
    auto& parser = *static_cast<Parser*>(self);
    if (parser.error_) return;
    try {
      function(parser);
    } catch (...) {
      parser.error_ = std::current_exception();
      XML_StopParser(parser.parser_.get(), XML_FALSE);
    }
  }

  void parse_some() {
    const std::string bytes = file_.next_part();
    parsed_bytes_ += std::ssize(bytes);
    ended_ = bytes.empty();
    const auto status = XML_Parse(parser_.get(), bytes.data(), static_cast<int>(bytes.size()), ended_);
    if (error_) std::rethrow_exception(error_);
    const XML_Error code = XML_GetErrorCode(parser_.get());
    if (code == XML_ERROR_NO_MEMORY) throw std::bad_alloc();
    if (status != XML_STATUS_OK) fail("the TMX is not well-formed: {}", XML_ErrorString(code));
    if (!ended_ && parsed_bytes_ - XML_GetCurrentByteIndex(parser_.get()) > max_token_bytes)
      fail("a tag or comment has more than {} bytes", max_token_bytes);
  }

  void start(std::string_view name, const char** attributes) {
    if (depth_++ == 0 && name != "tmx") fail("is not a TMX file, whose root is <tmx>, but has <{}>", name);
    if (depth_ > max_depth) fail("more than {} elements are nested in each other", max_depth);
    if (in_segment_) {
      if (code_depth_ > 0 || is_code(name)) ++code_depth_;
    } else if (name == "tu") {
      for (Side& side : sides_) side = {side.language};
      unit_line_ = XML_GetCurrentLineNumber(parser_.get());
    } else if (name == "tuv") {
      begin_variant(attributes);
    } else if (name == "seg") {
      in_segment_ = true;
      text_.clear();
    }
  }
  static bool is_code(std::string_view name) {
    return name == "bpt" || name == "ept" || name == "it" || name == "ph" || name == "ut";
  }
  void begin_variant(const char** attributes) {
    std::string code;
    for (; *attributes; attributes += 2)
      if (std::string_view(attributes[0]) == "xml:lang" ||
          (std::string_view(attributes[0]) == "lang" && code.empty()))
        code = ascii_lower(attributes[1]);
    std::ranges::replace(code, '_', '-');
    constexpr size_t max_languages = 20;
    if (languages_.size() < max_languages && code.size() < 32) languages_.insert(code);
    for (Side& side : sides_) {
      std::string language = ascii_lower(side.language);
      std::ranges::replace(language, '_', '-');
      side.variant_rank = code == language ? 2 : !code.empty() && is_same_language(code, language) ? 1 : 0;
    }
  }

  void end(std::string_view name) {
    --depth_;
    if (code_depth_ > 0) {
      --code_depth_;
    } else if (in_segment_ && name == "seg") {
      in_segment_ = false;
      for (Side& side : sides_)
        if (side.variant_rank > side.rank) {
          side.text = with_single_spaces(text_);
          side.rank = side.variant_rank;
        }
    } else if (name == "tuv") {
      for (Side& side : sides_) side.variant_rank = 0;
    } else if (name == "tu" && sides_[0].rank > 0 && sides_[1].rank > 0) {
      has_pairs_ = true;
      pairs_.push_back({std::move(sides_[0].text), std::move(sides_[1].text), unit_line_});
      for (Side& side : sides_) side = {side.language};
    }
  }

  void add_text(std::string_view text) {
    if (!in_segment_ || code_depth_ > 0) return;
    text_ += text;
    if (text_.size() > max_segment_bytes) fail("a segment has more than {} bytes", max_segment_bytes);
  }

  std::string path_;
  LineReader file_;
  std::array<Side, 2> sides_;
  std::unique_ptr<XML_ParserStruct, FreeParser> parser_;
  std::deque<Pair> pairs_;           // that were read but not returned yet
  std::set<std::string> languages_;  // languages of the file, for an error message
  std::string text_;                 // text of the segment that is being read
  bool in_segment_ = false, ended_ = false, has_pairs_ = false;
  int depth_ = 0, code_depth_ = 0;
  int64_t parsed_bytes_ = 0;  // bytes that were given to expat
  uint64_t line_ = 0, unit_line_ = 0;
  std::exception_ptr error_;
};

TmxReader::TmxReader(const std::string& path, const std::string& source_language,
                     const std::string& target_language)
    : parser_(std::make_unique<Parser>(path, source_language, target_language)) {}
TmxReader::~TmxReader() = default;

bool TmxReader::next(std::string& source, std::string& target) { return parser_->next(source, target); }
std::string TmxReader::place() const { return parser_->place(); }
double TmxReader::fraction_read() const { return parser_->fraction_read(); }

}  // namespace sixfold
