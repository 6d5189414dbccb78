#pragma once
#include <string_view>
#include <utility>

#include "base/options.h"

namespace sixfold {

/// The kinds of attention (section 3.2.3): self-attention of the encoder, self-attention of the decoder, and
/// cross-attention of the decoder over the source.
enum class AttentionKind { encoder, decoder, cross };

template <>
struct EnumNames<AttentionKind> {
  static constexpr std::pair<AttentionKind, std::string_view> names[] = {{AttentionKind::encoder, "encoder"},
                                                                         {AttentionKind::decoder, "decoder"},
                                                                         {AttentionKind::cross, "cross"}};
};

}  // namespace sixfold
