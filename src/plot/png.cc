#include "plot/png.h"

#include <dlfcn.h>

#include <memory>

#include "base/error.h"

namespace sixfold {
namespace {

// What we use of librsvg and cairo, as their documentation declares it. They are opened when needed, so that a
// program that draws nothing loads neither them nor the twenty libraries behind them.
struct Rectangle {
  double x, y, width, height;
};
using WriteFunction = int (*)(void* closure, const unsigned char* data, unsigned length);

class Library {
 public:
  explicit Library(const char* name) : handle_(::dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
    if (!handle_)
      throw_world_error("PNG needs {} (Debian: librsvg2-2), which is not here; write .svg instead", name);
  }
  template <class Function>
  Function* function(const char* name) const {
    void* found = ::dlsym(handle_, name);
    if (!found) throw_world_error("PNG: the library that draws has no {}; write .svg instead", name);
    return reinterpret_cast<Function*>(found);
  }

 private:
  void* handle_;  // stays open: such libraries are not made to be closed
};

int append(void* closure, const unsigned char* data, unsigned length) {
  static_cast<std::string*>(closure)->append(reinterpret_cast<const char*>(data), length);
  return 0;
}

}  // namespace

std::string png_of_svg(const std::string& svg, double scale) {
  static const Library rsvg("librsvg-2.so.2"), cairo("libcairo.so.2"), gobject("libgobject-2.0.so.0");
  const auto unref = gobject.function<void(void*)>("g_object_unref");
  const auto destroy_surface = cairo.function<void(void*)>("cairo_surface_destroy");
  const auto destroy_context = cairo.function<void(void*)>("cairo_destroy");

  const std::unique_ptr<void, void (*)(void*)> handle(
      rsvg.function<void*(const unsigned char*, size_t, void**)>("rsvg_handle_new_from_data")(
          reinterpret_cast<const unsigned char*>(svg.data()), svg.size(), nullptr),
      unref);
  if (!handle) throw_world_error("PNG: librsvg can't read the picture");
  double width = 0, height = 0;
  if (!rsvg.function<int(void*, double*, double*)>("rsvg_handle_get_intrinsic_size_in_pixels")(handle.get(),
                                                                                               &width, &height))
    throw_world_error("PNG: librsvg can't tell the picture's size");
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
    throw_world_error("PNG: librsvg can't draw the picture");
  std::string png;
  if (cairo.function<int(void*, WriteFunction, void*)>("cairo_surface_write_to_png_stream")(surface.get(),
                                                                                            append, &png) != 0)
    throw_world_error("PNG: cairo can't write the picture; it may be too large");
  return png;
}

}  // namespace sixfold
