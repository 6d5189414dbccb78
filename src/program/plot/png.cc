#include "program/plot/png.h"

#include <dlfcn.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_set>

#include "base/error.h"

namespace sixfold {
namespace {

// The functions of librsvg and cairo that are used here, declared as in their documentation. The libraries are
// loaded when needed, so that a program that draws nothing loads neither them nor their twenty dependencies.
struct Rectangle {
  double x, y, width, height;
};
using WriteFunction = int (*)(void* closure, const unsigned char* data, unsigned length);

class Library {
 public:
  explicit Library(const char* name) : handle_(::dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
    if (!handle_)
      throw_environment_error(
          "PNG needs {} (Debian: librsvg2-2), which is not installed; install it, or write .svg", name);
  }
  template <class Function>
  Function* function(const char* name) const {
    void* found = ::dlsym(handle_, name);
    if (!found)
      throw_environment_error("PNG: the installed librsvg or cairo has no function {}; write .svg instead",
                              name);
    return reinterpret_cast<Function*>(found);
  }

 private:
  void* handle_;  // never closed: these libraries do not support it
};

int append(void* closure, const unsigned char* data, unsigned length) {
  static_cast<std::string*>(closure)->append(reinterpret_cast<const char*>(data), length);
  return 0;
}

/// fontconfig's list of fonts, declared as in its documentation.
struct FontSet {
  int count, room;
  void** fonts;
};

/// The sets of characters of the installed fonts.
class Fonts {
 public:
  Fonts() {
    void* library = ::dlopen("libfontconfig.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    const auto find = [&](const char* name) { return ::dlsym(library, name); };
    const auto init = reinterpret_cast<int (*)()>(find("FcInit"));
    const auto fonts = reinterpret_cast<FontSet* (*)(void*, int)>(find("FcConfigGetFonts"));
    const auto characters =
        reinterpret_cast<int (*)(void*, const char*, int, void**)>(find("FcPatternGetCharSet"));
    has_ = reinterpret_cast<int (*)(const void*, uint32_t)>(find("FcCharSetHasChar"));
    if (!init || !fonts || !characters || !has_ || !init()) return;
    constexpr int system = 0;
    const FontSet* set = fonts(nullptr, system);
    available_ = set;
    for (int i = 0; set && i < set->count; ++i)
      if (void* found = nullptr; characters(set->fonts[i], "charset", 0, &found) == 0) sets_.push_back(found);
  }

  /// Whether no font has the character. False if fontconfig is not available.
  bool are_missing(char32_t c) const {
    return available_ &&
           std::none_of(sets_.begin(), sets_.end(), [&](const void* set) { return has_(set, c); });
  }

 private:
  bool available_ = false;
  int (*has_)(const void*, uint32_t) = nullptr;
  std::vector<const void*> sets_;
};

}  // namespace

std::vector<std::string> characters_without_font(const std::string& svg) {
  static const Fonts fonts;
  std::vector<std::string> missing;
  std::unordered_set<UChar32> seen;
  constexpr std::string_view tooltip = "<title>", tooltip_end = "</title>";
  for (size_t at = 0; at < svg.size();) {
    if (std::string_view(svg).substr(at).starts_with(tooltip)) {  // tooltips are not drawn
      at = std::min(svg.find(tooltip_end, at), svg.size());
      continue;
    }
    const size_t begin = at;
    UChar32 c;
    U8_NEXT_OR_FFFD(svg.data(), at, svg.size(), c);
    const bool drawn = c >= 0x80 && u_isgraph(c) && !u_hasBinaryProperty(c, UCHAR_DEFAULT_IGNORABLE_CODE_POINT);
    if (drawn && seen.insert(c).second && fonts.are_missing(static_cast<char32_t>(c)))
      missing.push_back(svg.substr(begin, at - begin));
  }
  return missing;
}

std::string png_of_svg(const std::string& svg, double scale) {
  static const Library rsvg("librsvg-2.so.2"), cairo("libcairo.so.2"), gobject("libgobject-2.0.so.0");
  const auto unref = gobject.function<void(void*)>("g_object_unref");
  const auto destroy_surface = cairo.function<void(void*)>("cairo_surface_destroy");
  const auto destroy_context = cairo.function<void(void*)>("cairo_destroy");

  const std::unique_ptr<void, void (*)(void*)> handle(
      rsvg.function<void*(const unsigned char*, size_t, void**)>("rsvg_handle_new_from_data")(
          reinterpret_cast<const unsigned char*>(svg.data()), svg.size(), nullptr),
      unref);
  if (!handle) throw_environment_error("PNG: librsvg can't read the picture");
  double width = 0, height = 0;
  if (!rsvg.function<int(void*, double*, double*)>("rsvg_handle_get_intrinsic_size_in_pixels")(handle.get(),
                                                                                               &width, &height))
    throw_environment_error("PNG: librsvg can't determine the size of the picture");
  constexpr int argb32 = 0;
  const std::unique_ptr<void, void (*)(void*)> surface(
      cairo.function<void*(int, int, int)>("cairo_image_surface_create")(
          argb32, static_cast<int>(width * scale + 0.5), static_cast<int>(height * scale + 0.5)),
      destroy_surface);
  const std::unique_ptr<void, void (*)(void*)> context(
      cairo.function<void*(void*)>("cairo_create")(surface.get()), destroy_context);
  const Rectangle whole{0, 0, width * scale, height * scale};
  if (!rsvg.function<int(void*, void*, const Rectangle*, void**)>("rsvg_handle_render_document")(
          handle.get(), context.get(), &whole, nullptr))
    throw_environment_error("PNG: librsvg can't draw the picture");
  std::string png;
  if (cairo.function<int(void*, WriteFunction, void*)>("cairo_surface_write_to_png_stream")(surface.get(),
                                                                                            append, &png) != 0)
    throw_environment_error("PNG: cairo can't write the picture; it may be too large");
  return png;
}

}  // namespace sixfold
