#pragma once
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/language_code.h"
#include "model/config.h"

namespace sixfold {

/// What config.json says of a translation model besides its network.
struct TranslationSettings {
  static constexpr std::string_view task = "translation";
  static constexpr TaskNetwork network{.task = task};
  std::string source_language, target_language;  ///< codes such as "en" and "pt-BR", or empty if not known
};

inline void visit(OptionVisitor& v, TranslationSettings& o) {
  v.field("source_language", o.source_language, "language of the sources, such as en; empty: not known");
  v.field("target_language", o.target_language, "language of the translations; empty: not known");
}

/// Throws an input error if a language is not the code of one.
inline void validate(const TranslationSettings& o) {
  for (const std::string& language : {o.source_language, o.target_language})
    require(language.empty() || is_language_code(language),
            "'{}' is not the code of a language, such as de or pt-BR", language);
}

}  // namespace sixfold
