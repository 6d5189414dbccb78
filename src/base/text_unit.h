#pragma once
#include <string_view>
#include <utility>

#include "base/options.h"

namespace sixfold {

/// What counts as one text of a language model.
enum class TextUnit {
  stream,     ///< A file, whose tokens are cut into blocks without regard to its contents. No text has an end.
  file,       ///< a file
  paragraph,  ///< lines without a blank line between them
  line,       ///< a line
};

template <>
struct EnumNames<TextUnit> {
  static constexpr std::pair<TextUnit, std::string_view> names[] = {{TextUnit::stream, "stream"},
                                                                    {TextUnit::file, "file"},
                                                                    {TextUnit::paragraph, "paragraph"},
                                                                    {TextUnit::line, "line"}};
};

}  // namespace sixfold
