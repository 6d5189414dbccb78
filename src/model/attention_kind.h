#pragma once
#include <string_view>
#include <utility>

#include "base/options.h"

namespace sixfold {

/// Which attention to look at (section 3.2.3): the encoder's and the decoder's of themselves, or the decoder's
/// of the source.
enum class AttentionKind { encoder, decoder, cross };

template <>
struct EnumNames<AttentionKind> {
  static constexpr std::pair<AttentionKind, std::string_view> names[] = {{AttentionKind::encoder, "encoder"},
                                                                         {AttentionKind::decoder, "decoder"},
                                                                         {AttentionKind::cross, "cross"}};
};

}  // namespace sixfold
