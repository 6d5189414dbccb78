#pragma once
#include <string_view>

#include "model/config.h"

namespace sixfold {

/// The settings in config.json of an encoder that predicts masked tokens, besides those of its network.
struct MaskedLanguageModelSettings {
  static constexpr std::string_view task = "masked_language_model";
  static constexpr TaskNetwork network{.task = task, .decoder = false};
  int mask_token = -1;  ///< id of the token that stands for a masked one; -1: the unknown token

  /// The id of the mask for a vocabulary with this unknown token.
  int32_t mask(int32_t unk) const { return mask_token >= 0 ? mask_token : unk; }
};

inline void visit(OptionVisitor& v, MaskedLanguageModelSettings& o) {
  v.field("mask_token", o.mask_token, "id of the token that stands for a masked one; -1: the unknown token",
          at_least(-1));
}

inline void validate(const MaskedLanguageModelSettings&) {}

}  // namespace sixfold
