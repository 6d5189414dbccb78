#pragma once
#include <string_view>

#include "base/text_unit.h"
#include "model/config.h"

namespace sixfold {

/// What config.json says of a language model besides its network.
struct LanguageModelSettings {
  static constexpr std::string_view task = "language_model";
  static constexpr TaskNetwork network{.task = task, .encoder = false};
  TextUnit text_unit = TextUnit::stream;  ///< what counted as one text in its training
};

inline void visit(OptionVisitor& v, LanguageModelSettings& o) {
  v.field("text_unit", o.text_unit, "what the model was trained on: stream, file, paragraph or line");
}

inline void validate(const LanguageModelSettings&) {}

}  // namespace sixfold
