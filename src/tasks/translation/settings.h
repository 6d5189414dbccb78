#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/language_code.h"
#include "model/config.h"
#include "text/pair_layout.h"
#include "text/tokenizer.h"

namespace sixfold {

/// What config.json says of a translation model besides its network.
struct TranslationSettings {
  static constexpr std::string_view task = "translation";
  static constexpr TaskNetwork network{.task = task};
  std::string source_language, target_language;  ///< codes such as "en" and "pt-BR", or empty if not known
  std::vector<int> source_start = {};            ///< ids of tokens before the text of a source
  std::vector<int> source_end = {};              ///< and after it; empty: the end token
  /// Before a target, after the first input of the decoder. Empty: `generation.forced_first_token` if there is
  /// one.
  std::vector<int> target_start = {};
  /// How the token of a language is written, with its code in place of `*`: "__*__". It stands before a source,
  /// for the language of it, and before a target. Empty: there are no such tokens.
  std::string language_token;
  /// The pairs of languages that a model was trained for whose sources begin with a token such as >>de<<, which
  /// says into which language they are translated (Johnson et al. 2017, "Google's Multilingual Neural Machine
  /// Translation System"): "en-de". Empty: it was trained for one pair, or has other tokens.
  std::vector<std::string> directions = {};
  /// The weights of `confidence_features` (tasks/translation/confidence.h), fitted to the model, after a
  /// constant; empty: they have not been fitted.
  std::vector<double> confidence = {};
};

inline void visit(OptionVisitor& v, TranslationSettings& o) {
  v.field("source_language", o.source_language, "language of the sources, such as en; empty: not known");
  v.field("target_language", o.target_language, "language of the translations; empty: not known");
  v.field("source_start", o.source_start, "ids of tokens before the text of a source", at_least(0));
  v.field("source_end", o.source_end, "ids of tokens after the text of a source; empty: the end token",
          at_least(0));
  v.field("target_start", o.target_start,
          "ids of tokens before the text of a target; empty: generation.forced_first_token, if there is one",
          at_least(0));
  v.field("language_token", o.language_token,
          "how the tokens are written that stand before sources and targets, with the code of the language in "
          "place of the *; empty: there are none");
  v.field("directions", o.directions,
          "pairs of languages, such as en-de, of a model whose sources begin with the token of the language of "
          "their translation, such as >>de<<; empty: it has one pair, or none that is known");
  v.field(
      "confidence", o.confidence,
      "weights of what the confidence of a translation is computed from, after a constant; empty: not fitted",
      between(-1e12, 1e12));
}

/// The token with which sources begin that are translated into a language: ">>de<<".
inline std::string target_token(const std::string& language) { return ">>" + language + "<<"; }

/// Whether a text is the code of a language as models have them, such as de, pt-BR, de_DE and deu_Latn.
inline bool is_model_language(std::string text) {
  std::ranges::replace(text, '_', '-');
  return is_language_code(text);
}

/// Throws an input error if a language is not the code of one.
inline void validate(const TranslationSettings& o) {
  for (const std::string& language : {o.source_language, o.target_language})
    require(language.empty() ||
                (o.language_token.empty() ? is_language_code(language) : is_model_language(language)),
            "'{}' is not the code of a language, such as de or pt-BR", language);
  require(o.language_token.empty() || std::ranges::count(o.language_token, '*') == 1,
          "language_token: '{}' must have one *, in place of the code of a language", o.language_token);
  for (const std::string& direction : o.directions)
    require(language_pair(direction).has_value(), "directions: '{}' does not name two languages, as en-de does",
            direction);
}

/// The tokens of the languages that a model reads and writes by `TranslationSettings::language_token`, by their
/// codes; empty if the setting is. Takes time linear in the vocabulary.
std::map<std::string, int32_t> languages_of(const TranslationSettings& settings, const Tokenizer& tokenizer);

/// The tokens around the texts of the pairs of a model, for the languages in `settings`. `rules`: whose
/// `forced_first_token` is that of the default target language. Throws an input error that lists the languages
/// if one is missing, or is not one of the model's.
PairLayout layout_of(const TranslationSettings& settings, const GenerationConfig& rules,
                     const Tokenizer& tokenizer);

/// The settings of a model with other languages, where they are not empty. Throws an input error if the model
/// does not choose its languages by tokens and a language is another than that of its settings.
TranslationSettings with_languages(TranslationSettings settings, const std::string& source,
                                   const std::string& target);

}  // namespace sixfold
